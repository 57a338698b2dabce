"""The arguments `class_weight` and `class_prior` or `priors`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.errors import DecibanWarning, InputError, unknown_class_error
from deciban.families.family import ClassPrior

PRIOR_NAMES = {"empirical", "smoothed", "uniform"}
"""The class priors that can be given by name."""


def apply_class_weight(
    class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], codes: Codes, weight: Array | None
) -> Array | None:
    """Return the rows' weights times that of their class: as given (else 1), or such that all classes weigh the same.

    "balanced" is scikit-learn's n / (K n_k), n and n_k the weight of all rows and of those of class k.

    >>> apply_class_weight("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1], dtype=np.int32), None).tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    """
    if class_weight is None:
        return weight
    balanced = isinstance(class_weight, str)
    by_class = _balance(codes, weight) if balanced else _check_class_weight(class_weight, classes)
    each: Array = by_class[codes]
    return each if weight is None else weight * each


def _balance(codes: Codes, weight: Array | None) -> Array:
    rows = np.bincount(codes, weights=weight).astype(np.float64)
    return np.where(rows > 0, rows.sum() / (len(rows) * np.where(rows > 0, rows, 1.0)), 1.0)


def _check_class_weight(class_weight: Any, classes: NDArray[Any]) -> Array:
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown and len(class_weight) - len(unknown) < len(labels):  # if all classes are given, more are no error
        raise unknown_class_error(unknown[0], labels)
    given = [class_weight.get(label, 1.0) for label in labels]
    for label, value in zip(labels, given):
        if isinstance(value, str) or not np.isfinite(value) or value < 0:
            raise InputError(f"class_weight of {label!r} must be a finite number of at least 0, not {value!r}")
    return np.array(given, dtype=np.float64)


def parse_prior(given: Any, alpha: float, n_classes: int, *, scaled: bool) -> ClassPrior:
    """Return the class prior of a name, or of an array with one share ≥ 0 for each class.

    Shares that do not add up to one are `scaled`, with a warning (as scikit-learn's count models do), or refused
    (as its Gaussian one does).
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
        warnings.warn(f"class_prior sums to {p.sum():g}; it is scaled to sum to 1", DecibanWarning, stacklevel=6)
        p = p / p.sum()
    return ClassPrior("given", given=tuple(p.tolist()))
