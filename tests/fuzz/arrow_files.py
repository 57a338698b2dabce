"""Arrow files: what is read is valid in every buffer, and the same as pyarrow reads, or the file is refused."""

from __future__ import annotations

import random

import pyarrow as pa

from deciban.sources.source import open_source
from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import assert_valid, seed, use
from tests.tables import clinic


def seeds() -> list[bytes]:
    def dictionaries(table: pa.Table, path: object) -> str:
        return clinic.arrow_stream(clinic.dictionaries(table), path)

    def uncompressed(table: pa.Table, path: object) -> str:
        with pa.ipc.new_file(str(path), clinic.large_strings(table).schema) as writer:
            writer.write_table(clinic.large_strings(table), max_chunksize=17)
        return str(path)

    return [seed(write, "t.arrow") for write in (uncompressed, clinic.feather, clinic.arrow_stream, dictionaries)]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    return mutate_bytes(raw, rng, most=rng.choice([1, 1, 2, 6]))


def check(raw: bytes) -> None:
    path = write_input("t.arrow", raw)
    source = open_source(path)
    batches = list(source.batches(dict.fromkeys(source.columns, "as it is")))
    assert_valid(batches)
    use(path)
