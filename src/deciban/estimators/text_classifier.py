"""TextClassifier: documents by the words they have."""

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import thread_count
from deciban.errors import DecibanWarning, InputError, UndefinedError
from deciban.estimators import text_base as texts
from deciban.estimators.check_arguments import allow, check_labels, drop_weightless_rows
from deciban.estimators.classifier_base import refuse_unsound_arguments
from deciban.estimators.discrete_estimators import SmoothedClassifier
from deciban.estimators.generative_base import make_generator
from deciban.estimators.parameter_docs import document_estimator
from deciban.families.marginal_likelihood import FALLBACK_ALPHA
from deciban.families.telltales import Telltale, telltales
from deciban.families.text_family import By, Event, Text, compute_idf
from deciban.generative import ERROR_SAMPLE_ROWS, Assumption, GenerativeModel
from deciban.ledger import Bags, Block, Ledger, Schema
from deciban.ledger.statistic import divide
from deciban.persistence import Section
from deciban.text import Documents, WordCounter, Words, build_word_matrix, count_columns, sample_texts
from deciban.text.words import PRESETS

MIN_CHOICE_DOCUMENTS = 200
"""The number of documents from which alpha="auto" is chosen by documents held out; with fewer, by the marginal
likelihood of their counts."""

SAME_WORDS = "Hint: fit with the same words=Words(...) and event"

EVENTS: dict[str, Event] = {
    "multinomial": "multinomial",
    "boolean": "multinomial",  # each word counts once per document
    "bernoulli": "bernoulli",
    "complement": "complement",
}


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class TextClassifier(texts.DocumentClassifier, SmoothedClassifier):
    """Naive Bayes over documents: texts in a list, an array or a column of any kind of frame.

    Words are selected by `least`, `most` and `by` from the counts, so that the selection may change at any time
    (`select`); so may `idf`. A `weighting` cannot be computed from sums of counts: such a model cannot learn more,
    forget or be merged. Both weight each document by idf, then normalise it to length one: "tfidf" as scikit-learn,
    "twcnb" as Rennie et al. (2003), ln(1 + f) · ln(n/df), whose scores are not log-probabilities and are calibrated
    by a temperature, unless `calibrate` says otherwise. alpha="auto" is chosen in `fit` by the log-loss of documents
    held out; by the marginal likelihood of the counts where there are few documents, or sums alone (`partial_fit`).

    Examples
    --------
    >>> from deciban import TextClassifier
    >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
    >>> model = TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["buy pills at noon", "cheap pills"]).tolist()
    ['ham', 'spam']
    >>> print(model.explain(["Lunch, or cheap pills?"]).text())
    spam rather than ham
      cheap               1×     +5.01 dB  Lunch, or [cheap] pills?
      pills               1×     +3.25 dB  Lunch, or cheap [pills]?
      lunch               1×     −2.78 dB  [Lunch], or cheap pills?
      prior                      +0.00 dB
      total                      +5.48 dB  (3.53 to 1)
    >>> [(each.word, round(each.decibans, 1)) for each in model.select(4).telltales("ham")]
    [('noon', 4.8), ('at', 4.8)]
    """

    _input_tags = {"string": True, "one_d_array": True, "two_d_array": False, "sparse": False}
    _free_parameters = frozenset({"n_jobs", "calibrate", "words", "encoding", "errors"})
    """Arguments in which two models may differ; tokenizers are compared separately."""

    _weights_documents = True
    """Whether documents to be scored are weighted too; with "twcnb" in files of earlier versions they are not."""

    event: str = field(default="multinomial", metadata=allow(set(EVENTS)))
    words: Words | Mapping[str, Any] | str | None = field(
        default=None, metadata=allow(Words, Mapping, set(PRESETS), None)
    )
    alpha: float | str = field(default=1.0, metadata=allow("non-negative", "auto"))
    norm: bool = field(default=False, metadata=allow("boolean"))
    idf: bool = field(default=False, metadata=allow("boolean"))
    weighting: str | None = field(default=None, metadata=allow({"tfidf", "twcnb"}, None))
    most: int | None = field(default=None, metadata=allow("positive integer", None))
    by: By = field(default="information", metadata=allow({"information", "chi2"}))
    least: float = field(default=0, metadata=allow("non-negative"))
    fit_prior: bool = field(default=True, metadata=allow("boolean"))
    class_prior: Any = field(default=None, metadata=allow("priors"))
    prior_alpha: float = field(default=1.0, metadata=allow("non-negative"))
    encoding: str = field(default="utf-8", metadata=allow(str))
    errors: str = field(default="strict", metadata=allow({"strict", "replace"}))
    calibrate: str | None = field(default=None, metadata=allow("calibrate"))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Documents, NDArray[Any]]:
        """Return documents and labels, checked; `reset` stores the tokenizer, else another one is refused."""
        words = texts.choose_tokenizer(self.words, self.event, self.weighting)
        if not reset:
            self._words.refuse_other(words, SAME_WORDS)
        documents = texts.check_texts(self, X)
        labels = check_labels(self, y, documents)
        if reset:
            self._words, self._weighting, self._weights_documents = words, self.weighting, True
        return documents, labels

    def _summarise(self, X: Documents, codes: Codes, weight: Array | None) -> Ledger:
        """Return the ledger of documents, as the weighting weights them; its vocabulary is theirs alone."""
        self._family()
        X, codes, weight = drop_weightless_rows(X, codes, weight)
        threads = thread_count(self.n_jobs)
        counter = WordCounter(self._words)
        counter.count(X, codes, weight, threads)
        vocabulary, bags = counter.bags(len(self.classes_))
        if self._weighting is not None:  # a second pass, since the idf follows from the counts of the first
            rows = build_word_matrix(self._words, vocabulary, X, threads)
            rows = texts.weight_rows_inplace(rows, self._weighting, self._compute_idf(bags))
            bags = texts.sum_rows_by_class(rows, codes, weight, bags.documents)
        block = Block("bags", count_columns(self._words, vocabulary), vocabulary, reading=self._words.reading)
        return Ledger(Schema(tuple(self.classes_.tolist()), (block,)), bags.weight[:, 0].copy(), (bags,))

    def _compute_idf(self, bags: Bags) -> Array:
        """Return the idf of each word: scikit-learn's, with "twcnb" ln(n/df), 0 for a word of no document."""
        if self._weighting != "twcnb":
            return compute_idf(bags)
        df = bags.documents.per_feature(bags.documents.total)
        return np.log(divide(bags.documents.weight.sum(), df, 1.0))

    def _calibration_method(self) -> str | None:
        """Return the method by which `fit` calibrates; "twcnb", whose scores are no logarithms, has a default."""
        if self.calibrate is None and self.weighting == "twcnb":
            return "temperature"
        return super()._calibration_method()

    def _choose_by_folds(self, X: Any, codes: Codes, weight: Array | None) -> None:
        """Choose alpha="auto" by documents held out, and replace the model by one with it, unless there are few."""
        X, codes, weight = drop_weightless_rows(X, codes, weight)
        if not isinstance(self.alpha, str) or len(codes) < MIN_CHOICE_DOCUMENTS:
            return
        from deciban.estimators.fold_estimators import choose_alpha

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)  # of documents without known words
            alpha = choose_alpha(self, X, codes, weight)
        if alpha is not None:
            assumption = replace(
                self._scorer.assumption, auto=False, families=(replace(self._family(), alpha=alpha),)
            )
            self._scorer = GenerativeModel(assumption, self.ledger_)

    def _calibrate(self, X: Any, y: Any, sample_weight: Any, method: str, folds: Any = 10) -> Any:
        if not isinstance(self.alpha, str):
            return super()._calibrate(X, y, sample_weight, method, folds)
        fixed = copy.copy(self)
        fixed.alpha = float(self._solved_family.alpha)  # the models of folds have the pseudo-count of all documents
        return fixed._calibrate(X, y, sample_weight, method, folds)

    def _store_ledger(self, ledger: Ledger, X: Any) -> None:
        """Replace the ledger, the number of words and what was computed from the old one."""
        self.n_features_in_ = ledger.schema.blocks[0].width
        self._idf = None
        super()._store_ledger(ledger, X)

    def _matrix(self, documents: Documents, threads: int) -> Any:
        """Return the matrix of known words that is scored: their values, with `idf` times their idf.

        With a `weighting` they are weighted as those that were learned, unless `_weights_documents` is False.
        """
        rows = build_word_matrix(self._words, self._known, documents, threads)
        if not self._solved_family.idf and (self._weighting is None or not self._weights_documents):
            return rows
        if self._idf is None:
            self._idf = self._compute_idf(self._bags)
        return texts.weight_rows_inplace(rows, self._weighting, self._idf)

    def _check_input(self, X: Any) -> Documents:
        """Return the documents to predict, checked."""
        return texts.check_texts(self, X)

    @property
    def _event(self) -> str:
        """The event model that was solved: "multinomial" for boolean, "complement" for the weighting "twcnb"."""
        return self._solved_family.event

    @property
    def _bags(self) -> Any:
        """The counts of words of the documents that were learned."""
        return self.ledger_.parts[0]

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        """Return the family of texts with the class prior; `auto` if the pseudo-count is to be chosen."""
        return Assumption((self._family(),), self._make_prior(n_classes), auto=isinstance(self.alpha, str))

    def _family(self) -> Text:
        """Return the family of the constructor's arguments, checked."""
        texts.refuse_contradictions(self.event, self.weighting, self.idf, self.norm)
        argument = texts.describe_weighting(self._words, self.weighting, self.idf)
        if isinstance(self.alpha, str) and argument:
            raise InputError(
                f"alpha='auto' chooses the pseudo-count under which the counts of the words are most probable, and "
                f"with {argument} they are weights, not counts. Hint: alpha as a number, such as 0.1"
            )
        rennie = self.weighting == "twcnb"
        return Text(
            self._words.reading,
            "complement" if rennie else EVENTS[self.event],
            FALLBACK_ALPHA if isinstance(self.alpha, str) else float(self.alpha),
            bool(self.norm) or rennie,
            float(self.least),
            None if self.most is None else int(self.most),
            self.by,
            bool(self.idf),
        )

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[list[str], NDArray[Any]]:  # type: ignore[override]
        """Return n documents of words drawn from the model, in random order, and their classes.

        >>> from deciban import TextClassifier
        >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
        >>> model = TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
        >>> documents, classes = model.sample(2, random_state=0)
        >>> len(documents), len(classes)
        (2, 2)
        """
        self._require_counts("document to draw")
        if self._words.unwritable:
            hint = "Hint: a model of Words(tokens='words', ngrams=1)"
            raise UndefinedError(f"no documents can be drawn: {self._words.unwritable}. {hint}")
        rng = make_generator(random_state)
        (rows,), codes = self._check_fitted().sample(n, rng)
        once = self._words.values == "presence"
        return sample_texts(rows, self.vocabulary_, once, rng), self.classes_[codes]

    def bayes_error(self, n_draws: int = ERROR_SAMPLE_ROWS, random_state: Any = 0) -> float:
        """Return the least error of any rule if the model were true, by sampling.

        >>> from deciban import TextClassifier
        >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
        >>> model = TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
        >>> 0 <= model.bayes_error(n_draws=100) <= 0.5
        True
        """
        self._require_counts("Bayes error")
        return super().bayes_error(n_draws, random_state)

    def _require_counts(self, what: str) -> None:
        """Refuse models whose score is not a likelihood, or in which values of words are not whole numbers."""
        self._check_fitted().require_density(what)
        argument = texts.describe_weighting(self._words, self._weighting, self.idf)
        if argument:
            raise UndefinedError(
                f"with {argument} the values of words are not whole numbers, so there is no {what}. "
                f"Hint: a model of counts has one"
            )

    def telltales(self, label: Any, n: int = 10) -> list[Telltale]:
        """Return the n words with the strongest evidence for a class, by its lower bound summed over its documents.

        >>> from deciban import TextClassifier
        >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
        >>> model = TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
        >>> [(each.word, round(each.decibans, 1)) for each in model.telltales("spam", 2)]
        [('cheap', 5.0), ('buy', 5.0)]
        """
        part, words = self._bags, self.vocabulary_
        return telltales(self._solved_family, part, self._class_index(label), n, words)

    def select(self, k: int | None, by: By = "information", least: float | None = None) -> Self:
        """Keep the k most informative words (None: all) of those in `least` documents; the counts are unchanged.

        >>> from deciban import TextClassifier
        >>> mail = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon"]
        >>> model = TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
        >>> [each.word for each in model.select(2).telltales("ham")]
        ['noon']
        """
        ledger = self.ledger_
        with self._restore_on_error():
            self.most, self.by, self.least = k, by, self.least if least is None else least
            self._replace_ledger(ledger)
            self._scorer.solved  # noqa: B018  solved now, so that the first prediction need not wait
        return self

    @property
    def feature_count_(self) -> Array:
        """Σ w·x per class and word, K×V, computed on access."""
        return self._bags.occurrences.to_dense().total

    @property
    def feature_log_prob_(self) -> Array:
        """ln θ_kv, K×V, computed on access; 0 for words that are not kept."""
        return self._solved_family.log_theta(self._bags)

    def _require_additive(self, verb: str) -> None:
        """Refuse a model with a `weighting`, whose sums cannot be added or subtracted, as `verb` would."""
        weighting = self.weighting or self._weighting
        if weighting is not None:
            raise UndefinedError(
                f"weighting={weighting!r} cannot {verb}: every document was weighted by the idf of all documents "
                f"together and then normalised to length one, so the sums do not determine those of fewer or more "
                f"documents. Hint: idf=True, which is applied when solving, can; or fit again with all documents."
            )

    def _combine(self, other: Self, operation: Callable[[Ledger, Ledger], Ledger]) -> Ledger:
        """Return the combined ledger of two models; refuse one of another tokenizer."""
        if isinstance(other, TextClassifier) and self.event == other.event:
            self._check_fitted(), other._check_fitted()
            self._words.refuse_other(other._words, SAME_WORDS)
        return super()._combine(other, operation)

    def _write_state(self, section: Section) -> None:
        """Write the fingerprint of the tokenizer; refuse if words, event or weighting were changed after fitting."""
        words = texts.choose_tokenizer(self.words, self.event, self.weighting)
        have_changed = self.weighting != self._weighting or words != self._words
        self._write_tokenizer(section, "words, event or weighting", have_changed)
        if self._weighting == "twcnb":
            section.put("weights_documents", self._weights_documents)

    def _read_state(self, section: Section, blocks: Sequence[Block]) -> None:
        """Set tokenizer and weighting by the arguments that were read, and check the block of words against them."""
        with refuse_unsound_arguments(section):
            self._validate_params()
            self._words = texts.choose_tokenizer(self.words, self.event, self.weighting)
            self._weighting = self.weighting
        has_flag = section.has("weights_documents")
        self._weights_documents = section.flag("weights_documents") if has_flag else self.weighting != "twcnb"
        self.n_features_in_ = texts.check_word_block(section, blocks, self._words)
