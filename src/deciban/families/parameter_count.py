"""The number of parameters of a model, without data: exponential for the full joint model, linear for naive Bayes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Literal, NamedTuple

from deciban.errors import InputError

FamilyName = Literal["joint", "bernoulli", "categorical", "multinomial", "poisson", "gaussian"]


class ParameterCount(NamedTuple):
    """Numbers to estimate: of p(x|k) for all classes, of the class prior, and together."""

    conditional: int
    prior: int
    total: int


GAUSSIAN: dict[str, Callable[[int, int], int]] = {
    "full": lambda K, d: K * d + K * d * (d + 1) // 2,
    "tied": lambda K, d: K * d + d * (d + 1) // 2,
    "diagonal": lambda K, d: 2 * K * d,
    "tied_diagonal": lambda K, d: K * d + d,
    "spherical": lambda K, d: K * d + K,
    "tied_spherical": lambda K, d: K * d + 1,
    "identity": lambda K, d: K * d,
}
"""Numbers of means and free entries of the covariance, by shape."""


def parameter_count(
    family: FamilyName,
    *,
    features: int,
    classes: int = 2,
    levels: int | Sequence[int] = 2,
    covariance: str = "diagonal",
) -> ParameterCount:
    """Count a model's parameters; `levels` is per feature, one number for all or one each.

    >>> parameter_count("joint", features=30).conditional, parameter_count("bernoulli", features=30).conditional
    (2147483646, 60)
    """
    d, K = _whole("features", features, 0), _whole("classes", classes, 1)
    V = _levels(levels, d)
    if family == "gaussian" and covariance not in GAUSSIAN:
        raise InputError(f"covariance {covariance!r} is not known. Hint: one of {', '.join(GAUSSIAN)}")
    counts: dict[str, Callable[[], int]] = {
        "joint": lambda: K * (math.prod(V) - 1),
        "bernoulli": lambda: K * d,
        "categorical": lambda: K * sum(v - 1 for v in V),
        "multinomial": lambda: K * max(d - 1, 0),
        "poisson": lambda: K * d,
        "gaussian": lambda: GAUSSIAN[covariance](K, d),
    }
    if family not in counts:
        raise InputError(f"family {family!r} is not known. Hint: one of {', '.join(counts)}")
    conditional = counts[family]()
    return ParameterCount(conditional, K - 1, conditional + K - 1)


def _levels(levels: int | Sequence[int], d: int) -> list[int]:
    each = [int(levels)] * d if isinstance(levels, Integral) else list(levels)  # type: ignore[arg-type]
    if len(each) != d:
        raise InputError(f"levels has {len(each)} entries for {d} features. Hint: one number, or one per feature")
    return [_whole("levels", v, 1) for v in each]


def _whole(name: str, value: int, least: int) -> int:
    if int(value) != value or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)
