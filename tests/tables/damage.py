"""Damaged tables, read by deciban in a process of its own: no crash, no hang, no other rows, all errors in words.

python -m tests.tables.damage [SECONDS] [FIRST_SEED]
"""

import csv
import faulthandler
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deciban
from deciban.sources.source import open_source

MAX_SECONDS_PER_FILE = 20
ROOT = Path(__file__).parents[2]


def table(n=120):
    """Numbers, whole numbers, flags, categories, texts, times and string views, some of them missing."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "number": rng.normal(size=n),
            "count": pa.array(rng.integers(0, 5, n), mask=rng.random(n) < 0.1),
            "flag": pa.array(rng.random(n) < 0.5),
            "category": pa.array(rng.choice(["a", "bb", "née"], n)).dictionary_encode(),
            "text": pa.array([None if i % 9 == 0 else f"word{i % 7} word{i % 5} end" for i in range(n)]),
            "when": pa.array(rng.integers(0, 10**9, n), pa.timestamp("s", tz="UTC")),
            "view": pa.array([f"a string view that is long {i % 3}" for i in range(n)], pa.string_view()),
            "y": pa.array(rng.choice(["p", "q"], n)),
        }
    )


def plain_table():
    """The columns that a text file has."""
    return table().select(["number", "count", "text", "y"])


def arrow(stream=False, compression=None):
    whole, file = table(), io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(file, whole.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(whole, max_chunksize=50)
    return file.getvalue()


def parquet(**options):
    file = io.BytesIO()
    pq.write_table(table().drop_columns("view"), file, row_group_size=50, **options)
    return file.getvalue()


def csv_text():
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(plain_table().column_names)
    writer.writerows(row.values() for row in plain_table().to_pylist())
    return file.getvalue().encode()


def json_text():
    return "".join(json.dumps(row) + "\n" for row in plain_table().to_pylist()).encode()


KINDS = {
    "arrow": lambda: arrow(),
    "zstd.arrow": lambda: arrow(compression="zstd"),
    "arrows": lambda: arrow(stream=True),
    "parquet": lambda: parquet(),
    "checksum.parquet": lambda: parquet(write_page_checksum=True, compression="none"),
    "csv": csv_text,
    "csv.gz": lambda: gzip.compress(csv_text(), mtime=0),
    "jsonl": json_text,
    "jsonl.gz": lambda: gzip.compress(json_text(), mtime=0),
}
"""How the file of each kind is made; the name is the ending of the file's name."""


def mutate(content, seed):
    """One flipped bit mostly, else a file cut short, or up to eight other bytes."""
    draw = random.Random(seed)
    out = bytearray(content)
    way = draw.random()
    if way < 0.7:
        out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    elif way < 0.85:
        del out[draw.randrange(len(out)) :]
    else:
        for _ in range(draw.randint(1, 8)):
            out[draw.randrange(len(out))] = draw.randrange(256)
    return bytes(out)


def cells(whole):
    """The rows of an Arrow table; times as whole numbers, as Python has no year 10 000."""
    for place, field in enumerate(whole.schema):
        if pa.types.is_temporal(field.type):
            width = pa.int32() if field.type.bit_width == 32 else pa.int64()
            column = pa.chunked_array([chunk.view(width) for chunk in whole.column(place).chunks], width)
            whole = whole.set_column(place, field.name, column)
    return whole.to_pylist()


def rows_by_another_reader(path, kind):
    """The cells as the file has them, by pyarrow, or by the modules of Python for text files."""
    if kind.endswith("parquet"):
        return cells(pq.ParquetFile(path).read())
    if "arrow" in kind:
        with pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_stream(file) if kind == "arrows" else pa.ipc.open_file(file)
            return cells(reader.read_all())
    content = path.read_bytes()
    text = (gzip.decompress(content) if kind.endswith(".gz") else content).decode()
    if kind.startswith("jsonl"):
        return [json.loads(line) or {} for line in text.split("\n") if line.strip()]
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    names = next(lines)
    return [{n: cell or None for n, cell in zip(names, line)} for line in lines if line]


def is_same_cell(found, expected):
    """Return whether two readers agree on a cell; where the lines of a file disagree on a type it is text."""
    if isinstance(found, str) and expected is not None and not isinstance(expected, str):
        return json.loads(found) == expected
    return found == expected or (found != found and expected != expected)


def difference(path, kind):
    """How deciban's rows differ from another reader's; None where they are the same."""
    source = open_source(str(path))
    batches = list(source.batches(dict.fromkeys(source.columns, "as it is")))
    found = [row for batch in batches for row in cells(pa.Table.from_batches([batch]))]
    expected = rows_by_another_reader(path, kind)
    if len(found) != len(expected):
        return f"{len(found)} rows instead of {len(expected)}"
    for number, (row, other) in enumerate(zip(found, expected)):
        for name in row:
            if not is_same_cell(row[name], other.get(name)):
                return f"row {number}, {name}: {row[name]!r} instead of {other.get(name)!r}"
    return None


def outcome(model, path, kind, seed):
    """ "rows" or "refused"; anything else is a fault."""
    try:
        if seed % 4 == 0:
            deciban.train(path, target="y", judge=False)
        model.predict(path).read_all()
        other = difference(path, kind)
        return "rows" if other is None else f"silent difference: {other}"
    except deciban.errors.DecibanError as error:
        return "refused" if "\n" not in str(error) else f"a message of several lines: {error!r}"
    except BaseException as error:
        return f"untidy error {type(error).__name__}: {error}"


def read_mutations(kind, first, last):
    """Write a line for each seed: what became of that file."""
    warnings.simplefilter("ignore")
    content = KINDS[kind]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{kind}"
        path.write_bytes(content)
        model = deciban.train(path, target="y", judge=False)
        for seed in range(first, last):
            path.write_bytes(mutate(content, seed))
            print(seed, end=" ", flush=True)
            faulthandler.dump_traceback_later(MAX_SECONDS_PER_FILE, exit=True)
            print(ascii(outcome(model, path, kind, seed)), flush=True)
            faulthandler.cancel_dump_traceback_later()


def outcomes(kind, first, last):
    """Return the outcome of each seed; after a crash the process is started again with the next seed."""
    found = {}
    paths = os.pathsep.join([str(ROOT), str(Path(deciban.__file__).parents[1])])
    while first < last:
        command = [sys.executable, "-m", "tests.tables.damage", "--read", kind, str(first), str(last)]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}
        )
        for line in done.stdout.splitlines():
            seed, _, what = line.partition(" ")
            found[int(seed)] = what.strip("'\"") or f"ended with {done.returncode}: {done.stderr[-500:]}"
        if not done.stdout:
            raise RuntimeError(done.stderr)
        first = max(found) + 1
    return found


def main(seconds, first):
    """Read mutations of every kind until the time is over; True if none is a fault."""
    end, counts, faults = time.monotonic() + seconds, Counter(), 0
    while time.monotonic() < end:
        for kind in KINDS:
            for seed, what in outcomes(kind, first, first + 100).items():
                counts[kind, what if what in ("rows", "refused") else "fault"] += 1
                if what not in ("rows", "refused"):
                    faults += 1
                    print(f"{kind} {seed}: {what}", flush=True)
        first += 100
    for (kind, what), count in sorted(counts.items()):
        print(f"{kind:18} {what:8} {count:8}")
    return not faults


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read_mutations(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        given = [float(text) for text in sys.argv[1:]]
        sys.exit(not main(given[0] if given else 60, int(given[1]) if len(given) > 1 else 0))
