"""Documents come from whatever holds texts, and what is none is refused by name."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deciban.errors import InputError, SchemaError
from deciban.text import Documents, Words

TEXTS = ["a cat", "", "ein Ölfleck 😀", "a cat"]
WITH_NONE = ["a cat", None, "ein Ölfleck 😀", "a cat"]


def texts_of(documents):
    return [documents.text(i) for i in range(len(documents))]


def to_utf8_texts(documents):
    """Return the texts decoded from the UTF-8 that kernels read."""
    blob, offsets = documents.utf8
    return [bytes(blob[a:b]).decode("utf-8", "surrogatepass") for a, b in pairwise(offsets.tolist())]


HOLDERS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "bytes": lambda texts: [text.encode() for text in texts],
    "NumPy objects": lambda texts: np.array(texts, dtype=object),
    "NumPy texts": np.array,
    "NumPy StringDType": lambda texts: np.array(texts, dtype=np.dtypes.StringDType()),
    "NumPy bytes": lambda texts: np.array([text.encode() for text in texts]),
    "pyarrow": pa.array,
    "pyarrow large": lambda texts: pa.array(texts, pa.large_string()),
    "pyarrow views": lambda texts: pa.array(texts, pa.string_view()),
    "pyarrow binary": lambda texts: pa.array([text.encode() for text in texts]),
    "pyarrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "pyarrow chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "pyarrow slice": lambda texts: pa.array(["before", *texts, "behind"])[1:-1],
    "pandas": pd.Series,
    "pandas objects": lambda texts: pd.Series(texts, dtype=object, index=range(5, 5 + len(texts))),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas array": pd.array,
    "polars": pl.Series,
    "polars Categorical": lambda texts: pl.Series(texts, dtype=pl.Categorical),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_every_holder_gives_the_same_texts(name):
    documents = Documents.of(HOLDERS[name](TEXTS))
    assert texts_of(documents) == TEXTS
    assert to_utf8_texts(documents) == TEXTS
    assert documents.missing is None
    assert texts_of(documents[np.array([2, 0])]) == [TEXTS[2], TEXTS[0]]
    assert texts_of(documents[1:3]) == to_utf8_texts(documents[1:3]) == TEXTS[1:3]


@pytest.mark.parametrize("name", ["list", "NumPy objects", "pyarrow", "pyarrow slice", "pandas", "polars"])
def test_missing_documents_are_marked(name):
    documents = Documents.of(HOLDERS[name](WITH_NONE))
    assert texts_of(documents) == WITH_NONE
    assert documents.missing.tolist() == [False, True, False, False]


def test_missing_values_of_pandas_are_missing_in_a_list_too():
    assert texts_of(Documents.of(["a", pd.NA, pd.NaT, np.float32("nan"), float("nan")])) == ["a", *[None] * 4]


def test_half_characters_are_kept_wherever_they_come_from():
    for holder in (list, lambda texts: pd.Series(texts, dtype=object), lambda texts: np.array(texts, dtype=object)):
        documents = Documents.of(holder(["\ud800 ab", "c"]))
        assert texts_of(documents) == to_utf8_texts(documents) == ["\ud800 ab", "c"]


def invalid_utf8_column(n):
    """Return a column that is declared as UTF-8, but is not."""
    ends = pa.py_buffer(np.arange(0, 8 * n + 1, 8, dtype=np.int32).tobytes())
    return pa.Array.from_buffers(pa.string(), n, [None, ends, pa.py_buffer(b"ab\xff\xfecd\xc3 " * n)])


@pytest.mark.parametrize("n", [2, 200_000])
def test_invalid_utf8_in_a_column_is_refused_or_replaced_however_long_it_is(n):
    with pytest.raises(InputError, match=r"document 0 is not utf-8: byte 0xff at place 2.*errors='replace'"):
        Documents.of(invalid_utf8_column(n))
    documents = Documents.of(invalid_utf8_column(n), errors="replace")
    assert documents.text(n - 1) == b"ab\xff\xfecd\xc3 ".decode(errors="replace")


def test_bytes_are_read_by_their_encoding():
    assert texts_of(Documents.of(["Öl".encode("latin-1")], "latin-1")) == ["Öl"]
    assert texts_of(Documents.of(["漢字".encode("shift_jis")], "shift_jis")) == ["漢字"]
    with pytest.raises(InputError, match="document 1 is not utf-8: byte 0xd6 at place 0"):
        Documents.of([b"fine", "Öl".encode("latin-1")])


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("one text", r"one text is not a collection.*\[text\]"),
        (["a", 2], "document 1 is 2, of type int"),
        (pd.Series(["a", 2]), "document 1 is 2, of type int"),
        (["a", pd.Timestamp("2024-01-31")], "document 1 is Timestamp.*, of type Timestamp; documents are texts"),
        (5, "not as int"),
        ({"a"}, "not as set"),
        ({"a": "b"}, "not as dict"),
        (np.zeros(3), "holds float64"),
        (np.array([["a"]]), "2 dimensions"),
        (pa.array([1]), "holds int64"),
        (pd.DataFrame({"a": ["b"]}), r"a table is not a column.*table\['text'\]"),
        (pl.DataFrame({"a": ["b"]}), r"a table is not a column.*table\['text'\]"),
    ],
    ids=str,
)
def test_what_holds_no_texts_is_refused(source, complaint):
    with pytest.raises(InputError, match=complaint):
        Documents.of(source)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": "letters"}, {"values": 3}, {"length": "l3"}, {"lower": "yes"}, {"ngrams": 0}, {"ngrams": (2, 1)},
        {"ngrams": 101}, {"ngrams": (1, 100_000)}, {"ngrams": "2"}, {"stop": "german"}, {"stop": 5},
        {"stop": [3]}, {"least_length": 0}, {"hashed": 0},
        {"hashed": 25}, {"hashed": True}, {"tokens": "characters", "stop": ["a"]},
        {"tokens": "characters", "least_length": 2},
    ],
    ids=str,
)  # fmt: skip
def test_a_specification_that_has_no_meaning_is_refused(wrong):
    with pytest.raises(InputError, match=list(wrong)[-1].replace("_", ".")):
        Words(**wrong)


def test_a_specification_is_a_value():
    words = Words(ngrams=np.int64(2), stop=iter(["of", "a"]), hashed=np.int8(9))
    assert words == Words(ngrams=(1, 2), stop=["a", "of"], hashed=9)
    assert Words.from_dict(words.to_dict()) == words
    assert words.fingerprint == Words.from_dict(words.to_dict()).fingerprint != Words().fingerprint
    with pytest.raises(SchemaError, match=r"ngrams is \[1, 1\] in one and \[1, 2\] in the other"):
        Words().refuse_other(Words(ngrams=2), "")
