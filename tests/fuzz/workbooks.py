"""Excel workbooks: mutated archives, and mutated parts of valid ones, are read or refused."""

from __future__ import annotations

import io
import random
import zipfile

from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import read_valid_batches, seed, use
from tests.tables import clinic

WORDS = (
    b"<c>", b"</c>", b"<v>", b"</v>", b"<f>", b"</f>", b"<row>", b"</row>", b'r="A1"', b'r="XFD1048576"', b't="s"',
    b't="b"', b't="d"', b't="e"', b't="str"', b't="inlineStr"', b's="1"', b's="99999"', b"<is><t>x</t></is>",
    b"1e400", b"-1", b"99999999999", b"nan", b"2024-13-45", b"&lt;", b"&#0;", b"&x;", b"<!DOCTYPE x []>",
    b'<dimension ref="A1:XFD1048576"/>', b'<mergeCell ref="A1:B2"/>',
)  # fmt: skip


def seeds() -> list[bytes]:
    return [seed(clinic.workbook, "t.xlsx")]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.2:
        return mutate_bytes(raw, rng, most=rng.choice([1, 2, 6]))
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, OSError):
        return mutate_bytes(raw, rng)
    sheets = [name for name in parts if "worksheets/" in name]
    name = rng.choice([*sheets * 5, *parts])
    parts[name] = mutate_bytes(parts[name], rng, WORDS, rng.choice([1, 1, 3]))
    if rng.random() < 0.05:
        del parts[name]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return packed.getvalue()


def check(raw: bytes) -> None:
    path = write_input("t.xlsx", raw)
    read_valid_batches(path)
    use(path)
