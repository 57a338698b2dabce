"""Arrow files: all buffers that are read are valid, or the file is refused."""

from __future__ import annotations

import random

import pyarrow as pa

from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import read_valid_batches, seed, use
from tests.tables import clinic


def seeds() -> list[bytes]:
    def write_dictionaries(table: pa.Table, path: object) -> str:
        return clinic.arrow_stream(clinic.dictionaries(table), path)

    def write_uncompressed(table: pa.Table, path: object) -> str:
        with pa.ipc.new_file(str(path), clinic.large_strings(table).schema) as writer:
            writer.write_table(clinic.large_strings(table), max_chunksize=17)
        return str(path)

    writers = (write_uncompressed, clinic.feather, clinic.arrow_stream, write_dictionaries)
    return [seed(write, "t.arrow") for write in writers]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    return mutate_bytes(raw, rng, most=rng.choice([1, 1, 2, 6]))


def check(raw: bytes) -> None:
    path = write_input("t.arrow", raw)
    read_valid_batches(path)
    use(path)
