"""The base class of classifiers of documents, which are scored as rows of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import thread_count
from deciban.errors import ModelFileError, UndefinedError, unknown_class_error
from deciban.estimators.check_documents import split_documents, warn_unknown_documents
from deciban.estimators.classifier_base import Classifier
from deciban.ledger import Vocabulary
from deciban.persistence import Section
from deciban.scores import Explanation
from deciban.scores.explanation import TextExplanation
from deciban.scores.posterior import Finish
from deciban.text import Documents, Finder, count_known_words


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
        blocks = split_documents(rows) if isinstance(rows, Documents) else [rows]
        return ((self._matrix(block, threads),) for block in blocks)

    def _score_rows(self, rows: Any, wanted: Finish) -> NDArray[Any]:
        model, threads = self._check_fitted(), thread_count(self.n_jobs)
        scores, is_unknown = [], []
        with self._reword_errors():
            for parts in self._parts(rows, threads):
                is_unknown.append(self._has_no_known_word(parts[0]))
                scores.append(model.scores(parts, wanted, threads))
        if isinstance(rows, Documents):
            warn_unknown_documents(np.concatenate(is_unknown), self._event, stacklevel=5)
        return np.concatenate(scores)

    def _has_no_known_word(self, matrix: Any) -> NDArray[np.bool_]:
        return count_known_words(matrix, getattr(self._check_fitted().solved.forms[0], "mute", None)) == 0

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> Explanation:
        """Return the evidence of each word in decibans, and its positions; see `Classifier.explain`."""
        model, threads = self._check_fitted(), thread_count(self.n_jobs)
        rows = self._check_input(X)
        pair = None if classes is None else self._pair(classes)
        with self._reword_errors():
            matrix = self._matrix(rows, threads)
        if isinstance(rows, Documents):
            warn_unknown_documents(self._has_no_known_word(matrix), self._event, stacklevel=3)
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
        classes = self.classes_.tolist()
        if label not in classes:
            raise unknown_class_error(label, classes)
        return classes.index(label)

    def quadratic_form(self) -> NoReturn:
        """Raise UndefinedError: the score has no squares of words."""
        raise UndefinedError("the score of a document is linear in its words. Hint: linear_form()")

    def _write_tokenizer(self, section: Section, arguments: str, have_changed: bool) -> None:
        """Write the fingerprint of the tokenizer, unless the arguments that define it have changed since `fit`."""
        if have_changed:
            raise ModelFileError(
                f"{arguments} were changed after the documents were learned, so a file of this model would predict "
                f"otherwise than the model does. Hint: fit again, or set them back"
            )
        section.put("reader", "" if self._words is None else self._words.fingerprint)
