"""The base class of text estimators: documents are converted to words, a ledger, and rows to be scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import encode_known, thread_count
from deciban.errors import DecibanError, ModelFileError, UndefinedError
from deciban.estimators import check_documents as texts
from deciban.estimators.check_arrays import check_weight, drop_weightless_rows
from deciban.estimators.check_tables import check_labels
from deciban.estimators.count_estimators import SmoothedClassifier
from deciban.families.text_family import Text
from deciban.ledger import Bags, Block, Ledger, Schema, Vocabulary
from deciban.persistence import Section
from deciban.scores.passages import TextExplanation
from deciban.scores.posterior import Finish
from deciban.text import Documents, Finder, WordCounter, Words, build_word_matrix, count_columns, count_known_words

SAME_WORDS = "Hint: fit with the same words=Words(...) and event"


class TextBayes(SmoothedClassifier):
    """A classifier of documents: a ledger of their words."""

    _dtype = np.dtype(np.float64)
    missing = "error"
    event: str
    words: Words | Mapping[str, Any] | None
    weighting: str | None
    n_jobs: int | None
    _words: Words
    _weighting: str | None = None
    _idf: Array | None = None

    def _family(self) -> Text:
        """Return the family of the constructor's arguments, checked."""
        raise AssertionError

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Documents, NDArray[Any]]:
        words = texts.choose_tokenizer(self.words, self.event, self.weighting)
        if not reset:
            self._words.refuse_other(words, SAME_WORDS)
        documents = texts.check_texts(self, X)
        labels = check_labels(self, y, documents)
        if reset:
            self._words, self._weighting = words, self.weighting
        return documents, labels

    def _summarise(self, X: Documents, codes: NDArray[np.int32], weight: Array | None) -> Ledger:
        """Return the ledger of documents; its vocabulary is that of these documents alone."""
        family = self._family()
        X, codes, weight = drop_weightless_rows(X, codes, weight)
        threads = thread_count(self.n_jobs)
        counter = WordCounter(self._words)
        counter.count(X, codes, weight, threads)
        vocabulary, bags = counter.bags(len(self.classes_))
        if self._weighting is not None:
            bags = self._sum_weighted_rows(family, X, codes, weight, vocabulary, bags)
        block = Block("bags", count_columns(self._words, vocabulary), vocabulary, reading=self._words.reading)
        return Ledger(Schema(tuple(self.classes_.tolist()), (block,)), bags.weight[:, 0].copy(), (bags,))

    def _sum_weighted_rows(
        self,
        family: Text,
        X: Documents,
        codes: NDArray[np.int32],
        weight: Array | None,
        vocabulary: Vocabulary | None,
        bags: Bags,
    ) -> Bags:
        """Return the sums of a second pass over the documents, weighted by the idf that the first has counted."""
        rows = build_word_matrix(self._words, vocabulary, X, thread_count(self.n_jobs))
        if self._weighting == "twcnb":
            rows = texts.weight_twcnb_inplace(rows, bags.documents)
        else:
            rows = texts.normalise_rows_inplace(texts.multiply_idf_inplace(rows, _idf(family, bags)))
        return texts.sum_rows_by_class(rows, codes, weight, bags.documents)

    def _replace_ledger(self, ledger: Ledger, X: Any = None) -> None:
        """Replace the ledger; documents have no dtype to store."""
        self.n_features_in_ = ledger.schema.blocks[0].width
        self._idf = None
        super()._replace_ledger(ledger)

    def _matrix(self, documents: Documents, threads: int) -> Any:
        """Return the rows of words that are scored, weighted as the training documents were."""
        rows = build_word_matrix(self._words, self._known, documents, threads)
        if not self._solved_family.idf and self._weighting != "tfidf":
            return rows
        if self._idf is None:
            part: Any = self.ledger_.parts[0]
            self._idf = _idf(self._solved_family, part)
        rows = texts.multiply_idf_inplace(rows, self._idf)
        return texts.normalise_rows_inplace(rows) if self._weighting == "tfidf" else rows

    @property
    def _solved_family(self) -> Text:
        family: Any = self._check_fitted().assumption.families[0]
        return family

    def _score(self, X: Any, wanted: Finish) -> NDArray[Any]:
        model = self._check_fitted()
        threads = thread_count(self.n_jobs)
        form: Any = model.solved.forms[0]
        scores, is_unknown = [], []
        for documents in texts.split_documents(texts.check_texts(self, X)):
            rows = self._matrix(documents, threads)
            is_unknown.append(count_known_words(rows, form.mute) == 0)
            scores.append(model.scores((rows,), wanted, threads))
        texts.warn_unknown_documents(np.concatenate(is_unknown), self._solved_family.event, stacklevel=4)
        return np.concatenate(scores)

    def log_likelihood(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return Σ ln p(x, y) over these documents; without arguments over those learned, from the ledger alone."""
        model = self._check_fitted()
        if X is None and y is None:
            return super().log_likelihood()
        X, y = self._check_rows(X, y, reset=False)
        weight = check_weight(sample_weight, X)
        X, codes, weight = drop_weightless_rows(X, encode_known(y, self.classes_), weight)
        threads = thread_count(self.n_jobs)
        return model.log_likelihood([self._matrix(X, threads)], codes, weight, threads)

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> TextExplanation:
        """Return the evidence of each word in decibans, and its positions; see `Classifier.explain`."""
        model = self._check_fitted()
        documents = texts.check_texts(self, X)
        pair = None if classes is None else self._pair(classes)
        threads = thread_count(self.n_jobs)
        rows = self._matrix(documents, threads)
        form: Any = model.solved.forms[0]
        texts.warn_unknown_documents(count_known_words(rows, form.mute) == 0, self._solved_family.event, stacklevel=3)
        result = model.explain([rows], pair, self.classes_, threads)
        strings = [documents.text(i) or "" for i in range(len(documents))]
        return TextExplanation(**vars(result), texts=strings, find=Finder(self._words, self._known))

    @property
    def _known(self) -> Vocabulary | None:
        names: Any = self._check_fitted().outline.blocks[0].names
        return names

    @property
    def vocabulary_(self) -> Vocabulary:
        """The words of the training documents, in the order of the features; `select` does not change them."""
        known = self._known
        if known is None:
            raise UndefinedError(
                f"with Words(hashed={self._words.hashed}) words are hashed, and not kept. "
                f"Hint: hashed=None keeps them"
            )
        return known

    def _require_additive(self, verb: str) -> None:
        weighting = self.weighting or self._weighting
        if weighting is not None:
            raise UndefinedError(texts.NOT_ADDITIVE.format(weighting=weighting, verb=verb))

    def _combine(self, other: Self, operation: Callable[[Ledger, Ledger], Ledger]) -> Ledger:
        if isinstance(other, TextBayes) and self.event == other.event:
            self._check_fitted(), other._check_fitted()
            self._words.refuse_other(other._words, SAME_WORDS)
        return super()._combine(other, operation)

    def _write_state(self, section: Section) -> None:
        words = texts.choose_tokenizer(self.words, self.event, self.weighting)
        if self.weighting != self._weighting or words != self._words:
            raise ModelFileError(
                "words, event or weighting were changed after the documents were learned, so a file of this model "
                "would predict otherwise than the model does. Hint: fit again, or set them back"
            )
        section.put("reader", self._words.fingerprint)

    def _read_state(self, section: Section, blocks: Sequence[Block]) -> None:
        try:
            self._validate_params()
            self._words = texts.choose_tokenizer(self.words, self.event, self.weighting)
            self._weighting = self.weighting
        except (DecibanError, ValueError, TypeError) as error:
            section.refuse(f"the arguments are not sound: {error}")
        self.n_features_in_ = texts.check_word_block(section, blocks, self._words)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = False
        return tags


def _idf(family: Text, part: Bags) -> Array:
    """Return ln((1 + n)/(1 + df)) + 1 of each word."""
    idf = replace(family, idf=True).idf_of(part)
    assert idf is not None
    return idf
