"""The class prior that a user names or gives, checked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from deciban.errors import DecibanWarning, InputError
from deciban.families.family import ClassPrior

PRIOR_NAMES = {"empirical", "smoothed", "uniform"}


def parse_prior(given: Any, alpha: float, n_classes: int, *, scaled: bool) -> ClassPrior:
    """A prior by its name, or an array with one share ≥ 0 for each class.

    Shares that do not add up to one are `scaled`, with a warning (scikit-learn's count models take them), or refused
    (its Gaussian one does).
    """
    if isinstance(given, str):
        return ClassPrior(given, alpha)  # type: ignore[arg-type]
    p = np.asarray(given, dtype=np.float64)
    if p.shape != (n_classes,):
        raise InputError(
            f"Number of priors must match number of classes. Got shape {p.shape} for {n_classes} classes."
        )
    if not (p >= 0).all():
        raise InputError(f"Priors must be non-negative. Got {p.tolist()}.")
    if not np.isclose(p.sum(), 1.0):
        if not scaled or not (np.isfinite(p).all() and p.any()):
            raise InputError(f"The sum of the priors should be 1. Got {p.sum():g}.")
        warnings.warn(f"class_prior sums to {p.sum():g}; it is scaled to sum to 1", DecibanWarning, stacklevel=5)
        p = p / p.sum()
    return ClassPrior("given", given=tuple(p.tolist()))
