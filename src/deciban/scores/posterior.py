"""Posterior probabilities and densities from joint log-probabilities ln p(x, k); novelty detection; decisions.

Novelty is detected by the quantiles of the density of usual rows. A decision is the class of least expected cost,
with rejection and thresholds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError, unknown_class_error, warn_caller

Finish = Literal["joint", "log_posterior", "posterior", "winner", "density", "observed", "typicality"]
"""The result that is wanted of joint log-probabilities: themselves, the posterior, the class of largest posterior,
ln p(x). The scorer, not `finish`, computes `observed`, the number of cells or words of a row that carry evidence, and
`typicality`, ln p(x) per cell."""

NEAR_ONE_LOG_PROBABILITY = -1e-6
"""Above this, ln p has lost too many digits of 1 − p, and log-odds use the other classes' probabilities."""


def subtract_top(joint: Array) -> tuple[Array, Array, Array]:
    """Return each row's largest score (n×1), the scores minus it unless it is −∞, and their ln Σ exp (n×1).

    Added to scores of −1e17, ln 2 would be lost; added to their differences it is not.
    """
    top = joint.max(axis=1, keepdims=True)
    below = joint - np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return top, below, np.log(np.exp(below).sum(axis=1, keepdims=True))


def log_sum_exp(joint: Array) -> Array:
    """Return ln Σ_k exp(joint_k) of each row, without overflow; −∞ where every class is impossible.

    >>> log_sum_exp(np.array([[1000.0, 1000.0], [-np.inf, -np.inf]])).round(4).tolist()
    [1000.6931, -inf]
    """
    top, _, log_total = subtract_top(joint)
    return (top + log_total)[:, 0]


def normalise(scores: Array) -> Array:
    """Return scores minus their log-sum-exp: log-probabilities of each row; NaN where every class is impossible."""
    _, below, log_total = subtract_top(scores)
    return below - log_total


def log_odds(log_posterior: Array, k: int) -> Array:
    """Return ln p/(1−p) of one class against all others, which differs between rows where p itself rounds to 1.

    Evidence adds up, so naive Bayes gives many rows 1 − 10⁻³⁰; by p they would all be ties. Where p is further from
    1, it alone counts: rows of equal p are ties, whatever the distribution over the other classes.

    >>> rows = np.log([[1.0, 1e-30], [1.0, 1e-40]])
    >>> log_odds(rows, 0).round(2).tolist(), log_odds(rows, 1).round(2).tolist()
    ([69.08, 92.1], [-69.08, -92.1])
    """
    ours = np.minimum(log_posterior[:, k], 0.0)
    with np.errstate(divide="ignore"):
        odds: Array = ours - np.log1p(-np.exp(ours))
    rows = np.flatnonzero(ours > NEAR_ONE_LOG_PROBABILITY)
    others = log_posterior[rows]
    others[:, k] = -np.inf
    odds[rows] = ours[rows] - log_sum_exp(others)
    return odds


def finish(joint: Array, log_prior: Array, wanted: Finish) -> tuple[NDArray[Any], int]:
    """Return ln p(x, k), ln p(k|x), p(k|x), argmax_k or ln p(x), as wanted, and the number of impossible rows.

    Where every class is impossible (maximum likelihood and a value never seen) the posterior is the class prior. Such
    rows are not counted, and the number is 0, if `joint` or `density` is wanted.
    """
    if wanted == "joint":
        return joint, 0
    if wanted == "density":
        return log_sum_exp(joint), 0
    impossible = joint.max(axis=1) == -np.inf
    n_impossible = int(np.count_nonzero(impossible))
    if n_impossible:
        joint = np.where(impossible[:, None], log_prior, joint)
    if wanted == "winner":
        return joint.argmax(axis=1), n_impossible
    log_posterior = normalise(joint)
    return log_posterior if wanted == "log_posterior" else np.exp(log_posterior), n_impossible


def warn_impossible(rows: int) -> None:
    """Warn that this many rows, if any, are impossible under every class."""
    if rows:
        warn_caller(
            f"{rows} row{'s are' if rows > 1 else ' is'} impossible under every class, so the posterior is the class "
            f"prior. Hint: a pseudo-count (alpha > 0) gives what was never seen a small probability."
        )


MAX_QUANTILES = 1001
"""Largest number of stored quantiles: every thousandth of the rows, from the least probable on."""


@dataclass(frozen=True, eq=False)
class Novelty:
    """Quantiles of ln p(x) per cell, of rows scored by a model that was fitted without them.

    >>> usual = Novelty.of(np.arange(-200.0, 0.0))
    >>> usual.threshold(0.01)
    -198.0
    """

    quantiles: Array
    rows: int

    @classmethod
    def of(cls, typicality: Array, weight: Array | None = None) -> Self:
        """Compute weighted quantiles without NaN (no observed cell); count rows of weight above 0, refuse if none."""
        w = np.ones(len(typicality)) if weight is None else weight
        some = ~np.isnan(typicality)
        typicality, w = typicality[some], w[some]
        order = np.argsort(typicality, kind="stable")
        values, passed = typicality[order], np.cumsum(w[order])
        if not len(values) or not passed[-1] > 0:
            raise InputError("there are no rows from which to measure what is usual")
        shares = np.linspace(0.0, 1.0, min(MAX_QUANTILES, len(values) + 1))
        at = np.searchsorted(passed, shares * passed[-1], side="right")
        return cls(values[np.minimum(at, len(values) - 1)], int(np.count_nonzero(w)))

    def threshold(self, share: float) -> float:
        """Return the typicality below which at most this share, from 0 to below 1, of the usual rows lies."""
        if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
            raise InputError(
                f"reject_novel is the share of usual rows that may pass for novel, from 0 to below 1, not {share!r}. "
                f"Hint: 0.01"
            )
        place = int(np.floor(share * (len(self.quantiles) - 1) + 1e-9))
        return float(self.quantiles[place])

    def is_novel(self, typicality: Array, share: float) -> NDArray[np.bool_]:
        """Return whether each row is less typical than all but this share of usual rows, or has no observed cell."""
        return ~(typicality >= self.threshold(share))


def require_novelty(novelty: Novelty | None) -> Novelty:
    """Return the novelty; refuse a model without one."""
    if novelty is None:
        raise InputError(
            "this model does not know which rows are usual. Hint: deciban.train measures it when it evaluates "
            "(judge=True), estimators by fit_novelty(X, y) with the rows they have learned; learning more discards it"
        )
    return novelty


def density_per_cell(density: Array, cells: Array) -> Array:
    """Return ln p(x) per observed cell; NaN for rows without observed cells."""
    return np.where(cells > 0, density / np.where(cells > 0, cells, 1.0), np.nan)


REJECTED = -1
"""The class code of a row that is not decided."""

Costs = Mapping[tuple[Any, Any], float]
Thresholds = Mapping[Any, float]


@document()
@dataclass(frozen=True, eq=False)
class Decision:
    """The rule of least expected cost: predict the class a with the smallest Σ_k p(k|x) C[k, a].

    C[k, a] is the cost of predicting `a` for a row of class `k`: 0 if correct and 1 if wrong, unless `Decision.of` is
    given another; a negative cost is a gain. Of equals the more probable class is predicted, then the first. A row is
    left undecided where every prediction is expected to cost more than `reject` (Chow 1970).

    A class with a threshold is predicted where its probability reaches it, and nowhere else; where several do, costs
    choose among them, where none does, among the classes without a threshold. If there is none, the row is undecided.

    Parameters
    ----------
    classes : tuple
        The classes, in order.
    cost : array, K×K
        The cost of predicting the class of the column for the class of the line.
    reject : float or None
        The cost of not deciding; None: every row is decided.
    thresholds : mapping of int to float, or None
        Thresholds by class code.

    Examples
    --------
    >>> rule = Decision.of(["healthy", "sick"], costs={("sick", "healthy"): 20}, reject=0.6)
    >>> rule.apply(np.array([[0.99, 0.01], [0.96, 0.04], [0.3, 0.7]])).tolist()
    [0, -1, 1]
    """

    classes: tuple[Any, ...]
    cost: Array
    reject: float | None = None
    thresholds: Mapping[int, float] | None = None

    @classmethod
    def of(
        cls,
        classes: Sequence[Any] | NDArray[Any],
        costs: Costs | None = None,
        reject: float | None = None,
        thresholds: Thresholds | None = None,
    ) -> Self:
        """Build and check a rule; classes are given by their labels.

        >>> from deciban import Decision
        >>> rule = Decision.of(["healthy", "sick"], costs={("sick", "healthy"): 20}, reject=0.6)
        >>> rule.cost.tolist()
        [[0.0, 1.0], [20.0, 0.0]]
        """
        labels = tuple(classes.tolist() if isinstance(classes, np.ndarray) else classes)
        place = {label: k for k, label in enumerate(labels)}
        cost = 1.0 - np.eye(len(labels))
        for pair, value in _check_mapping(costs, "costs", "{('sick', 'healthy'): 20}").items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InputError(
                    f"a cost is given for two classes, (truth, predicted), not for {pair!r}. "
                    f"Hint: costs={{(a, b): 20}}"
                )
            k, a = (find_code(label, place) for label in pair)
            cost[k, a] = _check_number(value, f"the cost of calling {pair[1]!r} what is {pair[0]!r}")
        bounds = {
            find_code(label, place): _check_probability(value, label)
            for label, value in _check_mapping(thresholds, "thresholds", "{'spam': 0.98}").items()
        }
        return cls(labels, cost, None if reject is None else _check_number(reject, "reject"), bounds)

    @property
    def plain(self) -> bool:
        """Whether costs are 0 and 1, without rejection or thresholds: the most probable class is predicted."""
        usual = np.array_equal(self.cost, 1.0 - np.eye(len(self.classes)))
        return usual and self.reject is None and not self.thresholds

    def expected(self, posterior: Array) -> Array:
        """Return the expected cost of each prediction, n×K; ∞ where a threshold forbids it.

        >>> from deciban import Decision
        >>> rule = Decision.of(["healthy", "sick"], costs={("sick", "healthy"): 20}, reject=0.6)
        >>> rule.expected(np.array([[0.99, 0.01]])).round(3).tolist()
        [[0.2, 0.99]]
        """
        usual = 1.0 - np.eye(len(self.classes))
        # 1 − p and not Σ of the others, so that the order is exactly that of the probabilities
        cost = 1.0 - posterior + posterior @ (self.cost - usual)
        return np.where(self._find_allowed(posterior), cost, np.inf) if self.thresholds else cost

    def _find_allowed(self, posterior: Array) -> NDArray[np.bool_]:
        """Return which classes the thresholds allow for each row, n×K."""
        bound = np.array([(self.thresholds or {}).get(k, np.inf) for k in range(len(self.classes))])
        reached = posterior >= bound
        return np.where(reached.any(axis=1, keepdims=True), reached, np.isposinf(bound))

    def apply(self, posterior: Array) -> NDArray[np.intp]:
        """Return the class code predicted for each row of p(k|x); −1 where it is not decided.

        >>> from deciban import Decision
        >>> rule = Decision.of(["healthy", "sick"], costs={("sick", "healthy"): 20}, reject=0.6)
        >>> rule.apply(np.array([[0.99, 0.01], [0.96, 0.04]])).tolist()
        [0, -1]
        """
        expected = self.expected(posterior)
        least = expected.min(axis=1, keepdims=True)
        predicted = np.where(expected == least, posterior, -1.0).argmax(axis=1)
        undecided = np.isposinf(least[:, 0])
        if self.reject is not None:
            undecided |= least[:, 0] > self.reject
        return np.where(undecided, REJECTED, predicted)

    def expected_cost(self, posterior: Array) -> Array:
        """Return the expected cost of the decision on each row; NaN where it is undecided and that has no cost.

        >>> from deciban import Decision
        >>> rule = Decision.of(["healthy", "sick"], costs={("sick", "healthy"): 20}, reject=0.6)
        >>> rule.expected_cost(np.array([[0.99, 0.01], [0.96, 0.04]])).round(3).tolist()
        [0.2, 0.6]
        """
        least: Array = self.expected(posterior).min(axis=1)
        if self.reject is not None:
            return np.minimum(least, self.reject)
        return np.where(np.isposinf(least), np.nan, least)

    def paid(self, truth: NDArray[np.integer[Any]], predicted: NDArray[np.integer[Any]]) -> Array:
        """Return the cost of each prediction; `reject`, or NaN without it, if undecided, else 1 if `truth` is −1.

        >>> from deciban import Decision
        >>> rule = Decision.of(["healthy", "sick"], costs={("sick", "healthy"): 20}, reject=0.6)
        >>> rule.paid(np.array([1, 1, 0]), np.array([0, -1, 0])).tolist()
        [20.0, 0.6, 0.0]
        """
        cost = np.where(truth < 0, 1.0, self.cost[truth, predicted])
        return np.where(predicted == REJECTED, np.nan if self.reject is None else self.reject, cost)


def build_rule(
    classes: Sequence[Any] | NDArray[Any], costs: Costs | None, reject: float | None, thresholds: Thresholds | None
) -> Decision | None:
    """Build and check a rule; None if it is `plain`: the most probable class is predicted."""
    if costs is None and reject is None and thresholds is None:
        return None
    rule = Decision.of(classes, costs, reject, thresholds)
    return None if rule.plain else rule


def take_labels(labels: NDArray[Any], codes: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return the label of each code; None for −1, and then an array of objects.

    >>> take_labels(np.array([3, 5]), np.array([1, -1])).tolist()
    [5, None]
    """
    if codes.min(initial=0) >= 0:
        return labels[codes]
    return np.append(labels.astype(object), np.array([None], dtype=object))[codes]


def _check_mapping(given: Any, name: str, example: str) -> Mapping[Any, Any]:
    """Return the mapping, empty for None; refuse anything else."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{name} are a mapping, such as {name}={example}; not {given!r}")
    return given


def find_code(label: Any, place: Mapping[Any, int]) -> int:
    """Return the code of a class, by its label or by the text of it: '1' for 1; refuse an unknown one.

    >>> find_code("1", {0: 0, 1: 1})
    1
    """
    try:
        return place[label] if label in place else {str(known): k for known, k in place.items()}[label]
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
