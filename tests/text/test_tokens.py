"""The words are those of CountVectorizer, on every string, by the definition and by the kernels."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text.readers import READERS, STRANGE, any_text, kernel_tokens

from deciban.text import Words

readers = pytest.mark.parametrize("name", READERS)


@readers
def test_the_words_of_strange_texts_are_those_of_countvectorizer(name):
    words, peer = READERS[name]
    expected = [sorted(peer.build_analyzer()(text)) for text in STRANGE]
    assert [sorted(words.tokens_of(text)) for text in STRANGE] == expected
    assert [sorted(tokens) for tokens in kernel_tokens(words, STRANGE)] == expected


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


@pytest.mark.thorough
@readers
@settings(max_examples=20_000, deadline=None)
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
    assert kernel_tokens(words, texts) == [[t for t in told if len(t) >= words.least_length] for told in found]


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
