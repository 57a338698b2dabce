"""Lists of texts are packed into two arrays, whatever the texts; arrays that `pack` cannot return are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.errors import ModelFileError
from deciban.persistence.section import PackedTexts, pack, to_arrow, unpack

ANYTHING = st.lists(st.text(st.characters(exclude_categories=())))
PROPER = st.lists(st.text())


@given(ANYTHING)
def test_any_texts_come_back(texts):
    assert unpack(pack(texts)) == texts


@given(PROPER)
def test_the_bytes_are_those_of_the_texts_and_end_where_these_do(texts):
    packed = pack(texts)
    assert packed.utf8.tobytes() == "".join(texts).encode()
    assert packed.offsets.tolist() == [len("".join(texts[:i]).encode()) for i in range(len(texts) + 1)]


@given(PROPER)
def test_arrow_sees_the_same_texts_in_the_same_bytes(texts):
    packed = pack(texts)
    seen = to_arrow(packed)
    assert seen.to_pylist() == texts
    if packed.utf8.size:
        assert seen.buffers()[2].address == packed.utf8.ctypes.data


def test_arrow_takes_long_offsets_too():
    packed = pack(["a", "ßß"])
    assert to_arrow(PackedTexts(packed.utf8, packed.offsets.astype(np.int64))).to_pylist() == ["a", "ßß"]


@pytest.mark.parametrize(
    ("utf8", "offsets", "why"),
    [
        (b"ab", [], "does not fit"),
        (b"ab", [0, 1], "does not fit"),
        (b"ab", [1, 2], "does not fit"),
        (b"ab", [0, 3], "does not fit"),
        (b"ab", [0, 2, 1, 2], "before it begins"),
        (b"ab", [0, -1, 2], "before it begins"),
        (b"\xff\xfe", [0, 2], "not UTF-8"),
        ("ß".encode(), [0, 1, 2], "within a character"),
    ],
)
def test_what_cannot_have_been_packed_is_refused(utf8, offsets, why):
    bad = PackedTexts(np.frombuffer(utf8, dtype=np.uint8), np.array(offsets, dtype=np.int32))
    with pytest.raises(ModelFileError, match=why):
        unpack(bad)
    with pytest.raises(ModelFileError):
        to_arrow(bad)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_a_million_names_are_quick():
    texts = [f"naïve {i}" for i in range(1_000_000)]
    assert unpack(pack(texts))[::99_999] == texts[::99_999]
