"""Documents as rows of a sparse matrix, a column for each word that is known."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.execution import load_kernels
from deciban.ledger import Vocabulary
from deciban.text.bag_of_words import bag_of, hashed_bag_of
from deciban.text.documents import Documents
from deciban.text.words import Words


def width(words: Words, vocabulary: Vocabulary | None) -> int:
    """How many columns there are: a word each, or one for each value of the hash."""
    return words.n_columns if vocabulary is None else len(vocabulary)


def matrix(words: Words, vocabulary: Vocabulary | None, documents: Documents, threads: int = 1) -> Any:
    """What each document has of each known word, as CSR; words that are not known are left out.

    >>> known = Vocabulary.of(["cat", "the"])
    >>> matrix(Words(), known, Documents(["the cat and the hat"])).toarray()[:, known.places(["cat", "the"])].tolist()
    [[1.0, 2.0]]
    """
    from scipy.sparse import csr_array

    if load_kernels("tokenizer", documents.nbytes) is not None:
        from deciban.text.lexicon import known_lexicon
        from deciban.text.shard import rows_of

        data, indices, indptr = rows_of(known_lexicon(words, vocabulary), words, documents, threads)
    else:
        data, indices, indptr = _plain(words, vocabulary, documents)
    X = csr_array((data, indices, indptr), shape=(len(documents), width(words, vocabulary)))
    X.has_canonical_format = True
    return X


def _plain(words: Words, vocabulary: Vocabulary | None, documents: Documents) -> tuple[Any, Any, Any]:
    texts = [documents.text(i) or "" for i in range(len(documents))]
    if vocabulary is None:
        bags = [hashed_bag_of(words, text) for text in texts]
        rows = [sorted(bag.items()) for bag in bags]
    else:
        tokens = list({token for text in texts for token in words.tokens_of(text)})
        place = {token: int(v) for token, v in zip(tokens, vocabulary.places(tokens)) if v >= 0}
        named = [bag_of(words, text, place) for text in texts]
        rows = [sorted((place[token], value) for token, value in bag.items()) for bag in named]
    entries = [entry for row in rows for entry in row]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.array([v for v, _ in entries], dtype=np.int64)
    return np.array([value for _, value in entries], dtype=np.float64), indices, indptr


def measured_by(words: Words, X: Any, known: NDArray[np.bool_]) -> Any:
    """Rows of fewer known words than they were read by: the others are left out, and the length is that of the rest.

    >>> X = matrix(Words(length="l1"), Vocabulary.of(["cat", "hat"]), Documents(["cat cat hat"]))
    >>> measured_by(Words(length="l1"), X, X.toarray()[0] > 0.5).toarray().max().item()
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


def known_words(X: Any, mute: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """How many different words of each row carry evidence: all of its words but the mute ones."""
    if mute is None:
        return np.diff(X.indptr).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(~mute[X.indices])])
    return np.diff(ends[X.indptr])


def spelled(X: Any, vocabulary: Vocabulary, once: bool, rng: np.random.Generator) -> list[str]:
    """Texts that would be read as these rows: their words in any order, with a space between them."""
    texts = []
    for a, b in pairwise(X.indptr.tolist()):
        times = np.ones(b - a, dtype=np.intp) if once else X.data[a:b].astype(np.intp)
        drawn = rng.permutation(np.repeat(X.indices[a:b], times))
        texts.append(" ".join(vocabulary[v] for v in drawn.tolist()))
    return texts
