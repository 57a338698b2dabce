"""The base class of generative estimators, which learn by adding ledgers."""

import copy
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from deciban._typing import Array, Codes
from deciban.engines import encode, encode_known, is_solved_late, is_tensor, match_codes, thread_count, to_host
from deciban.errors import DecibanWarning, InputError, SchemaError, warn_caller
from deciban.estimators import check_arguments as checks
from deciban.estimators.classifier_base import Classifier
from deciban.generative import ERROR_SAMPLE_ROWS, Assumption, GenerativeModel, summarise_rows
from deciban.ledger import Ledger
from deciban.persistence.family_sections import write_family
from deciban.scorer import Scorer
from deciban.scores.calibration import Calibration, keep_calibration

MIN_CALIBRATED_ROWS = 50
"""The number of rows from which a model is calibrated though `calibrate` does not say so."""


class GenerativeClassifier(Classifier):
    """A generative classifier: a ledger of the data, solved under an assumption.

    Models can be added: `a + b`, `a - b`, `a * f` return new models; `merge` and `decay` change the model.
    """

    _scorer: GenerativeModel
    _prior_name = "class_prior"
    _free_parameters = frozenset({"n_jobs"})
    """Arguments in which two models that are added may differ."""

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        """Return the families and the prior of the constructor's arguments, checked."""
        raise AssertionError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X (rows × features, dense or CSR) and labels y, forgetting what was learned before.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> model.classes_.tolist(), model.class_count_.tolist()
        (['ill', 'well'], [1.0, 1.0])
        """
        with self._restore_on_error():
            self._validate_params()
            given = X, y, sample_weight
            X, y = self._check_rows(X, y, reset=True)
            weight = checks.check_weight(sample_weight, X, some_positive=True)
            self.classes_, codes = encode(y)
            ledger = self._summarise(X, codes, weight)
            self.__dict__.pop("_scorer", None)  # replaced without a warning
            self._choose_settings(ledger, X, codes, weight)
            self._store_ledger(ledger, X)
            self._choose_by_folds(X, codes, weight)
            if not is_solved_late(X):
                self._scorer.solved  # noqa: B018  solved now, so that the first prediction need not wait
            method, is_asked = self._calibration_method(), getattr(self, "calibrate", None) is not None
            if method is not None and (is_asked or len(codes) >= MIN_CALIBRATED_ROWS):
                self._scorer = self._calibrate(*given, method)
        return self

    def _choose_by_folds(self, X: Any, codes: NDArray[np.int32], weight: Array | None) -> None:
        """Replace `_scorer`, in `fit`, by one with settings that rows held out choose; few estimators have any."""

    def _calibration_method(self) -> str | None:
        """Return the method by which `fit` calibrates; None: not at all."""
        method = getattr(self, "calibrate", None)
        return None if method == "none" else method

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; the first call names all classes. Any split of the data gives the same model.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().partial_fit([[1, 0]], ["ill"], classes=["ill", "well"])
        >>> model.partial_fit([[0, 1], [0, 1]], ["well", "well"]).class_count_.tolist()
        [1.0, 2.0]
        """
        with self._restore_on_error():
            self._validate_params()
            self._require_additive("learn more")
            known = checks.check_declared_classes(self, classes)
            first = not hasattr(self, "_scorer")
            calibrate = self._calibration_method()
            if calibrate is not None and first:  # one batch does not suffice to calibrate a model of all rows
                warn_caller(
                    f"calibrate={calibrate!r} is for fit(X, y), which sees all rows; partial_fit leaves the "
                    f"probabilities as they are. Hint: calibrate=None, or calibrated(X, y)"
                )
            X, y = self._check_rows(X, y, reset=first)
            weight = checks.check_weight(sample_weight, X)
            self.classes_ = known
            hint = "name every class on the first call, partial_fit(X, y, classes=...)"
            ledger = self._summarise(X, encode_known(y, known, hint), weight)
            self._replace_ledger(ledger if first else self.ledger_ + ledger, X if first else None)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None, exact: bool = False) -> Self:
        """Unlearn rows: the model becomes the one that it would be had they never been learned.

        Whether these very rows were learned cannot be known from sums; rows that cannot have been are refused,
        and nothing changes. A calibration stays, in which the rows had a part; `exact` drops it.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1], [1, 1]], ["ill", "well", "ill"])
        >>> model.forget([[1, 1]], ["ill"]).class_count_.tolist()
        [1.0, 1.0]
        """
        check_is_fitted(self)
        self._require_additive("forget")
        with self._restore_on_error():
            self._replace_ledger(self.ledger_ - self._summarise(*self._check_more_rows(X, y, sample_weight)))
            if exact:
                self._scorer = self._scorer.with_maps(calibration=None)
        return self

    def merge(self, other: Self) -> Self:
        """Add the ledger of another model.

        >>> from deciban import BernoulliNB
        >>> north = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> south = BernoulliNB().fit([[1, 1], [0, 1]], ["ill", "well"])
        >>> north.merge(south).class_count_.tolist()
        [2.0, 2.0]
        """
        self._replace_ledger(self._combine(other, operator.add))
        self._keep_calibration(self.calibration_, other.calibration_)
        return self

    def decay(self, factor: float) -> Self:
        """Multiply the weight of all rows learned so far by a factor.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> model.decay(0.5).class_count_.tolist()
        [0.5, 0.5]
        """
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            raise InputError(f"a model decays by a finite factor ≥ 0, not by {factor!r}")
        self._require_additive("decay")
        self._replace_ledger(self.ledger_ * factor)
        return self

    def __add__(self, other: Self) -> Self:
        return copy.copy(self).merge(other) if type(self) is type(other) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return self._copy(self._combine(other, operator.sub)) if type(self) is type(other) else NotImplemented

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        self._require_additive("scale")
        return self._copy(self.ledger_ * factor)

    __rmul__ = __mul__

    def with_priors(self, priors: Any) -> Self:
        """Return a model with other class priors: an array in the order of `classes_`, a mapping, or a name.

        A complement model has no class prior in its score: UndefinedError.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> rare = model.with_priors({"ill": 0.01, "well": 0.99})
        >>> model.predict([[1, 0]]).tolist(), rare.predict([[1, 0]]).tolist()
        (['ill'], ['well'])
        """
        ledger = self.ledger_
        self._scorer.require_density("class prior in its score")
        if isinstance(priors, Mapping):
            labels = self.classes_.tolist()
            unknown = [label for label in priors if label not in labels]
            if unknown:
                raise InputError(f"a prior is given for {unknown[0]!r}, which is none of the classes {self.classes_}")
            absent = [label for label in labels if label not in priors]
            if absent:
                raise InputError(f"no prior is given for class {absent[0]!r}. Hint: name every class")
            priors = [priors[label] for label in labels]
        if not isinstance(priors, str) and priors is not None and not np.isclose(np.sum(priors), 1.0):
            raise InputError(f"The sum of the priors should be 1. Got {np.sum(priors):g}.")
        new = copy.copy(self)
        setattr(new, self._prior_name, priors)
        before = new.__dict__.pop("_scorer")
        new._replace_ledger(ledger)
        new._scorer = new._scorer.with_maps(calibration=before.calibration, novelty=before.novelty)
        log_prior = new._scorer.solved.log_prior  # an unusable prior is refused here, not at the first prediction
        if before.calibration is not None:
            before.calibration.shift(log_prior)
        return new

    def _combine(self, other: Self, operation: Callable[[Ledger, Ledger], Ledger]) -> Ledger:
        """Combine the ledgers of two models; refuse models of different types, arguments or classes."""
        if type(self) is not type(other):
            raise SchemaError(f"{type(self).__name__} cannot be combined with {type(other).__name__}")
        ledger, other_ledger = self.ledger_, other.ledger_
        self._require_additive("combine")
        own, others = self.get_params(), other.get_params()
        for name in sorted(own.keys() - self._free_parameters):
            if not _are_equal(own[name], others[name]):
                raise SchemaError(
                    f"the two models differ in {name}: {own[name]!r} and {others[name]!r}. "
                    f"Hint: set_params({name}=...) on one of them and fit it again"
                )
        if not np.array_equal(self.classes_, other.classes_):
            raise SchemaError(
                f"the two models have different classes: {self.classes_.tolist()} and {other.classes_.tolist()}. "
                f"Hint: name all classes in both, partial_fit(X, y, classes=...)"
            )
        return operation(ledger, other_ledger)

    def _require_additive(self, verb: str) -> None:
        """Refuse models whose ledgers cannot be added; the ledgers of nearly all estimators can."""

    def _choose_settings(self, ledger: Ledger, X: Any, codes: Codes, weight: Array | None) -> None:
        """Choose, before `fit` solves the ledger, settings that the arguments leave open; few estimators have any."""

    def _copy(self, ledger: Ledger) -> Self:
        """Return a copy of the estimator with another ledger."""
        new = copy.copy(self)
        new._replace_ledger(ledger)
        return new

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """Return X and y, checked; `reset`: the names and number of the columns are set."""
        return checks.check_rows(self, X, y, reset=reset, on_device=True)

    def _check_more_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Codes, Array | None]:
        """Return more rows like those that were learned, the codes of their classes, and their weights, checked."""
        X, y = self._check_rows(X, y, reset=False)
        weight = checks.check_weight(sample_weight, X)
        return X, encode_known(y, self.classes_), weight

    def _summarise(self, X: Any, codes: NDArray[np.int32], weight: Array | None) -> Ledger:
        """Return the ledger of checked rows."""
        codes, given = match_codes(codes, X, len(self.classes_)), weight
        X, codes, weight = checks.drop_weightless_rows(X, codes, given)
        assumption = self._assumption(X.shape[1], len(self.classes_))
        classes, threads = self.classes_.tolist(), 1 if is_tensor(X) else thread_count(self.n_jobs)
        with self._reword_errors(given):
            return summarise_rows(assumption, classes, [checks.get_feature_names(self)], [X], codes, weight, threads)

    def _replace_ledger(self, ledger: Ledger, X: Any = None) -> None:
        """Check the arguments and replace the ledger; `X` is given where its dtype is to be stored."""
        self._validate_params()
        self._store_ledger(ledger, X)

    def _store_ledger(self, ledger: Ledger, X: Any) -> None:
        """Replace the ledger, of arguments that were checked; a calibration stays."""
        if X is not None:
            self._dtype = checks.choose_dtype(X)
        before = vars(self).get("_scorer")
        self._scorer = GenerativeModel(self._assumption(self.n_features_in_, len(self.classes_)), ledger)
        if before is not None and before.calibration is not None:
            self._keep_calibration(before.calibration)

    def _keep_calibration(self, *found: Calibration | None) -> None:
        """Give the model the calibration, of those of models that it was made of, that was fitted on more rows."""
        classes, assumption = self.ledger_.schema.classes, self._scorer.assumption
        log_prior = assumption.solve_log_prior(self._scorer.complete.rows)
        kept = keep_calibration([(each, classes) for each in found], classes, log_prior)
        self._scorer = self._scorer.with_maps(calibration=kept)

    def _matches_arguments(self, scorer: Scorer) -> bool:
        """Return whether the families are those of the arguments; these must be valid in a file, too."""
        if not isinstance(scorer, GenerativeModel):
            return False
        assumption = self._assumption(self.n_features_in_, len(self.classes_))
        for family, block in zip(assumption.families, scorer.outline.blocks):
            write_family(family, block.width)
        return [type(f) for f in assumption.families] == [type(f) for f in scorer.assumption.families]

    @property
    def ledger_(self) -> Ledger:
        """The sufficient statistics: counts or moments per class, with the schema of their features."""
        return self._check_fitted().ledger

    @property
    def class_count_(self) -> Array:
        """The weight of each class's rows."""
        return self.ledger_.rows

    @property
    def _solved_family(self) -> Any:
        """The family of the only block of features, with the pseudo-count that was chosen."""
        return self._check_fitted().assumption.families[0]

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return ln p(x, k) = ln π_k + ln p(x|k), before normalising.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> model.predict_joint_log_proba([[1, 0]]).round(3).tolist()
        [[-1.504, -2.89]]
        """
        return self._score(X, "joint")

    def score_samples(self, X: Any) -> Array:
        """Return ln p(x) = ln Σ_k π_k p(x|k): low for rows unlike all that were learned.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> model.score_samples([[1, 0], [1, 1]]).round(3).tolist()
        [-1.281, -1.504]
        """
        return self._score(X, "density")

    def log_likelihood(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return Σ ln p(x, y) over these rows; without arguments over the training rows, from the ledger alone.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> round(model.log_likelihood([[1, 0]], ["ill"]), 3), round(model.log_likelihood(), 3)
        (-1.504, -3.008)
        """
        model = self._check_fitted()
        if X is None and y is None:
            return model.training_log_likelihood()
        model.require_density("likelihood")
        X, y, sample_weight = to_host(X), to_host(y), to_host(sample_weight)
        X, codes, weight = checks.drop_weightless_rows(*self._check_more_rows(X, y, sample_weight))
        if not len(codes):
            return 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)  # words and levels that are not known have a likelihood
            own = self._score_rows(X, "joint")[np.arange(len(codes)), codes]
        return float(own.sum() if weight is None else np.dot(own, weight))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return n rows drawn from the model, and their classes.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> X, y = model.sample(3, random_state=0)
        >>> X.shape, y.shape
        ((3, 2), (3,))
        """
        (X,), codes = self._check_fitted().sample(n, make_generator(random_state))
        return X, self.classes_[codes]

    def bayes_error(self, n_draws: int = ERROR_SAMPLE_ROWS, random_state: Any = 0) -> float:
        """Return the least error of any rule if the model were true; exact for small tables, else by sampling.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> round(model.bayes_error(), 3)
        0.333
        """
        return self._check_fitted().bayes_error(n_draws, make_generator(random_state), thread_count(self.n_jobs))


def _are_equal(a: Any, b: Any) -> bool:
    """Return whether two arguments of a constructor are equal: numbers and arrays element by element."""
    if isinstance(a, Ledger) or isinstance(b, Ledger) or a is None or b is None or isinstance(a, str):
        return type(a) is type(b) and bool(a == b)
    return np.array_equal(np.asarray(a), np.asarray(b))


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a random generator from a seed, scikit-learn's RandomState, or a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1))
    return np.random.default_rng(random_state)
