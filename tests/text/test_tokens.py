"""The words are those of CountVectorizer, on every string, by the definition and by the kernels."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from deciban.text import Documents, Words
from deciban.text.lexicon import Lexicon, TokenBuffers
from tests.text.readers import READERS, UNUSUAL, any_text, kernel_tokens
from tests.timing import assert_growth

readers = pytest.mark.parametrize("name", READERS)


@readers
def test_the_words_of_unusual_texts_are_those_of_countvectorizer(name):
    words, peer = READERS[name]
    expected = [sorted(peer.build_analyzer()(text)) for text in UNUSUAL]
    assert [sorted(words.tokens_of(text)) for text in UNUSUAL] == expected
    assert [sorted(tokens) for tokens in kernel_tokens(words, UNUSUAL)] == expected


LONG_NGRAMS = {
    "words": (Words(ngrams=(1, 100)), CountVectorizer(ngram_range=(1, 100))),
    "five words or more": (Words(ngrams=(5, 100)), CountVectorizer(ngram_range=(5, 100))),
    "characters": (
        Words(tokens="characters", ngrams=(9, 100)),
        CountVectorizer(analyzer="char", ngram_range=(9, 100)),
    ),
    "characters in words": (
        Words(tokens="characters in words", ngrams=(9, 100)),
        CountVectorizer(analyzer="char_wb", ngram_range=(9, 100)),
    ),
}


@pytest.mark.parametrize("name", LONG_NGRAMS)
def test_ngrams_longer_than_most_texts_are_those_of_countvectorizer(name):
    words, peer = LONG_NGRAMS[name]
    texts = [*UNUSUAL, *["word " * n for n in (4, 5, 99, 100, 130)]]
    expected = [sorted(peer.build_analyzer()(text)) for text in texts]
    assert [sorted(words.tokens_of(text)) for text in texts] == expected
    assert [sorted(tokens) for tokens in kernel_tokens(words, texts)] == expected


@pytest.mark.thorough(reason="reads thousands of strings, or long n-grams: seconds")
@pytest.mark.parametrize("tokens", ["words", "characters", "characters in words"])
@pytest.mark.parametrize("hashed", [None, 8])
def test_ngrams_longer_than_the_texts_take_no_memory(tokens, hashed):
    texts = ["go to it"] * 20_000
    reader = Lexicon(Words(tokens=tokens, ngrams=100, hashed=hashed), capacity=8)
    documents, order, capacity = Documents(texts), np.arange(len(texts)), TokenBuffers()
    reader.read(documents, order, capacity)
    tracemalloc.start()
    try:
        reader.read(documents, order, capacity)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    n_ngrams = sum(map(len, map(reader.settings.tokens_of, texts[:1]))) * len(texts)
    assert peak < 8 * 8 * n_ngrams


def test_a_text_of_many_runs_of_spaces_is_read_in_linear_time():
    words = Words(tokens="characters")
    assert_growth(lambda n: words.tokens_of("a  b\n\n" * n), 20_000, 160_000, most=16)


def agree(name, texts):
    words, peer = READERS[name]
    expected = [sorted(peer.build_analyzer()(text)) for text in texts]
    assert [sorted(words.tokens_of(text)) for text in texts] == expected
    assert [sorted(tokens) for tokens in kernel_tokens(words, texts)] == expected


@readers
@settings(max_examples=500, deadline=None)
@given(texts=st.lists(any_text, max_size=3))
def test_no_string_is_read_otherwise_than_by_countvectorizer(name, texts):
    agree(name, texts)


@pytest.mark.thorough(reason="reads thousands of strings, or long n-grams: seconds")
@readers
@settings(max_examples=4_000, deadline=None)
@given(texts=st.lists(any_text, max_size=3))
def test_no_string_of_many_is_read_otherwise(name, texts):
    agree(name, texts)


@pytest.mark.parametrize(
    ("tokens", "pattern", "lower"), [("words", r"\w+", True), ("whitespace", r"\S+", True), ("words", r"\w+", False)]
)
def test_every_character_is_read_as_python_reads_it(tokens, pattern, lower):
    """Each alone between letters: part of the word or not, and in its lower case."""
    words = Words(tokens=tokens, lower=lower)
    characters = [*range(0x20000), *range(0x20000, 0x110000, 61)]  # beyond the second plane nearly all are alike
    texts = [f"ab{chr(c)}CD" for c in characters]
    found = [re.findall(pattern, text.lower() if lower else text) for text in texts]
    assert kernel_tokens(words, texts) == [[t for t in spans if len(t) >= words.least_length] for spans in found]


@readers
@given(texts=st.lists(any_text, max_size=2))
def test_a_span_is_the_place_of_its_token(name, texts):
    words = READERS[name][0]
    for text in texts:
        spans = words.spans_of(text)
        assert [token for token, _, _ in spans] == words.tokens_of(text)
        assert all(0 <= a < b <= len(text) for _, a, b in spans)
        if words.tokens in ("words", "whitespace") and words.span == (1, 1) and len(text.lower()) == len(text):
            assert all(token == (text.lower() if words.lower else text)[a:b] for token, a, b in spans)
