"""Decisions from probabilities: the class of least expected cost, with rejection and thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, unknown_class_error

REJECTED = -1
"""The class code of a row that is not decided."""

Costs = Mapping[tuple[Any, Any], float]
Thresholds = Mapping[Any, float]


@dataclass(frozen=True, eq=False)
class Decision:
    """The rule of least expected cost: predict the class a with the smallest Σ_k p(k|x) C[k, a].

    C[k, a] is the cost of predicting `a` for a row of class `k`: 0 if correct and 1 if wrong, unless `costs`
    gives another; a negative cost is a gain. Of equals the more probable class is predicted, then the first. `reject`
    is the cost of not deciding: a row is left undecided where every prediction is expected to cost more (Chow 1970).

    A class with a threshold is predicted where its probability reaches it, and nowhere else; where several do, costs
    choose among them, where none does, among the classes without a threshold. If there is none, the row is undecided.

    >>> rule = Decision.of(["healthy", "sick"], costs={("sick", "healthy"): 20}, reject=0.6)
    >>> rule.apply(np.array([[0.99, 0.01], [0.96, 0.04], [0.3, 0.7]])).tolist()
    [0, -1, 1]
    """

    classes: tuple[Any, ...]
    cost: Array
    """K×K: the cost of predicting the class of the column for the class of the line."""
    reject: float | None = None
    thresholds: Mapping[int, float] | None = None
    """Thresholds by class code."""

    @classmethod
    def of(
        cls,
        classes: Sequence[Any] | NDArray[Any],
        costs: Costs | None = None,
        reject: float | None = None,
        thresholds: Thresholds | None = None,
    ) -> Self:
        """Build and check a rule; classes are given by their labels."""
        labels = tuple(classes.tolist() if isinstance(classes, np.ndarray) else classes)
        place = {label: k for k, label in enumerate(labels)}
        cost = 1.0 - np.eye(len(labels))
        for pair, value in _check_mapping(costs, "costs", "{('sick', 'healthy'): 20}").items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InputError(
                    f"a cost is given for two classes, (truth, predicted), not for {pair!r}. "
                    f"Hint: costs={{(a, b): 20}}"
                )
            k, a = (_find_code(label, place) for label in pair)
            cost[k, a] = _check_number(value, f"the cost of calling {pair[1]!r} what is {pair[0]!r}")
        bounds = {
            _find_code(label, place): _check_probability(value, label)
            for label, value in _check_mapping(thresholds, "thresholds", "{'spam': 0.98}").items()
        }
        return cls(labels, cost, None if reject is None else _check_number(reject, "reject"), bounds)

    @property
    def plain(self) -> bool:
        """Whether the rule always predicts the most probable class."""
        usual = np.array_equal(self.cost, 1.0 - np.eye(len(self.classes)))
        return usual and self.reject is None and not self.thresholds

    def expected(self, posterior: Array) -> Array:
        """Return the expected cost of each prediction, n×K; ∞ where a threshold forbids it."""
        usual = 1.0 - np.eye(len(self.classes))
        # 1 − p and not Σ of the others, so that the order is exactly that of the probabilities
        cost = 1.0 - posterior + posterior @ (self.cost - usual)
        return np.where(self._find_allowed(posterior), cost, np.inf) if self.thresholds else cost

    def _find_allowed(self, posterior: Array) -> NDArray[np.bool_]:
        """Return which classes the thresholds allow."""
        bound = np.array([(self.thresholds or {}).get(k, np.inf) for k in range(len(self.classes))])
        reached = posterior >= bound
        return np.where(reached.any(axis=1, keepdims=True), reached, np.isposinf(bound))

    def apply(self, posterior: Array) -> NDArray[np.intp]:
        """Return the class code predicted for each row of p(k|x); −1 where it is not decided."""
        expected = self.expected(posterior)
        least = expected.min(axis=1, keepdims=True)
        predicted = np.where(expected == least, posterior, -1.0).argmax(axis=1)
        undecided = np.isposinf(least[:, 0])
        if self.reject is not None:
            undecided |= least[:, 0] > self.reject
        return np.where(undecided, REJECTED, predicted)

    def expected_cost(self, posterior: Array) -> Array:
        """Return the expected cost of the decision on each row; NaN where it is undecided and that has no cost."""
        least: Array = self.expected(posterior).min(axis=1)
        if self.reject is not None:
            return np.minimum(least, self.reject)
        return np.where(np.isposinf(least), np.nan, least)

    def paid(self, truth: NDArray[np.integer[Any]], predicted: NDArray[np.integer[Any]]) -> Array:
        """Return the cost of the decisions on rows of these classes; a row of unknown class (−1) costs 1."""
        cost = np.where(truth < 0, 1.0, self.cost[truth, predicted])
        return np.where(predicted == REJECTED, np.nan if self.reject is None else self.reject, cost)


def build_rule(
    classes: Sequence[Any] | NDArray[Any], costs: Costs | None, reject: float | None, thresholds: Thresholds | None
) -> Decision | None:
    """Build a rule; None where it is to predict the most probable class."""
    if costs is None and reject is None and thresholds is None:
        return None
    rule = Decision.of(classes, costs, reject, thresholds)
    return None if rule.plain else rule


def take_labels(labels: NDArray[Any], codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return the label of each code; None for −1, and then an array of objects.

    >>> take_labels(np.array([3, 5]), np.array([1, -1])).tolist()
    [5, None]
    """
    if not (codes < 0).any():
        return labels[codes]
    return np.append(labels.astype(object), np.array([None], dtype=object))[codes]


def _check_mapping(given: Any, name: str, example: str) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{name} are a mapping, such as {name}={example}; not {given!r}")
    return given


def _find_code(label: Any, place: Mapping[Any, int]) -> int:
    try:
        return place[label]
    except (KeyError, TypeError):
        raise unknown_class_error(label, place) from None


def _check_number(value: Any, what: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{what} is a number, not {value!r}")
    if not math.isfinite(value):
        raise InputError(f"{what} is a finite number, not {value!r}. Hint: a large one, such as 1e6, forbids as well")
    return float(value)


def _check_probability(value: Any, label: Any) -> float:
    share = _check_number(value, f"the threshold of {label!r}")
    if not 0 <= share <= 1:
        raise InputError(f"the threshold of {label!r} is a probability from 0 to 1, not {value!r}")
    return share
