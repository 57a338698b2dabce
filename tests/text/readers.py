"""The ways in which texts are read, each beside the scikit-learn analyser that it must agree with."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from deciban.text import Documents, Words
from deciban.text.lexicon import Lexicon, TokenBuffers

READERS = {
    "words": (Words(), CountVectorizer()),
    "words as they are": (Words(lower=False), CountVectorizer(lowercase=False)),
    "whitespace": (Words(tokens="whitespace"), CountVectorizer(token_pattern=r"\S+")),
    "words and punctuation": (
        Words(tokens="words and punctuation", ngrams=2),
        CountVectorizer(token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2)),
    ),
    "long words": (Words(least_length=3), CountVectorizer(token_pattern=r"\b\w\w\w+\b")),
    "neighbours": (Words(ngrams=3), CountVectorizer(ngram_range=(1, 3))),
    "pairs alone": (
        Words(ngrams=(2, 2), tokens="whitespace"),
        CountVectorizer(ngram_range=(2, 2), token_pattern=r"\S+"),
    ),
    "stop words": (
        Words(stop=["the", "to", "of", "ein"], ngrams=2),
        CountVectorizer(stop_words=["the", "to", "of", "ein"], ngram_range=(1, 2)),
    ),
    "characters": (
        Words(tokens="characters", ngrams=(1, 3)),
        CountVectorizer(analyzer="char", ngram_range=(1, 3)),
    ),
    "characters in words": (
        Words(tokens="characters in words", ngrams=(2, 5)),
        CountVectorizer(analyzer="char_wb", ngram_range=(2, 5)),
    ),
}

UNUSUAL = [
    "İstanbul İ iİi", "ΣΑΣ ΟΔΥΣΣΕΥΣ Σ aΣ Σa a.Σ", "e\u0301te\u0301 cafe\u0301", "👩‍👩‍👧 naïve 👍🏽x",
    "\ud800lone\udfff surro\udc00gate", "nul\x00l \x00\x00", "tab\tnew\nline\r\n\x0b\x0c\x1c\x1f\x85\xa0\u2028end",
    "Straße ẞ ﬁn Ⅷ ⅷ ½ ² x²", "K Å Ω Ⱥ Ⱦ", "१२३ ٣٤ ৪ 漢字 かな 한국어", "snake_case __x__ _ a_", "a", "ab", "", " ",
    "verylongwordindeedthatneverends " * 3, "aaaaaaaa bbbbbbbbb ccccccc dddddddddddddddd eeeeeeeeeeeeeeeee",
    "x" * 7 + " " + "y" * 8 + " " + "z" * 9, "\u0345\u0300A\u0345 Á", "don't o'clock e-mail a.b.c 3.14",
    "\ufeffbom \u200bzw", "wait... what?!! (no) “quoted” — naïve;x Ⓐb’s", "!" * 70 + "é" + "?" * 70,
]  # fmt: skip

any_character = st.characters()
any_text = st.one_of(
    st.text(any_character, max_size=40),
    st.text(
        st.sampled_from("abAB zZ_09é\u0130\u03a3\u03c3\u0307\u212a\u023a \t\n\x00\x1c\x85\xa0.,-😀\ud800"),
        max_size=60,
    ),
    st.lists(st.sampled_from([*UNUSUAL, "The", "cat", "to", "sat", "on", "the", "mat"]), max_size=6).map(" ".join),
)


def kernel_tokens(words: Words, texts: list[str]) -> list[list[str]]:
    """Return the words that the kernels count of each text, as texts."""
    lexicon = Lexicon(words, capacity=8)
    numbers, bounds = lexicon.read(Documents(texts), np.arange(len(texts)), TokenBuffers())
    lexicon.write_ngram_texts()

    text = lexicon.text.tobytes()
    ends = zip(lexicon.begin[: lexicon.n_words].tolist(), lexicon.size[: lexicon.n_words].tolist())
    names = [text[a : a + n].decode("utf-8", "surrogatepass") for a, n in ends]
    found = [names[v] for v in numbers.tolist()]
    return [found[a:b] for a, b in pairwise(bounds.tolist())]
