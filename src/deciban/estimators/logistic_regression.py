"""LogisticRegression, with scikit-learn's arguments, and the base class of classifiers with fitted weights."""

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Hidden, StrOptions

from deciban._typing import Array
from deciban.engines import encode, is_on_device, is_sparse, is_tensor, match_codes, thread_count
from deciban.errors import DecibanWarning, InputError
from deciban.estimators import check_arguments as checks
from deciban.estimators.check_arguments import allow
from deciban.estimators.classifier_base import Classifier
from deciban.estimators.parameter_docs import document_estimator
from deciban.ledger import Block, Schema
from deciban.linear.device_fit import MAX_DEVICE_COLUMNS, MIN_DEVICE_ROWS
from deciban.linear.fitted_model import IMPOSSIBLE_BIAS, FittedModel
from deciban.linear.numeric_regression import LogisticSettings, Weights, fit_logistic_regression
from deciban.linear.penalty_choice import CHOICE_FOLDS
from deciban.linear.solvers.logistic_objective import as_scores
from deciban.scorer import Scorer
from deciban.validation.splits import StratifiedAssigner

SOLVERS = {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}


class FittedClassifier(Classifier):
    """A linear classifier with fitted weights: its weights, intercepts, scores and penalty."""

    max_iter: int
    tol: float
    _scorer: FittedModel

    _method: str
    """The name of the method in error messages."""

    _sought: str
    """The name of the parameters in error messages."""

    _instead: str
    """The estimators that can be fitted to rows of one class."""

    def _require_two_classes(self, codes: Any) -> None:
        """Raise InputError unless these are the codes of two classes or more."""
        present = np.unique(codes) if isinstance(codes, np.ndarray) else np.flatnonzero(codes.rows)
        if len(present) == 0:
            raise InputError(
                "every row has weight zero (sample_weight, class_weight), so there is nothing to learn from. "
                "Hint: weights above 0 for rows of two classes or more"
            )
        if len(present) < 2:
            raise InputError(
                f"{self._method} separates classes and needs rows of at least 2 classes; the data contains "
                f"only one class: {self.classes_.tolist()[present[0]]!r}. Hint: {self._instead} can learn one"
            )

    def _warn_if_not_converged(self) -> None:
        """Warn the caller of `fit` if the optimum is at infinity, or was not reached."""
        account = self._scorer.account
        if account.separable:
            text = (
                "the classes can be separated without error, so without a penalty the best weights are infinite; "
                "the search was stopped at finite ones, and the probabilities are close to 0 and 1. "
                "Hint: C=1.0, or C='auto', penalises the weights"
            )
            warnings.warn(text, DecibanWarning, stacklevel=3)
        elif not account.converged:
            text = (
                f"the search for {self._sought} was stopped after {account.n_iter} steps, before it had converged. "
                f"Hint: a larger max_iter than {self.max_iter}, or a larger tol than {self.tol:g}"
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    @property
    def coef_(self) -> Array:
        """w, K×d; for two classes 1×d, the weights of the log-odds of the second; read-only."""
        weights = as_scores(self._form.weights)[:]
        weights.flags.writeable = False  # the model scores by these very numbers, and by values derived from them
        return weights

    @property
    def intercept_(self) -> Array:
        """b, one for each row of `coef_`: the score where every feature is 0."""
        solved = self._check_fitted().solved
        return as_scores(solved.start(solved.log_prior) + self._form.complete_bias)

    @property
    def C_(self) -> float:
        """The C that was used: as given, or as chosen by C="auto"."""
        return float(self._check_fitted().account.settings["C"])

    @property
    def n_iter_(self) -> NDArray[np.int32]:
        """The number of iterations, as an array of one."""
        return np.array([self._check_fitted().account.n_iter], dtype=np.int32)

    @property
    def objective_(self) -> float:
        """The minimum of the objective: the loss and the penalty."""
        return self._check_fitted().account.objective

    @property
    def loss_(self) -> float:
        """−Σ w ln p(y|x) over the training rows."""
        return self._check_fitted().account.loss

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, w_k·x + b_k; for two classes the log-odds of the second alone.

        >>> from deciban import LogisticRegression
        >>> model = LogisticRegression(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> model.decision_function([[0.0], [3.0]]).round(2).tolist()
        [-1.44, 1.44]
        """
        scores = as_scores(self._score(X, "joint"), axis=1)
        return scores[:, 0] if scores.shape[1] == 1 else scores


@document_estimator
@dataclass(eq=False, repr=False)
class LogisticRegression(FittedClassifier):
    """Logistic regression: ln p(k|x) = w_k·x + b_k up to a term that all classes share, fitted to p(k|x) itself.

    The objective is scikit-learn's, Σ w_i ℓ(y_i, x_i) + (1−r)/(2C) Σ w² + r/C Σ abs(w), ℓ = −ln p(y|x), r = l1_ratio;
    C=∞ is without penalty. Two classes have one vector of weights, the log-odds of the second, more have one each.
    With `l1_ratio` above 0 the search may take ten times `max_iter` steps, as they are cheaper. NaN is a missing
    cell: it counts as its column's mean, without evidence.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Accepted for scikit-learn's sake; without effect.

    Examples
    --------
    >>> from deciban import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = LogisticRegression(C=1.0, tol=1e-8).fit(X, y)
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[0.958]], [-1.437])
    >>> model.predict_proba([[3.0], [float("nan")]]).round(3).tolist()  # a missing cell leaves the mean's even odds
    [[0.192, 0.808], [0.5, 0.5]]
    >>> model.explain([[3.0]]).evidence.round(2).tolist()  # decibans
    [[6.24]]
    """

    _method, _sought, _instead = "logistic regression", "weights", "GaussianNB and other generative estimators"

    penalty: str | None = field(
        default="deprecated", metadata=allow({"l1", "l2", "elasticnet"}, None, Hidden(StrOptions({"deprecated"})))
    )
    _: KW_ONLY
    C: float | str = field(default=1.0, metadata=allow("positive or infinite", "auto"))
    l1_ratio: float | None = field(default=0.0, metadata=allow("share", None))
    dual: bool = field(default=False, metadata=allow("boolean"))
    tol: float = field(default=1e-4, metadata=allow("non-negative"))
    fit_intercept: bool = field(default=True, metadata=allow("boolean"))
    intercept_scaling: float = field(default=1, metadata=allow("positive"))
    class_weight: Mapping[Any, float] | str | None = field(default=None, metadata=allow(dict, {"balanced"}, None))
    random_state: Any = field(default=None, metadata=allow("random_state"))
    solver: str = field(default="lbfgs", metadata=allow(SOLVERS))
    max_iter: int = field(default=100, metadata=allow("non-negative integer"))
    verbose: int = field(default=0, metadata=allow("verbose"))
    warm_start: bool = field(default=False, metadata=allow("boolean"))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))
    start: str = field(default="zero", metadata=allow({"zero", "bayes"}))
    missing: str = field(default="skip", metadata=allow("missing"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X (rows × features, dense or CSR) and labels y; `warm_start`: from where the last fit ended.

        >>> from deciban import LogisticRegression
        >>> model = LogisticRegression(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> model.coef_.round(3).tolist()
        [[0.958]]
        """
        with self._restore_on_error():
            self._validate_params()
            settings, before = self._make_settings(), vars(self).get("classes_")
            X, y = checks.check_rows(self, X, y, reset=True, on_device=self._can_fit_on_device(settings, X))
            weight = checks.check_weight(sample_weight, X)
            self.classes_, codes = encode(y)
            codes = match_codes(codes, X, len(self.classes_))
            given = checks.apply_class_weight(self.class_weight, self.classes_, codes, weight)
            X, codes, weight = checks.drop_weightless_rows(X, codes, given)
            self._require_two_classes(codes)
            warm = self._get_start_weights(before, X.shape[1]) if self.warm_start else None
            self._dtype = checks.choose_dtype(X)
            if is_sparse(X):
                X = X.astype(self._dtype, copy=False)
            elif not is_tensor(X):
                X = np.ascontiguousarray(X, dtype=self._dtype)
            fold = StratifiedAssigner(CHOICE_FOLDS).assign(codes) if settings.C == "auto" else None
            block = Block("moments", X.shape[1], checks.get_feature_names(self))
            with self._reword_errors(given):
                self._scorer = fit_logistic_regression(
                    Schema(tuple(self.classes_.tolist()), (block,)), X, codes, weight, settings,
                    threads=thread_count(self.n_jobs), fold=fold, warm=warm,
                )  # fmt: skip
        self._warn_if_not_converged()
        return self

    def _can_fit_on_device(self, settings: LogisticSettings, X: Any) -> bool:
        """Return whether rows on a device are fitted there: many, with an L2 penalty that is given."""
        if not is_on_device(X) or self.class_weight is not None or X.ndim != 2:
            return False
        if X.shape[0] < MIN_DEVICE_ROWS or X.shape[1] > MAX_DEVICE_COLUMNS:
            return False
        is_plain = settings.l1_ratio == 0 and settings.start == "zero"
        return is_plain and not isinstance(settings.C, str) and bool(np.isfinite(settings.C))

    def _make_settings(self) -> LogisticSettings:
        """Return the settings of the arguments, `penalty` in terms of C and `l1_ratio`."""
        C: Any = self.C
        r = self.l1_ratio or 0.0
        if self.penalty is None:
            if self.C != 1.0:
                warnings.warn(f"C={self.C!r} is ignored, since penalty=None", DecibanWarning, stacklevel=3)
            C = np.inf
        elif self.penalty in ("l1", "l2"):
            r = float(self.penalty == "l1")
        elif self.penalty == "elasticnet" and self.l1_ratio is None:
            raise InputError("penalty='elasticnet' needs its mixture. Hint: l1_ratio=0.5, between 0 (L2) and 1 (L1)")
        C = C if isinstance(C, str) else float(C)
        return LogisticSettings(
            C, float(r), self.fit_intercept, self.start, self.missing, float(self.tol), self.max_iter
        )

    def _get_start_weights(self, classes: NDArray[Any] | None, n_features: int) -> Weights | None:
        """Return the weights of the last fit, if it had the same classes and as many features."""
        if classes is None or "_scorer" not in vars(self) or not np.array_equal(classes, self.classes_):
            return None
        intercept = np.maximum(self.intercept_, IMPOSSIBLE_BIAS)  # −∞ for a class without rows
        return (self.coef_, intercept) if self.coef_.shape[1] == n_features else None

    def _matches_arguments(self, scorer: Scorer) -> bool:
        if not isinstance(scorer, FittedModel) or scorer.account.learner != "logistic":
            return False
        self._make_settings()
        return isinstance(scorer.account.settings.get("C"), float)

    @property
    def intercept_(self) -> Array:
        """b, one for each row of `coef_`: the score where every feature is 0."""
        return super().intercept_ if self.fit_intercept else np.zeros(len(self.coef_))
