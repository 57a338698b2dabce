"""ARFF files: the numbers and nominal values are those that SciPy reads, where it reads a file."""

from __future__ import annotations

import random

import numpy as np
from scipy.io import arff

from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import read_valid_batches, seed, use
from tests.tables import clinic

WORDS = (
    b"'", b'"', b"\\", b"\\u", b"%", b"{", b"}", b",", b"?", b"\n", b"\r\n", b" ", b"\t", b"@data\n", b"@attribute ",
    b"@relation x\n", b"numeric", b"date", b"string", b"{a,b}", b"1e400", b"nan", b"inf", b"1_0", b"\xff", b"\0",
    b"0 1", b"{0 1, 1 x}", b"'y{'", b"\xef\xbb\xbf", b"relational",
)  # fmt: skip
PLAIN = b"@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute diagnosis {ill,well}\n@data\n"


def seeds() -> list[bytes]:
    rows = b"".join(b"%d.5,%s,%s\n" % (i, b"xy?"[i % 3 : i % 3 + 1], (b"ill", b"well")[i % 2]) for i in range(24))
    sparse = b"".join(b"{0 %d, 2 %s}\n" % (i * 7 % 11, (b"ill", b"well")[i % 2]) for i in range(24))
    return [seed(clinic.arff, "t.arff"), PLAIN + rows, PLAIN + rows, PLAIN + sparse]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    match rng.randrange(8):
        case 0:
            rng.shuffle(lines)
        case 1:
            at = rng.randrange(len(lines))
            lines[at] += rng.choice([b"x", b"'", b"\\", b"%", b"{", b" ", b",", b"\\'"]) * rng.choice([1000, 300_000])
        case 2:
            lines[:1] = [b"@attribute a%d numeric" % i for i in range(rng.choice([50, 3000]))]
        case 3:
            return raw.decode("utf-8", "replace").encode(rng.choice(["utf-16", "latin-1", "utf-8-sig"]), "replace")
    return mutate_bytes(b"\n".join(lines), rng, WORDS, rng.choice([1, 1, 2, 5]))


def check(raw: bytes) -> None:
    path = write_input("t.arff", raw)
    batches = read_valid_batches(path)
    expected = _read(path)
    if expected is not None and not (set(raw) & set(b"'\"\\%{}\t\r")) - set(b"{}") and b"{0" not in raw:
        assert sum(batch.num_rows for batch in batches) == len(expected), "not as many rows as SciPy reads"
        for name in expected.dtype.names if batches else ():
            cells = [cell for batch in batches for cell in batch.column(name).to_pylist()]
            assert _equal(cells, expected[name]), f"a value differs from that of SciPy: {name[:20]!r}"
    use(path)


def _read(path: object) -> np.ndarray | None:
    """The rows that SciPy reads; None where it refuses the file, for whatever reason."""
    try:
        return arff.loadarff(str(path))[0]
    except Exception:
        return None


def _equal(cells: list[object], expected: np.ndarray) -> bool:
    if expected.dtype.kind == "f":
        return bool(np.array_equal(np.array(cells, dtype=float), expected, equal_nan=True))
    return expected.dtype.kind != "S" or ["?" if c is None else c for c in cells] == [e.decode() for e in expected]
