"""GaussianNB: each feature Gaussian around the class mean."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from deciban._typing import Array
from deciban.estimators.generative_base import GaussianClassifier
from deciban.families.gaussian import Gaussian


class GaussianNB(GaussianClassifier):
    """Naive Bayes over numbers: ln p(x|k) = Σ_j −½ ln(2πσ²_kj) − ½ (x_j − μ_kj)²/σ²_kj.

    Takes scikit-learn's arguments. `parameter_prior` imagines that many rows per class with each column's own
    pooled variance, or takes a ledger of imagined examples; NaN means missing.

    >>> from deciban import GaussianNB
    >>> GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"]).predict([[3.0]]).tolist()
    ['low']
    """

    _parameter_constraints = {
        **GaussianClassifier._parameter_constraints,
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        parameter_prior: Any = None,
        missing: str = "skip",
        prior_alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.parameter_prior = parameter_prior
        self.missing = missing
        self.prior_alpha = prior_alpha
        self.n_jobs = n_jobs

    def _family(self, prior_rows: float) -> Gaussian:
        return Gaussian("diagonal", None, prior_rows, float(self.var_smoothing))

    @property
    def theta_(self) -> Array:
        """μ_kj, the mean of each feature in each class."""
        form: Any = self._check_fitted().solved.forms[0]
        return form.mean.astype(self._dtype)

    @property
    def var_(self) -> Array:
        """σ²_kj, smoothed."""
        form: Any = self._check_fitted().solved.forms[0]
        return form.variance.astype(self._dtype)

    @property
    def epsilon_(self) -> float:
        """The value that `var_smoothing` adds to every variance."""
        model = self._check_fitted()
        family: Any = model.assumption.families[0]
        return float(family.epsilon(model.complete.parts[0]))
