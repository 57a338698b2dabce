"""What the facades of counts and levels share: pseudo-counts, class priors, and scikit-learn's attributes."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from deciban._typing import Array
from deciban.errors import InputError
from deciban.estimators.class_prior_arguments import PRIOR_NAMES, parse_prior
from deciban.estimators.generative_base import SHARED_CONSTRAINTS, Bayes
from deciban.families.family import Alpha, ClassPrior, Family
from deciban.families.marginal_likelihood import FALLBACK
from deciban.generative import Assumption
from deciban.ledger import Counts, Ledger, Tallies

LEAST_ALPHA = 1e-10
"""What scikit-learn raises a smaller pseudo-count to, unless it is forced."""


class ClassCounts(Bayes):
    """A facade that tells the classes' weights and priors as scikit-learn's count models do, and its pseudo-count."""

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
        """The pseudo-count that is added: as given, or what alpha="auto" has chosen by what was counted."""
        family: Any = self._check_fitted().assumption.families[0]
        alpha: Alpha = family.alpha
        return alpha


class DiscreteBayes(ClassCounts):
    """A facade with scikit-learn's `alpha`, `force_alpha`, `fit_prior` and `class_prior`; `alpha` may be "auto"."""

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
            return Assumption((self._family(FALLBACK, n_features),), prior, None, self.missing, auto=True)
        return Assumption((self._family(self._pseudo_count(n_features), n_features),), prior, None, self.missing)

    def _pseudo_count(self, n_features: int) -> Alpha:
        """alpha as given, checked, and raised to the least usable one unless forced."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim:
            if alpha.shape != (n_features,):
                raise InputError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got shape {alpha.shape} instead of ({n_features},)."
                )
            if not ((alpha >= 0) & np.isfinite(alpha)).all():
                raise InputError(f"All values in alpha must be greater than 0. Got {alpha.min():g}.")
        if not self.force_alpha and alpha.size and alpha.min() < LEAST_ALPHA:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. "
                f"Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=5,
            )
            alpha = np.maximum(alpha, LEAST_ALPHA)
        return alpha if alpha.ndim else float(alpha)


class CountBayes(DiscreteBayes):
    """A facade of counts per class and feature."""

    @property
    def feature_count_(self) -> Array:
        """Σ w·x per class and feature, K×d."""
        return dense(self.ledger_).total

    @property
    def feature_log_prob_(self) -> Array:
        """The logarithm of each feature's probability in each class, K×d, made when asked for."""
        model = self._check_fitted()
        family: Any = model.assumption.families[0]
        return family.log_theta(model.complete.parts[0])


def dense(ledger: Ledger) -> Counts:
    """A count ledger's only block, zeros written out."""
    part: Any = ledger.parts[0]
    return part.to_dense() if isinstance(part, Tallies) else part
