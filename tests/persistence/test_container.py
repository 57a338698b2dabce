"""The container: written files are read, by deciban and by the safetensors library; any other file is refused."""

import json
import os
import zlib

import numpy as np
import pytest
from safetensors import safe_open

from deciban import persistence
from deciban.errors import ModelFileError
from deciban.persistence import container
from deciban.persistence.file_header import MAX_FILE_HEADER_BYTES, checksum

ARRAYS = {
    "flags": np.array([True, False]),
    "bytes": np.arange(5, dtype=np.uint8),
    "short": np.array([[-1, 2], [3, 4]], dtype=np.int32),
    "long": np.array([1 << 60]),
    "single": np.array([0.5], dtype=np.float32),
    "double": np.array([[0.1, -np.inf, np.nan]]),
    "scalar": np.array(7.0),
    "none": np.zeros((3, 0)),
}


@pytest.fixture
def model_file(path):
    persistence.write(path, {"kind": "test", "of": ["é", 1, None]}, ARRAYS)
    return path


def raw(path):
    """The JSON table and the data of a file, by the rules of safetensors."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def forge(path, table, data):
    """A file with this table, in the frame of a safetensors file."""
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def retext(table, change):
    """The table with deciban's own text changed and its checksum put right."""
    text = json.loads(table["__metadata__"]["deciban"])
    change(text)
    new = json.dumps(text)
    return {**table, "__metadata__": {"deciban": new, "checksum": checksum(new.encode())}}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def test_header_and_arrays_come_back(model_file):
    contents = persistence.read(model_file)
    assert contents.header == {"kind": "test", "of": ["é", 1, None]}
    assert set(contents.arrays) == set(ARRAYS)
    assert all(same(contents.arrays[name], array) for name, array in ARRAYS.items())


def test_the_safetensors_library_reads_the_file(model_file):
    with safe_open(model_file, "numpy") as file:
        assert json.loads(file.metadata()["deciban"])["format"] == 1
        assert all(same(file.get_tensor(name), array) for name, array in ARRAYS.items())


def test_an_array_under_two_names_is_stored_once(path):
    a = np.arange(1000.0)
    persistence.write(path, {}, {"one": a, "two": a, "other": a + 1})
    assert path.stat().st_size < 2.5 * a.nbytes
    arrays = persistence.read(path).arrays
    assert same(arrays["one"], a)
    assert same(arrays["two"], a)
    assert same(arrays["other"], a + 1)


def test_the_order_in_memory_comes_back(path):
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    persistence.write(path, {}, {"a": a, "b": a[:, ::2], "c": np.broadcast_to(a[0], (4, 3))})
    arrays = persistence.read(path).arrays
    assert same(arrays["a"], a)
    assert arrays["a"].flags.f_contiguous
    assert same(arrays["b"], a[:, ::2])
    assert same(arrays["c"], np.broadcast_to(a[0], (4, 3)))


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1j]), np.array([None]), np.zeros(1, np.float16)])
def test_other_kinds_of_number_are_not_written(path, array):
    with pytest.raises(ModelFileError, match="'a' is of dtype"):
        persistence.write(path, {}, {"a": array})
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("header", [{"f": len}, {"x": float("nan")}, {"deep": eval("[" * 50 + "]" * 50)}])
def test_a_header_that_would_not_be_read_is_not_written(path, header):
    with pytest.raises(ModelFileError, match="header"):
        persistence.write(path, header, {})
    assert not list(path.parent.iterdir())


def test_a_header_that_is_too_long_is_not_written(path):
    with pytest.raises(ModelFileError, match="can be read again"):
        persistence.write(path, {"x": "y" * MAX_FILE_HEADER_BYTES}, {})
    assert not list(path.parent.iterdir())


def test_every_flipped_bit_is_noticed(path):
    persistence.write(path, {"kind": "test"}, {"a": np.array([1.5, -2.0]), "b": np.array([True])})
    whole = path.read_bytes()
    for at in range(8 * len(whole)):
        broken = bytearray(whole)
        broken[at // 8] ^= 1 << at % 8
        path.write_bytes(broken)
        with pytest.raises(ModelFileError):
            persistence.read(path)


def test_every_truncation_and_every_addition_is_noticed(model_file):
    whole = model_file.read_bytes()
    for end in range(len(whole)):
        model_file.write_bytes(whole[:end])
        with pytest.raises(ModelFileError):
            persistence.read(model_file)
    model_file.write_bytes(whole + b"\0")
    with pytest.raises(ModelFileError, match="cut off, or added to"):
        persistence.read(model_file)


def test_swapped_pieces_of_a_large_array_are_noticed():
    a = np.random.default_rng(0).random(1 << 18)
    for size in (1, 7, 1024, 4096, 1 << 15):
        b = a.copy()
        b[:size], b[-size:] = a[-size:], a[:size]
        assert checksum(a) != checksum(b)


def test_a_checksum_is_what_its_description_says():
    content = np.random.default_rng(1).integers(0, 256, 20_001, dtype=np.uint8).tobytes()
    words = [int.from_bytes(content[i : i + 8].ljust(8, b"\0"), "little") for i in range(0, 3 * 8192, 8)]
    rows = [sum(words[i : i + 1024]) % 2**64 for i in range(0, 3072, 1024)]
    columns = [sum(words[i::1024]) % 2**64 for i in range(1024)]
    from hashlib import blake2b

    sums = b"".join(n.to_bytes(8, "little") for n in [*columns, *rows])
    assert checksum(content) == blake2b(sums, digest_size=8).hexdigest()


def test_a_large_file_is_checked_as_it_is_used(path, monkeypatch):
    monkeypatch.setattr(container, "EAGER_CHECK_BYTES", 100)
    persistence.write(path, {}, {"good": np.arange(50.0), "bad": np.arange(50) % 7 + 0.5})
    content = bytearray(path.read_bytes())
    content[content.rindex(np.float64(0.5).tobytes())] ^= 1
    path.write_bytes(content)
    arrays = persistence.read(path).arrays
    assert same(arrays["good"], np.arange(50.0))
    with pytest.raises(ModelFileError, match="'bad' is not what was written"):
        arrays["bad"]
    with pytest.raises(ModelFileError, match="'bad' is not what was written"):
        persistence.read(path, verify=True)


def test_an_array_is_checked_once(model_file, monkeypatch):
    monkeypatch.setattr(container, "EAGER_CHECK_BYTES", 0)
    arrays = persistence.read(model_file).arrays
    first = arrays["double"]
    monkeypatch.setattr(container, "checksum", lambda content: pytest.fail("checked twice"))
    assert np.shares_memory(arrays["double"], first)


def test_a_mapped_file_may_be_replaced_while_it_is_used(path, monkeypatch):
    monkeypatch.setattr(container, "EAGER_CHECK_BYTES", 0)
    persistence.write(path, {}, {"a": np.full(100_000, 1.0)})
    old = persistence.read(path).arrays["a"]
    old[0] = 5.0  # nobody else sees it
    assert persistence.read(path).arrays["a"][0] == 1.0
    persistence.write(path, {}, {"a": np.full(10, 2.0)})
    assert old[1:].sum() == 99_999.0


def test_a_newer_format_says_who_wrote_it_and_what_to_do(model_file):
    table, data = raw(model_file)
    newer = retext(table, lambda text: text.update(format=2, library="9.1", surprise=True))
    forge(model_file, newer, data)
    with pytest.raises(ModelFileError, match=r"by deciban 9\.1 in format 2.*Hint: upgrade deciban"):
        persistence.read(model_file)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t["long"].update(dtype="I128"), "dtype 'I128'"),
        (lambda t: t["long"].update(dtype=["I64"]), "dtype"),
        (lambda t: t["long"].update(dtype="U64"), "dtype 'U64'"),
        (lambda t: t["long"].update(shape=[-1]), "whole numbers"),
        (lambda t: t["long"].update(shape=[True]), "whole numbers"),
        (lambda t: t["long"].update(shape=[1.0]), "whole numbers"),
        (lambda t: t["long"].update(shape=[1 << 61, 1 << 61]), "does not fit"),
        (lambda t: t["long"].update(shape=[1 << 32, 1 << 32, 1 << 32]), "does not fit"),
        (lambda t: t["long"].update(shape=[1] * 50), "whole numbers"),
        (lambda t: t["long"].update(data_offsets=[0, 1 << 61]), "does not fit"),
        (lambda t: t["long"].update(data_offsets=[8, 0]), "does not fit"),
        (lambda t: t["long"].update(data_offsets=[-8, 0]), "whole numbers"),
        (lambda t: t["long"].update(data_offsets=[0, 8, 16]), "whole numbers"),
        (lambda t: t["none"].update(shape=[0, 1 << 40]), "an axis of"),
        (lambda t: t["double"].update(data_offsets=t["long"]["data_offsets"], shape=[1]), "begins at byte"),
        (lambda t: t["bytes"].update(dtype="BOOL"), "not what was written"),
        (lambda t: t["short"].update(shape=[4]), "not what was written"),
        (lambda t: t.update(more={"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}), "not those it was written"),
        (lambda t: t.update(scalar=5), "dtype, shape"),
        (lambda t: t.update(__metadata__=[]), "no entry 'deciban'"),
        (lambda t: t["__metadata__"].update(checksum="0" * 16), "does not have the checksum"),
        (lambda t: t["__metadata__"].update(deciban="{}"), "does not have the checksum"),
        (lambda t: t["__metadata__"].update(deciban="[" * 100_000), "nested too deeply"),
    ],
)
def test_a_hostile_table_is_refused(model_file, change, why):
    table, data = raw(model_file)
    change(table)
    with pytest.raises(ModelFileError, match=why):
        persistence.read(forge(model_file, table, data))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.pop("header"),
        lambda text: text.update(header=[]),
        lambda text: text.update(format="1"),
        lambda text: text.update(format=True),
        lambda text: text.update(format=0),
        lambda text: text.update(more=1),
        lambda text: text.update(checksums=[]),
        lambda text: text["checksums"].pop("long"),
        lambda text: text["checksums"].update(long=5),
        lambda text: text.update(aliases={"x": "nowhere"}),
        lambda text: text.update(aliases={"x": ["long"]}),
        lambda text: text.update(aliases={"long": "double"}),
        lambda text: text.update(transposed=["nowhere"]),
        lambda text: text.update(transposed=[["long"]]),
        lambda text: text.update(transposed="long"),
        lambda text: text.update(library=None),
    ],
)
def test_a_hostile_text_with_the_right_checksum_is_refused(model_file, change):
    table, data = raw(model_file)
    with pytest.raises(ModelFileError):
        persistence.read(forge(model_file, retext(table, change), data))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"\0" * 8,
        b"\xff" * 8,
        (1 << 40).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (8).to_bytes(8, "little") + b"[[[[[[[[",
        (8).to_bytes(8, "little") + b'{"a":NaN}'[:8],
        (8).to_bytes(8, "little") + b"\xff\xfe{}    ",
        (1 << 21).to_bytes(8, "little") + b"[" * (1 << 21),
        (1 << 21).to_bytes(8, "little") + b'{"a":' * (1 << 18) + b" " * (1 << 21),
        (1 << 16).to_bytes(8, "little") + b'{"a":' + b"9" * ((1 << 16) - 6) + b"}",
        (24).to_bytes(8, "little") + b'{"a":1,"a":2}           ',
        zlib.compress(b"x" * 1000),
    ],
)
def test_what_is_no_model_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"cannot read the model file .*m\.deciban"):
        persistence.read(path)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "pipe", "."):
        with pytest.raises(ModelFileError, match="cannot read"):
            persistence.read(tmp_path / name)
