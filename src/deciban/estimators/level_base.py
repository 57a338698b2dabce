"""What the facades of level codes share: known levels, and what an unseen one means."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from deciban.errors import InputError
from deciban.estimators.discrete_base import DiscreteBayes
from deciban.ledger import Ledger


class LevelBayes(DiscreteBayes):
    """A facade of categorical features, given as codes 0, 1, 2, …"""

    _proposal = "levels are codes 0, 1, 2, …; sklearn.preprocessing.OrdinalEncoder makes them, NaN is missing"
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
        least = np.asarray(self.min_categories)
        if least.dtype.kind not in "iu":
            raise InputError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), (n_features,)):
            raise InputError(
                f"'min_categories' should have shape ({n_features},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        return tuple(int(v) for v in np.broadcast_to(least, (n_features,)))

    def _known_levels(self) -> NDArray[np.int64]:
        """V_j."""
        raise AssertionError

    def _check_prediction_rows(self, X: Any) -> None:
        """With unseen="error", a level beyond those learned."""
        if self.unseen != "error":
            return
        known = self._known_levels()
        highest = X.max(axis=0).toarray().ravel() if hasattr(X, "tocsr") else np.fmax.reduce(X, axis=0)
        strange = np.flatnonzero(highest >= known)
        if strange.size:
            j = int(strange[0])
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
