"""EvidenceRegression: naive Bayes of words whose evidence is weighted by logistic regression."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import encode, thread_count
from deciban.errors import InputError
from deciban.estimators import check_arguments as checks
from deciban.estimators import text_base as texts
from deciban.estimators.check_arguments import allow
from deciban.estimators.classifier_base import refuse_unsound_arguments
from deciban.estimators.discrete_estimators import MultinomialNB
from deciban.estimators.logistic_regression import FittedClassifier
from deciban.estimators.parameter_docs import document_estimator
from deciban.estimators.text_classifier import TextClassifier
from deciban.generative import GenerativeModel
from deciban.ledger import Block, Ledger
from deciban.ledger.statistic import divide
from deciban.linear import evidence_weights_of_words as word_weights
from deciban.linear.fitted_model import FittedModel
from deciban.linear.penalty_choice import CHOICE_FOLDS
from deciban.persistence import Section
from deciban.scorer import Scorer
from deciban.scores import DECIBAN
from deciban.text import Documents, Words, build_word_matrix
from deciban.text.words import PRESETS
from deciban.validation.splits import StratifiedAssigner


class WeightedWord(NamedTuple):
    """The evidence of a word for a class in a document of root mean square length, in decibans.

    `decibans` is `evidence`, that of naive Bayes, times `trust`, the evidence weight of the word.
    """

    word: Any
    decibans: float
    evidence: float
    trust: float


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class EvidenceRegression(texts.DocumentClassifier, FittedClassifier):
    """Naive Bayes of words, each with a fitted evidence weight: evidence that words share is not counted twice.

    X is documents (a list, an array or a column of texts, tokenized by `words`) or rows of counts, dense or CSR,
    whose columns are words. The features of the logistic regression are the evidence of each word under naive Bayes
    (pseudo-count `alpha`), its coefficients the evidence weights (`trust_`): 1 everywhere is naive Bayes. The penalty
    draws evidence weights towards a common one (`common_trust_`), and this towards 0. The common one is fitted to the
    evidence of each document, with `held_out` by the counts of all others. Of alpha=1 without `held_out` and
    alpha=0.1 with it, "auto" uses the one of lower log-loss on documents held out.

    Where `words` is None, words and punctuation are counted, with pairs of neighbours where that predicts held-out
    documents better. A word that occurs f times counts as ln(1 + f); `presence=True`: as 1; `presence=False`: as the
    values of `words` say. Without `length`, the probabilities of long documents are closer to 0 and 1 for their
    length alone.

    Examples
    --------
    >>> from deciban import EvidenceRegression
    >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
    >>> model = EvidenceRegression().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["buy pills at noon", "cheap pills"]).tolist()
    ['ham', 'spam']
    >>> [(each.word, round(each.decibans, 1), round(each.trust, 2)) for each in model.telltales("spam", 2)]
    [('cheap', 3.9, 0.99), ('buy', 3.9, 0.99)]
    """

    _method, _sought, _instead = "evidence regression", "evidence weights", "TextClassifier and MultinomialNB"
    _input_tags = {"string": True, "positive_only": True}

    C: float | str = field(default=1.0, metadata=allow("positive", "auto"))
    words: Words | Mapping[str, Any] | str | None = field(
        default=None, metadata=allow(Words, Mapping, set(PRESETS), None)
    )
    alpha: float | str = field(default="auto", metadata=allow("positive", "auto"))
    held_out: bool | str = field(default="auto", metadata=allow("boolean", "auto"))
    presence: bool | None = field(default=None, metadata=allow("boolean", None))
    length: bool = field(default=True, metadata=allow("boolean"))
    common: float | None = field(default=0.1, metadata=allow("positive", None))
    beta: float | None = field(default=None, metadata=allow("share", None))
    tol: float = field(default=1e-3, metadata=allow("non-negative"))
    max_iter: int = field(default=200, metadata=allow("non-negative integer"))
    encoding: str = field(default="utf-8", metadata=allow(str))
    errors: str = field(default="strict", metadata=allow({"strict", "replace"}))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents, or rows of counts, and labels y.

        >>> from deciban import EvidenceRegression
        >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
        >>> model = EvidenceRegression().fit(mail, ["spam", "spam", "ham", "ham"])
        >>> len(model.vocabulary_)
        13
        """
        with self._restore_on_error():
            self._validate_params()
            self.__dict__.pop("feature_names_in_", None)
            self._words = None if texts.is_count_matrix(X) else self._make_tokenizer(ngrams=1)
            self._read_as: tuple[str | None, bool] = self._choose_values(), bool(self.length)
            if self._words is None:
                X, y = checks.check_rows(self, X, y, reset=True)
            else:
                X = texts.check_texts(self, X)
                y = checks.check_labels(self, y, X)
            given = checks.check_weight(sample_weight, X)
            self.classes_, codes = encode(y)
            X, codes, weight = checks.drop_weightless_rows(X, codes, given)
            self._require_two_classes(codes)
            with self._reword_errors(given):
                self._scorer = self._fit_scorer(X, codes, weight)
        self._warn_if_not_converged()
        return self

    def _choose_values(self) -> str | None:
        """Return the values of words, "presence" or "log"; None: those of the tokenizer, or of the rows of counts."""
        if self.presence is None:
            return "log"
        return "presence" if self.presence else None

    def _make_tokenizer(self, ngrams: int | None) -> Words:
        """Return the argument `words` as a tokenizer, with the values that `presence` asks for.

        Where it is None, `ngrams` is the greatest length of n-grams; None: as in files of earlier versions.
        """
        values, words = self._choose_values(), Words.from_argument(self.words)
        if self.words is None and ngrams is not None:
            words = Words.preset("modern", ngrams=ngrams)
        if values == "log" and words.values != "counts":
            return words
        return words if values is None else replace(words, values=values)  # type: ignore[arg-type]

    def _fit_scorer(self, X: Any, codes: NDArray[np.int32], weight: Array | None) -> FittedModel:
        """Fit naive Bayes, then the evidence weights of its words; set `n_features_in_`."""
        C = self.C if isinstance(self.C, str) else float(self.C)
        settings = word_weights.EvidenceSettings(C, self.common, self.beta, self.tol, int(self.max_iter))
        X = texts.to_count_rows(X, self._read_as[0]) if self._words is None else X
        naive, ledger, rows = self._count_words(X, codes, weight)
        single, smoothing = self._words, self._choose_form(X, rows, settings)
        if self._words is not single:
            naive, ledger, rows = self._count_words(X, codes, weight)
        self.n_features_in_ = ledger.schema.blocks[0].width
        naive.alpha = smoothing.alpha
        basis = GenerativeModel(naive._assumption(self.n_features_in_, len(self.classes_)), ledger)
        fold = StratifiedAssigner(CHOICE_FOLDS).assign(codes) if settings.C == "auto" else None
        return word_weights.fit_evidence_regression(basis, rows, settings, smoothing, fold)

    def _choose_form(
        self, X: Any, rows: word_weights.WordRows, settings: word_weights.EvidenceSettings
    ) -> word_weights.Smoothing:
        """Return the smoothing that a sample of documents chooses; set `_words`, perhaps with pairs of neighbours."""
        candidates, has_open_ngrams = self._list_smoothings(), self._words is not None and self.words is None
        if len(rows.codes) < word_weights.MIN_CHOICE_ROWS or not (has_open_ngrams or len(candidates) > 1):
            return candidates[0]
        index = word_weights.sample_choice_documents(rows)
        some = rows.take(index) if len(index) < len(rows.codes) else rows
        fold = StratifiedAssigner(CHOICE_FOLDS).assign(some.codes)
        best = word_weights.choose_smoothing(some, settings, candidates, fold)
        if has_open_ngrams:
            single, self._words = self._words, self._make_tokenizer(ngrams=2)
            pairs = replace(best, rows=self._count_words(X[index], some.codes, some.weight)[2], fold_losses=[])
            self._words = self._words if pairs.is_better_than(best) else single
        return best.smoothing

    def _list_smoothings(self) -> list[word_weights.Smoothing]:
        """Return the smoothings among which documents held out choose: one where the arguments leave no choice."""
        held_out = [bool(self.held_out)] if not isinstance(self.held_out, str) else [False, True]
        if self.common is None:
            held_out = [False]
        if not isinstance(self.alpha, str):
            return [word_weights.Smoothing(float(self.alpha), each) for each in held_out]
        usual = word_weights.Smoothing(1.0, held_out[0])
        return [usual, word_weights.Smoothing(word_weights.HELD_OUT_ALPHA, held_out[-1])]

    def _count_words(
        self, X: Any, codes: NDArray[np.int32], weight: Array | None
    ) -> tuple[Any, Ledger, word_weights.WordRows]:
        """Return an unfitted naive Bayes estimator of documents or of rows of counts, their ledger and their rows."""
        naive: Any = MultinomialNB(missing="error", n_jobs=self.n_jobs)
        if self._words is not None:
            naive = TextClassifier(words=self._words, n_jobs=self.n_jobs)
            naive._words = self._words
        naive.classes_ = self.classes_
        if hasattr(self, "feature_names_in_"):
            naive.feature_names_in_ = self.feature_names_in_
        ledger, threads = naive._summarise(X, codes, weight), thread_count(self.n_jobs)
        known: Any = ledger.schema.blocks[0].names
        rows = X if self._words is None else build_word_matrix(self._words, known, X, threads)
        length = self._read_as[1]
        size = texts.root_mean_square_length(rows, weight) if length else 1.0
        scored = texts.normalise_lengths(rows) if length else rows
        K = len(self.classes_)
        return naive, ledger, word_weights.WordRows(rows, scored, codes, weight, K, size, threads)

    def _matrix(self, X: Any, threads: int) -> Any:
        """Return the rows of words that are scored, as `presence` and `length` were at `fit`."""
        values, length = self._read_as
        if isinstance(X, Documents):
            rows = build_word_matrix(self._words, self._known, X, threads)
        else:
            rows = texts.to_count_rows(X, values)
        return texts.normalise_lengths(rows) if length else rows

    def _check_input(self, X: Any) -> Any:
        """Return documents if the model was fitted to documents, else rows of counts."""
        if self._words is None:
            return checks.check_X(self, X)
        if texts.is_count_matrix(X):
            raise InputError("the model was fitted to documents, and X has rows of numbers. Hint: a list of texts")
        return texts.check_texts(self, X)

    def _get_setting(self, name: str) -> float:
        """Return a number that was fitted: "size" or "common_trust"."""
        return float(self._check_fitted().account.settings[name])

    def telltales(self, label: Any, n: int = 10) -> list[WeightedWord]:
        """Return the n words with the most `decibans`, even negative, for a class against the mean of the others.

        >>> from deciban import EvidenceRegression
        >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
        >>> model = EvidenceRegression().fit(mail, ["spam", "spam", "ham", "ham"])
        >>> [each.word for each in model.telltales("ham", 3)]
        ['noon', 'at', 'lunch']
        """
        model: FittedModel = self._check_fitted()
        k = self._class_index(label)
        with np.errstate(over="ignore"):
            nats = _subtract_mean_of_others(self._form.weights, k) / self._get_setting("size")
        best = np.argsort(-nats, kind="stable")[:n]
        naive_nats = _subtract_mean_of_others(model.naive.solved.forms[0].linear().weights[:, best], k)
        weights = divide(nats[best], naive_nats)
        names = model.feature_names
        return [
            WeightedWord(names[j], float(nats[j]) * DECIBAN, e * DECIBAN, t)
            for j, e, t in zip(best.tolist(), naive_nats.tolist(), weights.tolist())
        ]

    @property
    def trust_(self) -> Array:
        """The evidence weight of each word (`common_trust_` if it has no evidence); a row per class, one for two."""
        evidence = word_weights.extract_word_evidence(self._check_fitted().naive.solved.forms[0]).T
        return divide(self.coef_, evidence * self._get_setting("size"), self.common_trust_)

    @property
    def common_trust_(self) -> float:
        """The evidence weight that all words have in common; 0 if `common` is None."""
        return self._get_setting("common_trust")

    @property
    def alpha_(self) -> float:
        """The pseudo-count that is added: as given, or as chosen by alpha="auto"."""
        family: Any = self._check_fitted().naive.assumption.families[0]
        return float(family.alpha)

    def _matches_arguments(self, scorer: Scorer) -> bool:
        """Return whether `scorer` is an evidence regression with a valid C, document size and common weight."""
        if not isinstance(scorer, FittedModel) or scorer.account.learner != "evidence" or scorer.basis is None:
            return False
        settings = scorer.account.settings
        size, common = settings.get("size"), settings.get("common_trust")
        finite = isinstance(size, float) and 0 < size < math.inf
        finite = finite and isinstance(common, float) and math.isfinite(common)
        return finite and isinstance(settings.get("C"), float)

    def _write_state(self, section: Section) -> None:
        """Write the state; refuse if `words`, `presence` or `length` has changed since `fit`."""
        super()._write_state(section)
        read_as = self._choose_values(), self.length
        ngrams = None if self._words is None or self._words.tokens == "words" else self._words.span[1]
        have_changed = self._read_as != read_as or self._words not in (None, self._make_tokenizer(ngrams))
        self._write_tokenizer(section, "words, presence or length", have_changed)
        if self.words is None and ngrams is not None:
            section.put("ngrams", ngrams)

    def _read_state(self, section: Section, blocks: Sequence[Block]) -> None:
        """Check the arguments, set the tokenizer and `n_features_in_`; refuse blocks other than one of words."""
        with refuse_unsound_arguments(section):
            self._validate_params()
            ngrams = section.integer("ngrams", 1, 2) if section.has("ngrams") else None
            self._words = None if section.text("reader") == "" else self._make_tokenizer(ngrams)
        self._read_as = self._choose_values(), bool(self.length)
        if self._words is not None:
            self.n_features_in_ = texts.check_word_block(section, blocks, self._words)
            return
        if len(blocks) != 1 or blocks[0].kind != "counts":
            section.refuse("there should be one block of words, and nothing else")
        super()._read_state(section, blocks)


def _subtract_mean_of_others(weights: Array, k: int) -> Array:
    """Return row k of `weights`, which has a row for each class, even of two, less the mean of the other rows."""
    own = weights[k]
    return np.asarray(own - (weights.sum(axis=0) - own) / (len(weights) - 1))
