"""Bayes classifiers of Gaussian features: GaussianNB and GaussianBayes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.estimators.check_arguments import allow, parse_prior
from deciban.estimators.generative_base import GenerativeClassifier
from deciban.estimators.parameter_docs import document_estimator
from deciban.families.family import GAUSSIAN_PARAMETERS
from deciban.families.gaussian import Gaussian
from deciban.generative import Assumption
from deciban.ledger import Ledger


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianClassifier(GenerativeClassifier):
    """An estimator of Gaussian features, with scikit-learn's `priors`, and pseudo-observations."""

    _prior_name = "priors"
    priors: Any = field(default=None, metadata=allow("priors"))
    parameter_prior: Any = field(default=None, metadata=allow(None, "non-negative", Ledger))
    missing: str = field(default="skip", metadata=allow("missing"))
    prior_alpha: float = field(default=1.0, metadata=allow("non-negative"))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))

    def _family(self, prior_rows: float) -> Gaussian:
        raise AssertionError

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        prior = parse_prior(self.priors, self.prior_alpha, n_classes, scaled=False)
        pseudo = self.parameter_prior if isinstance(self.parameter_prior, Ledger) else None
        prior_rows = float(self.parameter_prior or 0.0) if pseudo is None else 0.0
        return Assumption((self._family(prior_rows),), prior, pseudo, self.missing)

    @property
    def class_count_(self) -> Array:
        """The weight of each class's rows."""
        return self.ledger_.rows.astype(self._dtype)

    @property
    def class_prior_(self) -> Array:
        """π_k, the prior probability of each class."""
        return self._check_fitted().solved.prior.astype(self._dtype)


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(GaussianClassifier):
    """Naive Bayes over numbers: ln p(x|k) = Σ_j −½ ln(2πσ²_kj) − ½ (x_j − μ_kj)²/σ²_kj.

    It takes scikit-learn's arguments and others.

    Examples
    --------
    >>> from deciban import GaussianNB
    >>> GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"]).predict([[3.0]]).tolist()
    ['low']
    """

    var_smoothing: float = field(default=1e-9, metadata=allow("non-negative"))

    def _family(self, prior_rows: float) -> Gaussian:
        return Gaussian("diagonal", None, prior_rows, float(self.var_smoothing))

    @property
    def theta_(self) -> Array:
        """μ_kj, the mean of each feature in each class."""
        return self._form.mean.astype(self._dtype)

    @property
    def var_(self) -> Array:
        """σ²_kj, smoothed."""
        return self._form.variance.astype(self._dtype)

    @property
    def epsilon_(self) -> float:
        """The value that `var_smoothing` adds to every variance."""
        return float(self._solved_family.epsilon(self._check_fitted().complete.parts[0]))


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianBayes(GaussianClassifier):
    """The Gaussian Bayes classifier: ln p(x|k) = −½ ln|2πΣ_k| − ½ (x−μ_k)ᵀ Σ_k⁻¹ (x−μ_k).

    With covariance="full" each class has its own, and the boundary is quadratic, as that of QDA; "tied" is one for
    all classes, and the boundary linear, as that of LDA. `shrinkage` is refused with "identity".

    Examples
    --------
    >>> from deciban import GaussianBayes
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [4.0, 4.0], [5.0, 5.0]], [0, 0, 1, 1]
    >>> line = GaussianBayes(covariance="identity").fit(X, y).linear_form()
    >>> line.w.tolist(), line.b
    ([4.0, 4.0], -20.0)
    """

    covariance: str = field(default="full", metadata=allow(set(GAUSSIAN_PARAMETERS)))
    shrinkage: Any = field(default=None, metadata=allow(None, {"oas"}, "share"))

    def _family(self, prior_rows: float) -> Gaussian:
        if self.covariance == "identity" and self.shrinkage is not None:
            raise InputError('covariance="identity" estimates no variance, so there is nothing to shrink')
        return Gaussian(self.covariance, self.shrinkage, prior_rows)  # type: ignore[arg-type]

    @property
    def means_(self) -> Array:
        """μ_k, K×d."""
        return self._form.mean

    @property
    def covariance_(self) -> Array:
        """Σ_k, K×d×d, or d×d where all classes share it."""
        form = self._form
        full = np.stack([np.diag(row) for row in form.variance]) if hasattr(form, "variance") else form.covariance
        return full[0] if "tied" in self.covariance or self.covariance == "identity" else full
