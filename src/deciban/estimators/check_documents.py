"""Documents for the text facade: checked, read as its event wants them, weighed, and written."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import DecibanWarning, InputError, UndefinedError
from deciban.ledger import Bags, Tallies
from deciban.ledger.statistic import divide
from deciban.text import Documents, Words

AT_ONCE = 1 << 26
"""Bytes of text, about, that are a matrix of words at a time."""

NOT_ADDITIVE = (
    "weighting={weighting!r} cannot {verb}: every document was weighed by the idf of all documents together and made "
    "one long only then, so sums of what was counted do not tell what fewer or more documents would have come to. "
    "Hint: idf=True, which is applied when solving, can; or fit again with all documents."
)


def check_texts(estimator: Any, X: Any) -> Documents:
    """The documents of X: one or more, and none of them missing."""
    documents = Documents.of(X, estimator.encoding, estimator.errors)
    if not len(documents):
        raise InputError(
            f"Found array with 0 sample(s) while a minimum of 1 is required by {type(estimator).__name__}."
        )
    missing = documents.missing
    if missing is not None:
        some = "1 document is" if missing.sum() == 1 else f"{missing.sum()} documents are"
        raise InputError(
            f"{some} missing (first: document {int(np.argmax(missing))}); what is not there has no words to count, "
            f"and is not the same as a document without any. Hint: leave such documents out, or write '' for them"
        )
    return documents


def choose_tokenizer(words: Any, event: str, weighting: str | None) -> Words:
    """How documents are read under an event: where presence is all that counts, words count once a document."""
    given = Words.given(words)
    if weighting == "twcnb" and (given.values != "counts" or given.length is not None):
        differs = f"values={given.values!r}" if given.values != "counts" else f"length={given.length!r}"
        raise InputError(
            f"weighting='twcnb' itself says what a word of a document counts for, and Words({differs}) too. "
            f"Hint: leave it out of Words, or weighting=None"
        )
    if event not in ("boolean", "bernoulli"):
        return given
    if given.values == "log":
        raise InputError(
            f"event={event!r} asks whether a word is there, and Words(values='log') how often. "
            f"Hint: Words(values='presence'), or event='multinomial'"
        )
    if event == "bernoulli" and given.length is not None:
        raise InputError(
            f"event='bernoulli' asks whether a word is there, which Words(length={given.length!r}) cannot divide. "
            f"Hint: length=None, or event='boolean'"
        )
    return replace(given, values="presence")


def refuse_contradictions(event: str, weighting: str | None, idf: bool, norm: bool) -> None:
    """Refuse arguments that contradict each other."""
    if weighting is not None and idf:
        raise InputError(
            f"weighting={weighting!r} has an idf of its own, so idf=True would be a second. Hint: idf=False"
        )
    if event == "bernoulli" and (weighting is not None or idf):
        weighs = "idf=True" if idf else f"weighting={weighting!r}"
        raise InputError(
            f"event='bernoulli' asks whether a word is there, so there is nothing for {weighs} to weigh. "
            f"Hint: event='multinomial'"
        )
    if weighting == "twcnb" and event == "boolean":
        raise InputError(
            "weighting='twcnb' is a complement model of counts, not event='boolean'. Hint: leave event out"
        )
    if norm and event != "complement" and weighting != "twcnb":
        raise InputError(
            f"norm=True divides the weights of event='complement', and event is {event!r}. Hint: norm=False"
        )


def refuse_auto_alpha(words: Words, weighting: str | None, idf: bool) -> None:
    """Refuse to ask how probable counts are where words come to no counts."""
    if weighting is None and not idf and words.whole:
        return
    told = f"Words(values={words.values!r}, length={words.length!r})"
    given = "idf=True" if idf else told if weighting is None else f"weighting={weighting!r}"
    raise InputError(
        f"alpha='auto' asks under which pseudo-count the counts of the words are most probable, and with {given} "
        f"they are weighed, no counts. Hint: alpha as a number, such as 0.1"
    )


def blocks(documents: Documents) -> Iterator[Documents]:
    """The documents, so many at a time that their words fit into memory."""
    parts = min(len(documents), -(-documents.nbytes // AT_ONCE))
    if parts <= 1:
        yield documents
        return
    ends = np.linspace(0, len(documents), parts + 1).astype(int).tolist()
    yield from (documents[a:b] for a, b in pairwise(ends))


def weighed(X: Any, idf: Array) -> Any:
    """The same rows with each word's value times its idf; X is changed."""
    X.data *= idf[X.indices]
    return X


def normalise_rows_inplace(X: Any) -> Any:
    """The same rows divided by their Euclidean length; X is changed, and a row of zeros stays."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    size = np.sqrt(np.bincount(row, weights=X.data**2, minlength=X.shape[0]))
    X.data = divide(X.data, size[row])
    return X


def rennie(X: Any, documents: Tallies) -> Any:
    """Rows of counts as Rennie et al. (2003) learn them: ln(1 + f) · ln(n/df), of length one; X is changed."""
    df = documents.per_feature(documents.total)
    X.data = np.log1p(X.data)
    return normalise_rows_inplace(weighed(X, np.log(divide(documents.weight.sum(), df, 1.0))))


def sum_rows_by_class(X: Any, codes: NDArray[np.int32], weight: Array | None, documents: Tallies) -> Bags:
    """Σ w·x per class and word of these rows, beside the documents that have each word."""
    from scipy.sparse import csr_array

    w = np.ones(X.shape[0]) if weight is None else weight
    share = csr_array((w, (codes, np.arange(X.shape[0]))), shape=(documents.n_classes, X.shape[0]))
    sums = (share @ X).tocsc()
    sums.sort_indices()
    sums.eliminate_zeros()
    start, klass = sums.indptr.astype(np.int64), sums.indices.astype(np.int32)
    return Bags(Tallies(start, klass, sums.data, documents.weight), documents)


def warn_unknown_documents(silent: NDArray[np.bool_], event: str, deep: int) -> None:
    """Say of how many documents nothing is known but that they are there; the user's call is so many calls up."""
    if not silent.any():
        return
    speaks = {
        "bernoulli": "the class prior speaks, and that all words are absent",
        "complement": "nothing tells the classes apart, and the first one is given",
    }
    some = "1 document has" if silent.sum() == 1 else f"{silent.sum()} of {len(silent)} documents have"
    warnings.warn(
        f"{some} no word that the model knows (first: document {int(np.argmax(silent))}); there "
        f"{speaks.get(event, 'the class prior speaks alone')}",
        DecibanWarning,
        stacklevel=deep,
    )


def refuse_sampling(words: Words, weighed: str | None, what: str) -> None:
    """Refuse to draw documents where what is counted is no number of words, or words cannot be put together again."""
    if weighed is None and not words.whole:
        weighed = f"Words(values={words.values!r}, length={words.length!r})"
    if weighed is not None:
        raise UndefinedError(
            f"with {weighed} the words of a document come to no whole numbers, so there is no {what}. "
            f"Hint: a model of counts has one"
        )


def refuse_text_sampling(words: Words) -> None:
    """Refuse to make documents of words that overlap, or that were not kept."""
    if words.unwritable:
        raise UndefinedError(
            f"no documents can be drawn: {words.unwritable}. Hint: a model of Words(tokens='words', ngrams=1)"
        )
