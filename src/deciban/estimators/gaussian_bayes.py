"""GaussianBayes: Gaussian classes with one of seven types of covariance."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from deciban._typing import Array
from deciban.errors import InputError
from deciban.estimators.generative_base import GaussianClassifier
from deciban.families.gaussian import Gaussian
from deciban.families.parameter_count import GAUSSIAN


class GaussianBayes(GaussianClassifier):
    """The Gaussian Bayes classifier: ln p(x|k) = −½ ln|2πΣ_k| − ½ (x−μ_k)ᵀ Σ_k⁻¹ (x−μ_k).

    `covariance`: "full" (each class its own: quadratic boundary, as QDA), "tied" (one for all: linear, as LDA),
    "diagonal", "tied_diagonal", "spherical", "tied_spherical" or "identity". `shrinkage` (a share, or "oas")
    pulls towards one common multiple of the identity; `parameter_prior` imagines that many rows per class with
    the pooled covariance, or takes a ledger of imagined examples. NaN means missing.

    >>> from deciban import GaussianBayes
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [4.0, 4.0], [5.0, 5.0]], [0, 0, 1, 1]
    >>> line = GaussianBayes(covariance="identity").fit(X, y).linear_form()
    >>> line.w.tolist(), line.b
    ([4.0, 4.0], -20.0)
    """

    _parameter_constraints = {
        **GaussianClassifier._parameter_constraints,
        "covariance": [StrOptions(set(GAUSSIAN))],
        "shrinkage": [None, StrOptions({"oas"}), Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        *,
        covariance: str = "full",
        shrinkage: Any = None,
        priors: Any = None,
        parameter_prior: Any = None,
        missing: str = "skip",
        prior_alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.parameter_prior = parameter_prior
        self.missing = missing
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs

    def _family(self, prior_rows: float) -> Gaussian:
        if self.covariance == "identity" and self.shrinkage is not None:
            raise InputError('covariance="identity" estimates no variance, so there is nothing to shrink')
        return Gaussian(self.covariance, self.shrinkage, prior_rows)  # type: ignore[arg-type]

    @property
    def means_(self) -> Array:
        """μ_k, K×d."""
        form: Any = self._check_fitted().solved.forms[0]
        return form.mean

    @property
    def covariance_(self) -> Array:
        """Σ_k, K×d×d, or d×d where all classes share it."""
        form: Any = self._check_fitted().solved.forms[0]
        if hasattr(form, "variance"):
            full = np.stack([np.diag(row) for row in form.variance])
        else:
            full = form.covariance
        return full[0] if "tied" in self.covariance or self.covariance == "identity" else full
