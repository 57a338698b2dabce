"""What the Gaussian facades share: class priors and imagined rows."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from deciban.errors import InputError
from deciban.estimators.base import Bayes
from deciban.estimators.discrete import PRIOR_NAMES, SHARED_CONSTRAINTS, checked_prior
from deciban.families import ClassPrior, Gaussian
from deciban.ledger import Ledger
from deciban.ledger.statistic import Array
from deciban.model import Assumption


class BellBayes(Bayes):
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
        prior = self._class_prior(n_classes)
        if isinstance(self.parameter_prior, Ledger):
            return Assumption((self._family(0.0),), prior, self.parameter_prior, self.missing)
        return Assumption((self._family(float(self.parameter_prior or 0.0)),), prior, None, self.missing)

    def _class_prior(self, n_classes: int) -> ClassPrior:
        if self.priors is None:
            return ClassPrior("empirical")
        if isinstance(self.priors, str):
            return ClassPrior(self.priors, self.prior_alpha)  # type: ignore[arg-type]
        p = checked_prior(self.priors, n_classes)
        if not np.isclose(p.sum(), 1.0):
            raise InputError(f"The sum of the priors should be 1. Got {p.sum():g}.")
        return ClassPrior("given", given=tuple(p.tolist()))

    @property
    def class_count_(self) -> Array:
        """The weight of each class's rows."""
        return self.ledger_.rows.astype(self._dtype)

    @property
    def class_prior_(self) -> Array:
        """π_k."""
        return self._fitted().solved.prior.astype(self._dtype)
