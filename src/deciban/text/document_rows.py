"""Conversion of documents to rows of a sparse matrix, with a column for each known word; and its inverse."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.execution import load_kernels
from deciban.ledger import Vocabulary
from deciban.scores.passages import FoundWord
from deciban.text.documents import Documents
from deciban.text.words import Words, count_hashed_words, count_words, hash_column


def count_columns(words: Words, vocabulary: Vocabulary | None) -> int:
    """Return the number of columns: one for each word, or one for each value of the hash."""
    return words.n_columns if vocabulary is None else len(vocabulary)


def build_word_matrix(words: Words, vocabulary: Vocabulary | None, documents: Documents, threads: int = 1) -> Any:
    """Return the values of the known words of each document, as CSR; other words are left out.

    >>> known = Vocabulary.of(["cat", "the"])
    >>> X = build_word_matrix(Words(), known, Documents(["the cat and the hat"]))
    >>> X.toarray()[:, known.places(["cat", "the"])].tolist()
    [[1.0, 2.0]]
    """
    from scipy.sparse import csr_array

    if load_kernels("tokenizer", documents.nbytes) is not None:
        from deciban.text.lexicon import fixed_lexicon
        from deciban.text.shard import build_rows

        data, indices, indptr = build_rows(fixed_lexicon(words, vocabulary), words, documents, threads)
    else:
        data, indices, indptr = _count_by_definition(words, vocabulary, documents)
    X = csr_array((data, indices, indptr), shape=(len(documents), count_columns(words, vocabulary)))
    X.has_canonical_format = True
    return X


def _count_by_definition(words: Words, vocabulary: Vocabulary | None, documents: Documents) -> tuple[Any, Any, Any]:
    texts = [documents.text(i) or "" for i in range(len(documents))]
    if vocabulary is None:
        bags = [count_hashed_words(words, text) for text in texts]
        rows = [sorted(bag.items()) for bag in bags]
    else:
        tokens = list({token for text in texts for token in words.tokens_of(text)})
        place = {token: int(v) for token, v in zip(tokens, vocabulary.places(tokens)) if v >= 0}
        named = [count_words(words, text, place) for text in texts]
        rows = [sorted((place[token], value) for token, value in bag.items()) for bag in named]
    entries = [entry for row in rows for entry in row]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.array([v for v, _ in entries], dtype=np.int64)
    return np.array([value for _, value in entries], dtype=np.float64), indices, indptr


def keep_known_words(words: Words, X: Any, known: NDArray[np.bool_]) -> Any:
    """Restrict rows to the known words, and divide by the length of what is left.

    >>> X = build_word_matrix(Words(length="l1"), Vocabulary.of(["cat", "hat"]), Documents(["cat cat hat"]))
    >>> keep_known_words(Words(length="l1"), X, X.toarray()[0] > 0.5).toarray().max().item()
    1.0
    """
    from scipy.sparse import csr_array

    kept = known[X.indices]
    if kept.all():
        return X
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[kept]
    data, indptr = X.data[kept], np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    if words.length is not None:
        power = 1 if words.length == "l1" else 2
        data = data / (np.bincount(row, weights=data**power, minlength=X.shape[0]) ** (1 / power))[row]
    return csr_array((data, X.indices[kept], indptr), shape=X.shape)


def count_known_words(X: Any, mute: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Count the distinct words of each row that carry evidence: all but the mute ones."""
    if mute is None:
        return np.diff(X.indptr).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(~mute[X.indices])])
    return np.diff(ends[X.indptr])


def sample_texts(X: Any, vocabulary: Vocabulary, once: bool, rng: np.random.Generator) -> list[str]:
    """Return texts that would be split into the words of these rows: in random order, separated by spaces."""
    texts = []
    for a, b in pairwise(X.indptr.tolist()):
        times = np.ones(b - a, dtype=np.intp) if once else X.data[a:b].astype(np.intp)
        indices = rng.permutation(np.repeat(X.indices[a:b], times))
        texts.append(" ".join(vocabulary[v] for v in indices.tolist()))
    return texts


@dataclass(frozen=True)
class Finder:
    """A function that finds the known words of a text, with their places and columns.

    >>> known = Vocabulary.of(["cat", "hat"])
    >>> [(one.word, one.start, one.end) for one in Finder(Words(), known)("The cat: a HAT.")]
    [('cat', 4, 7), ('hat', 11, 14)]
    """

    words: Words
    vocabulary: Vocabulary | None

    def __call__(self, text: str) -> list[FoundWord]:
        """Return every occurrence of a known word."""
        spans = self.words.spans_of(text)
        tokens = list({token for token, _, _ in spans})
        if self.vocabulary is None:
            place = {token: hash_column(self.words, token) for token in tokens}
        else:
            place = dict(zip(tokens, self.vocabulary.places(tokens).tolist()))
        return [FoundWord(token, a, b, place[token]) for token, a, b in spans if place[token] >= 0]
