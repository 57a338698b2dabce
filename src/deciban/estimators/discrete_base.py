"""Base classes of estimators of counts and levels: pseudo-counts, class priors, and scikit-learn's attributes."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from deciban._typing import Array
from deciban.errors import InputError
from deciban.estimators.class_arguments import PRIOR_NAMES, parse_prior
from deciban.estimators.generative_base import SHARED_CONSTRAINTS, GenerativeClassifier
from deciban.families.family import Alpha, ClassPrior, Family
from deciban.families.marginal_likelihood import FALLBACK_ALPHA
from deciban.generative import Assumption
from deciban.ledger import Counts, Ledger, Tallies

MIN_ALPHA = 1e-10
"""The pseudo-count that scikit-learn raises smaller ones to, unless `force_alpha`."""


class ClassCounts(GenerativeClassifier):
    """A generative estimator with the attributes of scikit-learn's count models, and its pseudo-count."""

    @property
    def class_count_(self) -> Array:
        """The weight of each class's rows."""
        return self.ledger_.rows

    @property
    def class_log_prior_(self) -> Array:
        """ln π_k."""
        with np.errstate(divide="ignore"):
            return np.log(self._check_fitted().solved.prior)

    @property
    def alpha_(self) -> Alpha:
        """The pseudo-count that is added: as given, or as chosen by alpha="auto"."""
        family: Any = self._check_fitted().assumption.families[0]
        alpha: Alpha = family.alpha
        return alpha


class DiscreteBayes(ClassCounts):
    """An estimator with scikit-learn's `alpha`, `force_alpha`, `fit_prior`, `class_prior`; `alpha` may be "auto"."""

    _parameter_constraints: dict[str, list[Any]] = {
        **SHARED_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"}), "array-like", Ledger],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", StrOptions(PRIOR_NAMES), None],
        "force_alpha": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        missing: str = "skip",
        prior_alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.missing = missing
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs

    def _family(self, alpha: Any, n_features: int) -> Family:
        raise AssertionError

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        if self.class_prior is None:
            prior = ClassPrior("empirical" if self.fit_prior else "uniform")
        else:
            prior = parse_prior(self.class_prior, self.prior_alpha, n_classes, scaled=True)
        if isinstance(self.alpha, Ledger):
            return Assumption((self._family(0.0, n_features),), prior, self.alpha, self.missing)
        if isinstance(self.alpha, str):
            return Assumption((self._family(FALLBACK_ALPHA, n_features),), prior, None, self.missing, auto=True)
        return Assumption((self._family(self._pseudo_count(n_features), n_features),), prior, None, self.missing)

    def _pseudo_count(self, n_features: int) -> Alpha:
        """Return alpha, checked, and raised to the smallest usable one unless forced."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim:
            if alpha.shape != (n_features,):
                raise InputError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got shape {alpha.shape} instead of ({n_features},)."
                )
            if not ((alpha >= 0) & np.isfinite(alpha)).all():
                raise InputError(f"All values in alpha must be greater than 0. Got {alpha.min():g}.")
        if not self.force_alpha and alpha.size and alpha.min() < MIN_ALPHA:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {MIN_ALPHA:.1e}. "
                f"Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=5,
            )
            alpha = np.maximum(alpha, MIN_ALPHA)
        return alpha if alpha.ndim else float(alpha)


class CountBayes(DiscreteBayes):
    """An estimator of counts per class and feature."""

    @property
    def feature_count_(self) -> Array:
        """Σ w·x per class and feature, K×d."""
        return get_dense_counts(self.ledger_).total

    @property
    def feature_log_prob_(self) -> Array:
        """The logarithm of each feature's probability in each class, K×d, computed on access."""
        model = self._check_fitted()
        family: Any = model.assumption.families[0]
        return family.log_theta(model.complete.parts[0])


def get_dense_counts(ledger: Ledger) -> Counts:
    """Return the only block of a ledger of counts, with zeros stored."""
    part: Any = ledger.parts[0]
    return part.to_dense() if isinstance(part, Tallies) else part


class LevelBayes(DiscreteBayes):
    """An estimator of categorical features, given as codes 0, 1, 2, …"""

    _hint = "levels are codes 0, 1, 2, …; sklearn.preprocessing.OrdinalEncoder makes them, NaN is missing"
    _parameter_constraints = {
        **DiscreteBayes._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"}), Ledger],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "unseen": [StrOptions({"ignore", "smooth", "error"})],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        unseen: str = "ignore",
        missing: str = "skip",
        prior_alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            fit_prior=fit_prior,
            class_prior=class_prior,
            missing=missing,
            prior_alpha=prior_alpha,
            n_jobs=n_jobs,
        )
        self.min_categories = min_categories
        self.unseen = unseen

    def _min_levels(self, n_features: int) -> tuple[int, ...] | None:
        if self.min_categories is None:
            return None
        min_levels = np.asarray(self.min_categories)
        if min_levels.dtype.kind not in "iu":
            raise InputError(f"'min_categories' should have integral type. Got {min_levels.dtype} instead.")
        if min_levels.shape not in ((), (n_features,)):
            raise InputError(
                f"'min_categories' should have shape ({n_features},) when an array-like is provided. "
                f"Got {min_levels.shape} instead."
            )
        return tuple(int(v) for v in np.broadcast_to(min_levels, (n_features,)))

    def _known_levels(self) -> NDArray[np.int64]:
        """Return V_j, the number of known levels of each feature."""
        raise AssertionError

    def _check_prediction_rows(self, X: Any) -> None:
        """Refuse a level beyond those learned, with unseen="error"."""
        if self.unseen != "error":
            return
        known = self._known_levels()
        highest = X.max(axis=0).toarray().ravel() if hasattr(X, "tocsr") else np.fmax.reduce(X, axis=0)
        unseen = np.flatnonzero(highest >= known)
        if unseen.size:
            j = int(unseen[0])
            names = getattr(self, "feature_names_in_", None)
            raise InputError(
                f"column {j if names is None else repr(names[j])} has level {highest[j]:g}, which was never learned "
                f"(known: 0 to {known[j] - 1}). Hint: unseen='ignore' or unseen='smooth'"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
