"""What `class_weight` means: weights of classes, multiplied into those of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.errors import InputError, no_such_class


def apply_class_weight(
    class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], codes: Codes, weight: Array | None
) -> Array | None:
    """The rows' weights times that of their class: as given (else 1), or such that all classes weigh the same.

    "balanced" is scikit-learn's n / (K n_k), n and n_k the weight of all rows and of those of class k.

    >>> apply_class_weight("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1], dtype=np.int32), None).tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    """
    if class_weight is None:
        return weight
    of_class = _balanced(codes, weight) if isinstance(class_weight, str) else _given(class_weight, classes)
    each: Array = of_class[codes]
    return each if weight is None else weight * each


def _balanced(codes: Codes, weight: Array | None) -> Array:
    rows = np.bincount(codes, weights=weight).astype(np.float64)
    return np.where(rows > 0, rows.sum() / (len(rows) * np.where(rows > 0, rows, 1.0)), 1.0)


def _given(class_weight: Mapping[Any, float], classes: NDArray[Any]) -> Array:
    labels = classes.tolist()
    strange = [label for label in class_weight if label not in labels]
    if strange and len(class_weight) - len(strange) < len(labels):  # a class that is not there harms nobody
        raise no_such_class(strange[0], labels)
    given = [class_weight.get(label, 1.0) for label in labels]
    for label, value in zip(labels, given):
        if isinstance(value, str) or not np.isfinite(value) or value < 0:
            raise InputError(f"class_weight of {label!r} must be a finite number of at least 0, not {value!r}")
    return np.array(given, dtype=np.float64)
