"""A damaged file gives the rows that it still has, or one clear error: no crash, and no other rows."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.source import open_source
from tests.tables import damage
from tests.thorough import thorough_beyond

SEEDS = {"arrow": 200, "zstd.arrow": 60, "arrows": 60}
N_LINES = 200_000
"""More than a mebibyte, as the beginning of a file is read by other means than the rest."""


@pytest.mark.parametrize("kind", thorough_beyond(3, [*damage.KINDS], "hundreds of mutations: two seconds each"))
def test_mutations_of_a_file_are_read_or_refused(kind):
    """In a process of its own, as a segmentation fault was what many of the Arrow files ended in."""
    found = damage.outcomes(kind, 0, SEEDS.get(kind, 40))
    assert {seed: what for seed, what in found.items() if what not in ("rows", "refused")} == {}
    assert "refused" in found.values()


def arrays():
    """Columns that pyarrow makes without a word, and whose use is undefined."""
    far = pa.py_buffer(np.array([0, 1, 10**6, 3], dtype=np.int32))
    texts = pa.py_buffer(b"abc")
    codes = pa.array([0, 1, 7], pa.int32())
    names = pa.array(["a", "b"])
    return {
        "offset": pa.Array.from_buffers(pa.string(), 3, [None, far, texts]),
        "not UTF-8": pa.Array.from_buffers(
            pa.string(),
            3,
            [None, pa.py_buffer(np.array([0, 1, 2, 3], dtype=np.int32)), pa.py_buffer(b"\xff\xfe\xfd")],
        ),
        "dictionary index": pa.DictionaryArray.from_arrays(codes, names, safe=False),
    }


WAYS = {
    "table": lambda t, path: t,
    "batch": lambda t, path: t.to_batches()[0],
    "reader": lambda t, path: t.to_reader(),
    "mapping": lambda t, path: {name: t.column(name) for name in t.column_names},
    "arrow file": lambda t, path: write_file(t, path / "t.arrow", pa.ipc.new_file),
    "arrow stream": lambda t, path: write_file(t, path / "t.arrows", pa.ipc.new_stream),
}


def write_file(table, path, new):
    with new(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", arrays())
def test_invalid_arrow_data_is_refused_wherever_it_comes_from(way, fault, tmp_path):
    table = pa.table({"x": arrays()[fault], "y": ["a", "b", "a"]})
    with pytest.raises(InputError, match="is damaged: column 'x': "):
        deciban.train(WAYS[way](table, tmp_path), target="y", roles={"x": "category"})


def test_a_parquet_file_with_damaged_statistics_of_sizes_does_not_end_the_process():
    """pyarrow ends the process where the sizes of a single column are asked for."""
    assert damage.outcomes("parquet", 97, 98) == {97: "refused"}


def test_pages_of_parquet_are_compared_with_their_checksums(tmp_path):
    path = tmp_path / "t.parquet"
    numbers = np.arange(1000) * 1.5
    table = pa.table({"x": numbers, "y": ["a", "b"] * 500})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    content = path.read_bytes()
    place = content.index(numbers[500].tobytes())
    path.write_bytes(content[:place] + b"\1" + content[place + 1 :])
    with pytest.raises(InputError, match=r"cannot be read: .*CRC"):
        deciban.train(path, target="y", judge=False)


@pytest.mark.parametrize(("name", "line"), [("t.csv.gz", "{},{}\n"), ("t.jsonl.gz", '{{"x":{},"y":"{}"}}\n')])
@pytest.mark.parametrize("place", [-8, -4, -200])
def test_a_gzip_file_whose_content_does_not_fit_its_checksum_is_refused(name, line, place, tmp_path):
    """DuckDB compares neither the checksum nor the length, and so gives other rows."""
    header = "x,y\n" if "csv" in name else ""
    content = header + "".join(line.format(i * 7 % 1000 / 10, "ab"[i % 2]) for i in range(N_LINES))
    path = tmp_path / name
    packed = bytearray(gzip.compress(content.encode()))
    path.write_bytes(packed)
    assert deciban.train(path, target="y", judge=False).origin.rows_read == N_LINES
    packed[place] ^= 4
    path.write_bytes(packed)
    with pytest.raises(InputError, match=f"{name}' cannot be read: "):
        deciban.train(path, target="y", judge=False)
    with pytest.raises(InputError, match=f"{name}' cannot be read: "):
        open_source(path).head(5)


def test_a_gzip_file_that_is_deleted_after_it_was_opened_is_named(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n1,a\n"))
    source = open_source(path)
    path.unlink()
    for read in (lambda: source.head(5), lambda: list(source.batches({"x": "number"}))):
        with pytest.raises(InputError, match=r"t.csv.gz' cannot be read: [Nn]o such file"):
            read()


class Streamable:
    """An object that another library hands over as a stream of Arrow batches; of a length, or without."""

    def __init__(self, reader):
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


class Collection(Streamable):
    def __len__(self):
        return 3000


@pytest.mark.parametrize("wrap", [lambda reader: reader, Streamable, Collection])
def test_a_truncated_stream_is_refused(wrap):
    batch = pa.record_batch({"x": pa.array(range(1000)), "y": pa.array(["a", "b"] * 500)})
    file = io.BytesIO()
    with pa.ipc.new_stream(file, batch.schema) as writer:
        for _ in range(3):
            writer.write_batch(batch)
    content = file.getvalue()
    for length in (len(content) - 500, len(content) * 2 // 3 - 500, len(content) // 3 - 500):
        with pytest.raises(InputError, match="the stream cannot be read: "):
            deciban.train(wrap(pa.ipc.open_stream(content[:length])), target="y", judge=False)
        if wrap is not Collection:
            source = open_source(wrap(pa.ipc.open_stream(content[:length])))
            with pytest.raises(InputError, match="the stream cannot be read: "):
                source.head(3000)


def test_a_damaged_table_with_two_columns_of_one_name_is_refused():
    damaged = pa.array([b"\xff"]).view(pa.string())
    table = pa.Table.from_arrays([pa.array(["a"]), damaged], names=["x", "x"])
    with pytest.raises(InputError, match="the table is damaged: column 'x': "):
        open_source(table)


@pytest.mark.parametrize("kind", ["csv.gz", "jsonl.gz", "parquet", "arrow", "arrows"])
def test_a_file_cut_short_is_refused(kind, tmp_path):
    content = damage.KINDS[kind]()
    path = tmp_path / f"t.{kind}"
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(InputError, match=f"t.{kind}' (is no|cannot be read)"):
            deciban.train(path, target="y", judge=False)
