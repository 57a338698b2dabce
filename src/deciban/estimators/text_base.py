"""The base class of classifiers of documents; checks of documents and of arguments; weighting of rows of words."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import is_sparse, thread_count
from deciban.engines.dispatch import OCCURRENCES
from deciban.engines.sparse import find_suspect_entry, invalid_entry_error, to_canonical_csr
from deciban.errors import InputError, ModelFileError, UndefinedError, unknown_class_error, warn_caller
from deciban.estimators.classifier_base import Classifier
from deciban.ledger import Bags, Block, Tallies, Vocabulary
from deciban.ledger.statistic import divide
from deciban.persistence import Section
from deciban.scores import Explanation
from deciban.scores.explanation import TextExplanation
from deciban.scores.posterior import Finish
from deciban.text import Documents, Finder, Words, count_columns, count_known_words

MAX_BLOCK_BYTES = 1 << 26
"""Approximate number of bytes of text that are converted to a matrix of words at a time."""

MAX_WORD_COUNT = 1e100
"""Largest count of a word: squares of evidence of larger ones would overflow."""


class DocumentClassifier(Classifier):
    """A classifier of documents, or also of rows of counts: scores and explanations of the words that they have."""

    _dtype = np.dtype(np.float64)
    missing = "error"
    _words: Any
    """The tokenizer of the documents that were learned, `Words`; None where rows of counts were learned."""

    _weighting: str | None = None
    """The weighting of the documents that were learned, beyond the values that the tokenizer gives to words."""

    _idf: Array | None = None
    """The idf of each word, computed when it is first needed."""

    @property
    def _event(self) -> str:
        """The event model of a document."""
        return "multinomial"

    def _parts(self, rows: Any, threads: int) -> Iterator[tuple[Any]]:
        """Yield the matrices of words of blocks of documents that fit into memory, or that of rows of counts."""
        blocks = [rows]
        if isinstance(rows, Documents) and rows.nbytes > MAX_BLOCK_BYTES and len(rows) > 1:
            n_blocks = min(len(rows), -(-rows.nbytes // MAX_BLOCK_BYTES))
            ends = np.linspace(0, len(rows), n_blocks + 1).astype(int).tolist()
            blocks = [rows[a:b] for a, b in pairwise(ends)]
        return ((self._matrix(block, threads),) for block in blocks)

    def _score_rows(self, rows: Any, wanted: Finish) -> NDArray[Any]:
        model, threads = self._check_fitted(), thread_count(self.n_jobs)
        scores, is_unknown = [], []
        with self._reword_errors():
            for parts in self._parts(rows, threads):
                is_unknown.append(self._has_no_known_word(parts[0]))
                scores.append(model.scores(parts, wanted, threads))
        if isinstance(rows, Documents):
            warn_unknown_documents(np.concatenate(is_unknown), self._event)
        return np.concatenate(scores)

    def _has_no_known_word(self, matrix: Any) -> NDArray[np.bool_]:
        """Return which rows of words have none that carries evidence."""
        return count_known_words(matrix, getattr(self._check_fitted().solved.forms[0], "mute", None)) == 0

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> Explanation:
        """Return the evidence of each word in decibans, and its positions; see `Classifier.explain`.

        >>> from deciban import TextClassifier
        >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
        >>> model = TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
        >>> print(model.explain(["Lunch at noon?"]).text())
        ham rather than spam
          at                  1×     +4.54 dB  Lunch [at] noon?
          noon                1×     +4.54 dB  Lunch at [noon]?
          lunch               1×     +2.78 dB  [Lunch] at noon?
          prior                      +0.00 dB
          total                     +11.85 dB  (15.3 to 1)
        """
        model, threads = self._check_fitted(), thread_count(self.n_jobs)
        rows = self._check_input(X)
        pair = None if classes is None else self._encode_pair(classes)
        with self._reword_errors():
            matrix = self._matrix(rows, threads)
        if isinstance(rows, Documents):
            warn_unknown_documents(self._has_no_known_word(matrix), self._event)
        result = model.explain([matrix], pair, self.classes_, threads)
        if self._words is None:
            return result
        strings = [rows.text(i) or "" for i in range(len(rows))]
        return TextExplanation(**vars(result), texts=strings, find=Finder(self._words, self._known))

    @property
    def _known(self) -> Vocabulary | None:
        """The words of the training documents; None where they were hashed, or rows of counts were learned."""
        names: Any = self._check_fitted().outline.blocks[0].names
        return names if self._words is not None else None

    @property
    def vocabulary_(self) -> Vocabulary:
        """The words of the training documents, in the order of the features; selecting words does not change them."""
        known = self._known
        if known is None:
            reason = "it was fitted to rows of counts" if self._words is None else "its words are hashed"
            raise UndefinedError(f"the model has no words: {reason}. Hint: fit documents, with Words(hashed=None)")
        return known

    def _class_index(self, label: Any) -> int:
        """Return the code of a class; refuse a label that is none of the classes."""
        classes = self.classes_.tolist()
        if label not in classes:
            raise unknown_class_error(label, classes)
        return classes.index(label)

    def quadratic_form(self) -> NoReturn:
        """Raise UndefinedError: the score has no squares of words."""
        raise UndefinedError("the score of a document is linear in its words. Hint: linear_form()")

    def _write_tokenizer(self, section: Section, arguments: str, have_changed: bool) -> None:
        """Write the fingerprint of the tokenizer; refuse if the arguments that define it have changed since `fit`."""
        if have_changed:
            raise ModelFileError(
                f"{arguments} were changed after the documents were learned, so a file of this model would predict "
                f"otherwise than the model does. Hint: fit again, or set them back"
            )
        section.put("reader", "" if self._words is None else self._words.fingerprint)


def check_texts(estimator: Any, X: Any) -> Documents:
    """Return the documents of X: one or more, and none of them missing."""
    documents = Documents.of(X, estimator.encoding, estimator.errors)
    if not len(documents):
        raise InputError(
            f"Found array with 0 sample(s) while a minimum of 1 is required by {type(estimator).__name__}."
        )
    missing = documents.missing
    if missing is not None:
        some = "1 document is" if missing.sum() == 1 else f"{missing.sum()} documents are"
        raise InputError(
            f"{some} missing (first: document {int(np.argmax(missing))}); a missing document has no words to count, "
            f"and is not the same as an empty one. Hint: leave such documents out, or write '' for them"
        )
    return documents


def choose_tokenizer(words: Any, event: str, weighting: str | None) -> Words:
    """Return the tokenizer for an event: if the event is about presence, words count once per document.

    Refuse a tokenizer whose values contradict the event or the weighting.
    """
    given = Words.from_argument(words)
    if weighting == "twcnb" and (given.values != "counts" or given.length is not None):
        differs = f"values={given.values!r}" if given.values != "counts" else f"length={given.length!r}"
        raise InputError(
            f"weighting='twcnb' defines the value of a word in a document itself, and so does Words({differs}). "
            f"Hint: leave it out of Words, or weighting=None"
        )
    if event not in ("boolean", "bernoulli"):
        return given
    if given.values == "log":
        raise InputError(
            f"event={event!r} is about the presence of words, and Words(values='log') about their number. "
            f"Hint: Words(values='presence'), or event='multinomial'"
        )
    if event == "bernoulli" and given.length is not None:
        raise InputError(
            f"event='bernoulli' is about the presence of words, which Words(length={given.length!r}) cannot divide. "
            f"Hint: length=None, or event='boolean'"
        )
    return replace(given, values="presence")


def refuse_contradictions(event: str, weighting: str | None, idf: bool, norm: bool) -> None:
    """Refuse arguments that contradict each other."""
    if weighting is not None and idf:
        raise InputError(f"weighting={weighting!r} includes idf, so idf=True would apply it twice. Hint: idf=False")
    if event == "bernoulli" and (weighting is not None or idf):
        argument = "idf=True" if idf else f"weighting={weighting!r}"
        raise InputError(
            f"event='bernoulli' is about the presence of words, so {argument} has nothing to weight. "
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


def describe_weighting(words: Words, weighting: str | None, idf: bool) -> str:
    """Return the argument by which the values of words are not whole numbers; an empty text where they are counts."""
    if idf:
        return "idf=True"
    if weighting is not None:
        return f"weighting={weighting!r}"
    return "" if words.has_integer_values else f"Words(values={words.values!r}, length={words.length!r})"


def check_word_block(section: Section, blocks: Sequence[Block], words: Words) -> int:
    """Return the number of features of a file's only block, which must be counted by this tokenizer."""
    if section.text("reader") != words.fingerprint:
        section.refuse("the words do not match the fingerprint of the reader")
    if len(blocks) != 1 or blocks[0].kind != "bags" or blocks[0].reading != words.reading:
        section.refuse(f"there should be bags of {words.reading}, and nothing else")
    (block,), names = blocks, cast(Vocabulary | None, blocks[0].names)
    if (names is None) != (words.hashed is not None) or count_columns(words, names) != block.width:
        section.refuse("the words are not those of the vocabulary")
    return block.width


def normalise_rows_inplace(X: Any) -> Any:
    """Divide rows by their Euclidean length, in place; a row of zeros is unchanged. Return X."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    size = np.sqrt(np.bincount(row, weights=X.data**2, minlength=X.shape[0]))
    X.data = divide(X.data, size[row])
    return X


def weight_rows_inplace(X: Any, weighting: str | None, idf: Array) -> Any:
    """Multiply each word's value by its idf, with a weighting then divide rows by their Euclidean length; return X.

    With "twcnb" the values are first replaced by ln(1 + value).
    """
    if weighting == "twcnb":
        X.data = np.log1p(X.data)
    X.data *= idf[X.indices]
    return X if weighting is None else normalise_rows_inplace(X)


def sum_rows_by_class(X: Any, codes: NDArray[np.int32], weight: Array | None, documents: Tallies) -> Bags:
    """Return Σ w·x per class and word of these rows, with the counts of documents that have each word."""
    from scipy.sparse import csr_array

    w = np.ones(X.shape[0]) if weight is None else weight
    share = csr_array((w, (codes, np.arange(X.shape[0]))), shape=(documents.n_classes, X.shape[0]))
    sums = (share @ X).tocsc()
    sums.sort_indices()
    sums.eliminate_zeros()
    start, class_code = sums.indptr.astype(np.int64), sums.indices.astype(np.int32)
    return Bags(Tallies(start, class_code, sums.data, documents.weight), documents)


def warn_unknown_documents(is_unknown: NDArray[np.bool_], event: str) -> None:
    """Warn of documents without a known word."""
    if not is_unknown.any():
        return
    results = {
        "bernoulli": "the class prior and the absence of all words decide",
        "complement": "all classes have equal scores, and the first one is returned",
    }
    n = is_unknown.sum()
    some = "1 document has" if n == 1 else f"{n} of {len(is_unknown)} documents have"
    warn_caller(
        f"{some} no word that the model knows (first: document {int(np.argmax(is_unknown))}); there "
        f"{results.get(event, 'the class prior decides alone')}"
    )


def is_count_matrix(X: Any) -> bool:
    """Return whether X has rows of numbers, and is not a column of documents.

    >>> is_count_matrix([[0, 2], [1, 0]]), is_count_matrix(["to be", "or not"])
    (True, False)
    """
    if is_sparse(X) or hasattr(X, "columns"):
        return True
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and not isinstance(X[0], (str, bytes, type(None)))
    if hasattr(X, "__arrow_c_array__") or hasattr(X, "__arrow_c_stream__") or not hasattr(X, "__array__"):
        return False
    array = np.asarray(X)
    return array.ndim != 1 or array.dtype.kind in "fiubc"


def to_count_rows(X: Any, values: str | None) -> Any:
    """Return rows of counts as CSR; "presence": 1 for each word, "log": ln(1 + f). Refuse invalid or huge counts."""
    from scipy.sparse import csr_array

    rows = to_canonical_csr(X if is_sparse(X) else csr_array(np.asarray(X)))
    flaw = find_suspect_entry(rows, OCCURRENCES)
    if flaw >= 0:
        raise invalid_entry_error(rows, flaw)
    data = (rows.data > 0).astype(np.float64) if values == "presence" else rows.data.astype(np.float64)
    data = np.log1p(data) if values == "log" else data
    if (top := data.max(initial=0.0)) > MAX_WORD_COUNT:
        raise InputError(f"counts as large as {top:g} cannot be counts of words. Hint: rescale them")
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def root_mean_square_length(rows: Any, weight: Array | None) -> float:
    """Return the root mean square of the Euclidean lengths of rows; 1 where all are empty."""
    top = float(rows.data.max(initial=0.0)) or 1.0  # divided by, so that squares of 1e300 do not overflow
    squares = np.concatenate([[0.0], np.cumsum((rows.data / top) ** 2)])
    size = np.sqrt(np.average(np.diff(squares[rows.indptr]), weights=weight))
    return float(size) * top if size > 0 else 1.0


def normalise_lengths(rows: Any) -> Any:
    """Return a copy of the rows, each divided by its Euclidean length; a row of zeros is unchanged."""
    from scipy.sparse import csr_array

    data = rows.data / (rows.data.max(initial=0.0) or 1.0)  # so that squares of 1e300 do not overflow
    return normalise_rows_inplace(csr_array((data, rows.indices, rows.indptr), shape=rows.shape))
