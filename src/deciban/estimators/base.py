"""The one base of all facades: fit, predict, explain, and what follows from the ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from deciban.belief import DRAWS, Assumption, Belief, learn
from deciban.engines import FEW_ROWS, BadValue, encode, encode_known, thread_count
from deciban.errors import InputError
from deciban.estimators.algebra import Algebra
from deciban.estimators.honest import Honest
from deciban.estimators.rows import checked_rows, checked_weight, checked_X, declared, without_weightless
from deciban.estimators.words import worded
from deciban.files import Section
from deciban.ledger import Block, Ledger
from deciban.ledger.statistic import Array
from deciban.scores import Boundary, Conic, Explanation
from deciban.scores.calibration import warn_dropped
from deciban.scores.decision import REJECTED, Costs, Thresholds, labelled, rule_of
from deciban.scores.posterior import Finish

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "missing": [StrOptions({"skip", "error"})],
    "prior_alpha": [Interval(Real, 0, None, closed="left")],
    "n_jobs": [None, Interval(Integral, None, None, closed="neither")],
}
"""Constraints on the arguments that every facade has."""


class Bayes(Algebra, Honest, ClassifierMixin, BaseEstimator):
    """A generative classifier: a ledger of the data, solved under an assumption."""

    classes_: NDArray[Any]
    n_features_in_: int
    _belief: Belief

    _proposal = "leave such rows out, or replace the values"

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        """The families and the prior that the constructor's arguments describe, checked."""
        raise AssertionError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X (rows × features, dense or CSR) and labels y, forgetting what was learned before."""
        with self._unchanged_if_refused():
            self._validate_params()
            given = X, y, sample_weight
            X, y = self._rows(X, y, reset=True)
            weight = checked_weight(sample_weight, X)
            if weight is not None and not weight.any():
                raise InputError("sample_weight is zero in every row, so there is nothing to learn from")
            self.classes_, codes = encode(y)
            ledger = self._summary(X, codes, weight)
            self.__dict__.pop("_belief", None)  # forgotten without a word
            self._take(ledger, X)
            self._belief.solved  # noqa: B018  solved now, so that the first prediction need not wait
            method = getattr(self, "calibrate", None)
            if method is not None:
                self._belief = self._mended(*given, method)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; the first call names all classes. Any split of the data gives the same model."""
        with self._unchanged_if_refused():
            self._validate_params()
            self._need_sums("learn more")
            known = declared(self, classes)
            first = not hasattr(self, "_belief")
            self._say_uncalibrated()
            X, y = self._rows(X, y, reset=first)
            weight = checked_weight(sample_weight, X)
            self.classes_ = known
            hint = "name every class on the first call, partial_fit(X, y, classes=...)"
            ledger = self._summary(X, encode_known(y, known, hint), weight)
            self._take(ledger if first else self.ledger_ + ledger, X if first else None)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows: the model becomes what it would be had they never been learned.

        Whether these very rows were learned cannot be told from sums; what is plainly not there is refused,
        and nothing changes.
        """
        check_is_fitted(self)
        self._need_sums("forget")
        with self._unchanged_if_refused():
            X, y = self._rows(X, y, reset=False)
            weight = checked_weight(sample_weight, X)
            self._take(self.ledger_ - self._summary(X, encode_known(y, self.classes_), weight))
        return self

    def _rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """X and y, checked; `reset`: what is told of the columns is learned anew."""
        return checked_rows(self, X, y, reset=reset)

    def _summary(self, X: Any, codes: NDArray[np.int32], weight: Array | None) -> Ledger:
        """The ledger of checked rows."""
        X, codes, weight = without_weightless(X, codes, weight)
        assumption = self._assumption(X.shape[1], len(self.classes_))
        names = getattr(self, "feature_names_in_", None)
        named = None if names is None else tuple(str(name) for name in names)
        with self._worded():
            return learn(assumption, self.classes_.tolist(), [named], [X], codes, weight, thread_count(self.n_jobs))

    def _take(self, ledger: Ledger, X: Any = None) -> None:
        """Go on with another ledger; `X` is given where the kind of number is to be remembered."""
        self._validate_params()
        if X is not None:
            self._dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        before = vars(self).get("_belief")
        self._belief = Belief(self._assumption(self.n_features_in_, len(self.classes_)), ledger)
        if before is not None:
            warn_dropped(before.calibration, "Hint: calibrated(X, y) with all rows fits another")

    @contextmanager
    def _unchanged_if_refused(self) -> Iterator[None]:
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    @contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except BadValue as bad:
            raise self._refusal(bad) from None

    def _refusal(self, bad: BadValue) -> InputError:
        return worded(bad, type(self).__name__, getattr(self, "feature_names_in_", None), self._proposal)

    @property
    def ledger_(self) -> Ledger:
        """What was learned: counts or moments per class, and the schema that says of what."""
        return self._fitted().ledger

    @property
    def n_parameters_(self) -> int:
        """How many numbers the model estimates, the class prior included."""
        return self._fitted().n_parameters

    def _fitted(self) -> Belief:
        try:
            return self._belief
        except AttributeError:
            check_is_fitted(self)
            raise

    def _scores(self, X: Any, wanted: Finish) -> NDArray[Any]:
        model = self._fitted()
        X = checked_X(self, X)
        self._refuse_question(X)
        threads = 1 if X.shape[0] <= FEW_ROWS else thread_count(self.n_jobs)
        try:
            return model.scores((X,), wanted, threads)
        except BadValue as bad:
            raise self._refusal(bad) from None

    def _refuse_question(self, X: Any) -> None:
        """What a facade will not be asked about, beyond what its family refuses."""

    def predict(
        self,
        X: Any,
        *,
        costs: Costs | None = None,
        reject: float | None = None,
        thresholds: Thresholds | None = None,
        reject_novel: float | None = None,
    ) -> NDArray[Any]:
        """The most probable class of each row; or what is expected to cost least, see `Decision`.

        `costs[(truth, called)]` is what a call costs, `reject` what it costs not to decide, `thresholds` from which
        probability on a class is called, `reject_novel` the share of usual rows that may be taken for novel. A row
        that is undecided or novel is None.
        """
        self._fitted()
        rule = rule_of(self.classes_, costs, reject, thresholds)
        codes = self._scores(X, "winner") if rule is None else rule.apply(self._scores(X, "posterior"))
        if reject_novel is not None:
            codes = np.where(self._novel(X, reject_novel), REJECTED, codes)
        return labelled(self.classes_, codes)

    def predict_proba(self, X: Any) -> Array:
        """p(k|x) of each row and class, in the order of `classes_`."""
        return self._scores(X, "posterior")

    def predict_log_proba(self, X: Any) -> Array:
        """ln p(k|x)."""
        return self._scores(X, "log_posterior")

    def predict_joint_log_proba(self, X: Any) -> Array:
        """ln p(x, k) = ln π_k + ln p(x|k), before normalising."""
        return self._scores(X, "joint")

    def score_samples(self, X: Any) -> Array:
        """ln p(x) = ln Σ_k π_k p(x|k): low for rows unlike anything learned."""
        return self._scores(X, "density")

    def log_likelihood(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Σ ln p(x, y) over these rows; without arguments over the rows learned, from the ledger alone."""
        model = self._fitted()
        if X is None and y is None:
            return model.training_log_likelihood()
        X, y = self._rows(X, y, reset=False)
        weight = checked_weight(sample_weight, X)
        X, codes, weight = without_weightless(X, encode_known(y, self.classes_), weight)
        self._refuse_question(X)
        with self._worded():
            return model.log_likelihood([X], codes, weight, thread_count(self.n_jobs))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """n rows drawn from the model, and their classes."""
        (X,), codes = self._fitted().sample(n, generator(random_state))
        return X, self.classes_[codes]

    def bayes_error(self, n_draws: int = DRAWS, random_state: Any = 0) -> float:
        """The least error any rule could have if the model were true; exact for small tables, else by drawing."""
        return self._fitted().bayes_error(n_draws, generator(random_state), thread_count(self.n_jobs))

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> Explanation:
        """The evidence of each feature in decibans, for the winner against the runner-up or for two given classes."""
        model = self._fitted()
        X = checked_X(self, X)
        self._refuse_question(X)
        pair = None if classes is None else self._pair(classes)
        with self._worded():
            return model.explain([X], pair, self.classes_, thread_count(self.n_jobs))

    def _pair(self, classes: tuple[Any, Any]) -> tuple[int, int]:
        try:
            first, second = classes
        except (TypeError, ValueError):
            raise InputError(f"classes must name two classes, (for, against), not {classes!r}") from None
        k, l = encode_known(np.asarray([first, second]), self.classes_)
        if k == l:
            raise InputError(f"classes must name two different classes, not {first!r} twice")
        return int(k), int(l)

    def linear_form(self) -> Boundary:
        """score_k(x) = weights_k · x + bias_k; for two classes the log-odds of the second are w · x + b.

        Up to what all classes share. For `BernoulliNB` x is the indicator [value > binarize].
        """
        return self._fitted().boundary()

    def quadratic_form(self) -> Conic:
        """score_k(x) = xᵀ A_k x + weights_k · x + bias_k."""
        return self._fitted().conic()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; `deciban.load` reads it."""
        from deciban.estimators.saved import save

        save(self, path)

    def _write(self, section: Section) -> None:
        """Add to a model file what belief, arguments and classes do not tell."""
        section.put("named", hasattr(self, "feature_names_in_"))

    def _read(self, section: Section, blocks: Sequence[Block]) -> None:
        """What `_write` wrote, and the features of the ledger's blocks."""
        if len(blocks) != 1:
            section.refuse(f"{type(self).__name__} has one block of features, and this file {len(blocks)}")
        self.n_features_in_ = blocks[0].width
        if section.flag("named"):
            if blocks[0].names is None:
                section.refuse("the features are said to have names, and have none")
            self.feature_names_in_ = np.array(blocks[0].names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "skip"
        tags.classifier_tags.poor_score = True
        return tags


def generator(random_state: Any) -> np.random.Generator:
    """A source of random numbers from a seed, scikit-learn's RandomState, or a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1))
    return np.random.default_rng(random_state)
