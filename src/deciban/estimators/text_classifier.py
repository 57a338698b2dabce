"""TextClassifier: documents by the words they have."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NoReturn, Self

from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from deciban._typing import Array
from deciban.errors import UndefinedError, unknown_class_error
from deciban.estimators import check_documents as texts
from deciban.estimators.calibration_mixin import CALIBRATE_CONSTRAINT
from deciban.estimators.class_arguments import PRIOR_NAMES, parse_prior
from deciban.estimators.generative_base import SHARED_CONSTRAINTS, make_generator
from deciban.estimators.text_base import TextBayes
from deciban.families.family import NO_LIKELIHOOD, ClassPrior
from deciban.families.marginal_likelihood import FALLBACK_ALPHA
from deciban.families.telltales import Telltale, telltales
from deciban.families.text_family import Event, Text
from deciban.families.word_selection import By
from deciban.generative import DRAWS, Assumption
from deciban.text import Words, sample_texts

EVENTS: dict[str, Event] = {
    "multinomial": "multinomial",
    "boolean": "multinomial",  # each word counts once per document
    "bernoulli": "bernoulli",
    "complement": "complement",
}


class TextClassifier(TextBayes):
    """Naive Bayes over documents: texts in a list, an array or a column of any kind of frame.

    `event` is the model of a document: counts of words (multinomial), the same with each word once (boolean), the
    presence of each word (bernoulli), or complement naive Bayes (complement; `norm` as in `ComplementNB`). `words` is
    the tokenizer, as `Words` or its arguments in a mapping. `alpha` is added to every count; "auto" is the
    pseudo-count with the largest marginal likelihood (`alpha_`).

    Words of fewer than `least` documents are dropped, and of the others all but the `most` most informative (`by`
    information or chi2). This is computed from the counts and may change at any time (`select`); so may `idf`: rare
    words count more. `weighting` cannot be computed from sums of counts: "tfidf" normalises each document to length
    one after idf, as scikit-learn does; "twcnb" is Rennie et al.'s complement model (2003). Such a model cannot learn
    more, forget or be merged. `calibrate` is the method by which `fit` calibrates probabilities, see `calibrated`.

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

    _free_parameters = frozenset({"n_jobs", "calibrate", "words", "encoding", "errors"})
    """Arguments in which two models may differ; tokenizers are compared separately."""

    _parameter_constraints: dict[str, list[Any]] = {
        "event": [StrOptions(set(EVENTS))],
        "words": [Words, Mapping, None],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "norm": ["boolean"],
        "idf": ["boolean"],
        "weighting": [StrOptions({"tfidf", "twcnb"}), None],
        "most": [Interval(Integral, 1, None, closed="left"), None],
        "by": [StrOptions({"information", "chi2"})],
        "least": [Interval(Real, 0, None, closed="left")],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", StrOptions(PRIOR_NAMES), None],
        "prior_alpha": SHARED_CONSTRAINTS["prior_alpha"],
        "encoding": [str],
        "errors": [StrOptions({"strict", "replace"})],
        "calibrate": CALIBRATE_CONSTRAINT,
        "n_jobs": SHARED_CONSTRAINTS["n_jobs"],
    }

    def __init__(
        self,
        *,
        event: str = "multinomial",
        words: Words | Mapping[str, Any] | None = None,
        alpha: float | str = 1.0,
        norm: bool = False,
        idf: bool = False,
        weighting: str | None = None,
        most: int | None = None,
        by: By = "information",
        least: float = 0,
        fit_prior: bool = True,
        class_prior: Any = None,
        prior_alpha: float = 1.0,
        encoding: str = "utf-8",
        errors: str = "strict",
        calibrate: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.event = event
        self.words = words
        self.alpha = alpha
        self.norm = norm
        self.idf = idf
        self.weighting = weighting
        self.most = most
        self.by = by
        self.least = least
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior_alpha = prior_alpha
        self.encoding = encoding
        self.errors = errors
        self.calibrate = calibrate
        self.n_jobs = n_jobs

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        if self.class_prior is None:
            prior = ClassPrior("empirical" if self.fit_prior else "uniform")
        else:
            prior = parse_prior(self.class_prior, self.prior_alpha, n_classes, scaled=True)
        return Assumption((self._family(),), prior, auto=isinstance(self.alpha, str))

    def _family(self) -> Text:
        texts.refuse_contradictions(self.event, self.weighting, self.idf, self.norm)
        if isinstance(self.alpha, str):
            texts.refuse_auto_alpha(self._words, self.weighting, self.idf)
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
        """Return n documents of words drawn from the model, in random order, and their classes."""
        self._check_fitted()
        self._require_counts("document to draw")
        texts.refuse_text_sampling(self._words)
        rng = make_generator(random_state)
        (rows,), codes = self._check_fitted().sample(n, rng)
        once = self._words.values == "presence"
        return sample_texts(rows, self.vocabulary_, once, rng), self.classes_[codes]

    def bayes_error(self, n_draws: int = DRAWS, random_state: Any = 0) -> float:
        """Return the least error of any rule if the model were true, by sampling."""
        self._check_fitted()
        self._require_counts("Bayes error")
        return super().bayes_error(n_draws, random_state)

    def _require_counts(self, what: str) -> None:
        if not self._check_fitted().assumption.probabilistic:
            raise UndefinedError(NO_LIKELIHOOD.format(what=what))
        given = "idf=True" if self.idf else None if self._weighting is None else f"weighting={self._weighting!r}"
        texts.refuse_sampling(self._words, given, what)

    def telltales(self, label: Any, n: int = 10) -> list[Telltale]:
        """Return the words with the strongest evidence for a class, by its lower bound summed over its documents."""
        part: Any = self.ledger_.parts[0]
        words = self.vocabulary_
        classes = self.classes_.tolist()
        if label not in classes:
            raise unknown_class_error(label, classes)
        return telltales(self._solved_family, part, classes.index(label), n, words)

    def select(self, k: int | None, by: By = "information", least: float | None = None) -> Self:
        """Keep the k most informative words (None: all) of those in `least` documents; the counts are unchanged."""
        ledger = self.ledger_
        with self._restore_on_error():
            self.most, self.by, self.least = k, by, self.least if least is None else least
            self._replace_ledger(ledger)
            self._scorer.solved  # noqa: B018  solved now, so that the first prediction need not wait
        return self

    def with_priors(self, priors: Any) -> Self:
        """Return a model with other class priors; a complement model has none in its score."""
        if not self._check_fitted().assumption.probabilistic:
            raise UndefinedError(NO_LIKELIHOOD.format(what="class prior in its score"))
        return super().with_priors(priors)

    @property
    def feature_count_(self) -> Array:
        """Σ w·x per class and word, K×V, computed on access."""
        part: Any = self.ledger_.parts[0]
        return part.occurrences.to_dense().total

    @property
    def feature_log_prob_(self) -> Array:
        """ln θ_kv, K×V, computed on access; 0 for words that are not kept."""
        part: Any = self.ledger_.parts[0]
        return self._solved_family.log_theta(part)

    def quadratic_form(self) -> NoReturn:
        """Raise UndefinedError: the score has no squares of words."""
        raise UndefinedError("the score of a document is linear in its words. Hint: linear_form()")
