"""What the Gaussian facades share: class priors and imagined rows."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from deciban._typing import Array
from deciban.estimators.class_prior_arguments import PRIOR_NAMES, parse_prior
from deciban.estimators.generative_base import SHARED_CONSTRAINTS, Bayes
from deciban.families.gaussian import Gaussian
from deciban.generative import Assumption
from deciban.ledger import Ledger


class GaussianClassifier(Bayes):
    """A facade of Gaussian features, with scikit-learn's `priors`."""

    _prior_name = "priors"
    _parameter_constraints: dict[str, list[Any]] = {
        **SHARED_CONSTRAINTS,
        "priors": ["array-like", StrOptions(PRIOR_NAMES), None],
        "parameter_prior": [
            None,
            Interval(Real, 0, None, closed="left"),
            Ledger,
        ],
    }

    def _family(self, prior_rows: float) -> Gaussian:
        raise AssertionError

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        prior = parse_prior(
            "empirical" if self.priors is None else self.priors, self.prior_alpha, n_classes, scaled=False
        )
        if isinstance(self.parameter_prior, Ledger):
            return Assumption((self._family(0.0),), prior, self.parameter_prior, self.missing)
        return Assumption((self._family(float(self.parameter_prior or 0.0)),), prior, None, self.missing)

    @property
    def class_count_(self) -> Array:
        """The weight of each class's rows."""
        return self.ledger_.rows.astype(self._dtype)

    @property
    def class_prior_(self) -> Array:
        """π_k."""
        return self._check_fitted().solved.prior.astype(self._dtype)
