"""Decisions are those of a loop over every possible prediction."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.errors import InputError
from deciban.scores.posterior import REJECTED, Decision, build_rule, take_labels

CLASSES = ("a", "b", "c")
COSTS = st.dictionaries(
    st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), st.integers(-8, 40).map(lambda n: n / 4)
)
BARS = st.dictionaries(st.sampled_from(CLASSES), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))


@st.composite
def posteriors(draw):
    """A few rows of three probabilities, in sixteenths and so without rounding; ties are common."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, 16))
        second = draw(st.integers(0, 16 - first))
        rows.append([first / 16, second / 16, (16 - first - second) / 16])
    return np.array(rows)


def by_hand(p, costs, reject, thresholds):
    """The place of the call with the least expected cost, and that cost, in exact numbers."""
    p = [Fraction(x) for x in p]
    reached = [a for a in range(3) if CLASSES[a] in thresholds and p[a] >= Fraction(thresholds[CLASSES[a]])]
    allowed = reached or [a for a in range(3) if CLASSES[a] not in thresholds]
    expected = {}
    for a in allowed:
        each = (p[k] * Fraction(costs.get((CLASSES[k], CLASSES[a]), 0 if k == a else 1)) for k in range(3))
        expected[a] = sum(each, start=Fraction(0))
    if not expected:
        return REJECTED, reject
    best = min(expected, key=lambda a: (expected[a], -p[a], a))
    if reject is not None and expected[best] > Fraction(reject):
        return REJECTED, reject
    return best, float(expected[best])


@given(posteriors(), COSTS, st.none() | st.integers(-4, 8).map(lambda n: n / 4), BARS)
def test_no_other_call_is_expected_to_cost_less(posterior, costs, reject, thresholds):
    rule = Decision.of(CLASSES, costs, reject, thresholds)
    called, cost = rule.apply(posterior), rule.expected_cost(posterior)
    for p, a, expected in zip(posterior, called, cost):
        place, least = by_hand(p, costs, reject, thresholds)
        assert a == place
        assert expected == pytest.approx(math.nan if least is None else least, abs=1e-12, nan_ok=True)


@given(st.integers(2, 6), st.integers(0, 10_000), st.floats(0, 2))
def test_the_rule_costs_least_of_all_rules_on_its_own_probabilities(K, seed, reject):
    """Σ p C over any other calls is at least that of ours, for costs and probabilities of any kind."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.full(K, 0.5), size=20)
    costs = {(k, a): float(rng.normal()) for k in range(K) for a in range(K) if rng.random() < 0.7}
    rule = Decision.of(range(K), costs, reject)
    called = rule.apply(posterior)
    table = np.column_stack([posterior @ rule.cost, np.full(20, reject)])
    paid = table[np.arange(20), called]
    assert (paid <= table.min(axis=1) + 1e-12).all()
    assert rule.expected_cost(posterior) == pytest.approx(table.min(axis=1), abs=1e-12)


@given(st.integers(2, 9), st.integers(0, 10_000))
def test_without_costs_the_most_probable_class_is_called_to_the_last_bit(K, seed):
    posterior = np.random.default_rng(seed).dirichlet(np.full(K, 0.1), size=50)
    posterior[0] = 1 / K
    assert np.array_equal(Decision.of(range(K)).apply(posterior), posterior.argmax(axis=1))


def test_the_disease_that_must_not_be_missed():
    """Calling healthy costs 20 p, calling sick 1 − p: sick from p = 1/21 on."""
    rule = Decision.of(["healthy", "sick"], {("sick", "healthy"): 20})
    p = np.array([1 / 21 - 1e-6, 1 / 21 + 1e-6])
    assert rule.apply(np.column_stack([1 - p, p])).tolist() == [0, 1]


def test_a_row_is_rejected_below_chows_bar():
    """A mistake costs 1 and rejecting 0.25: decided where the most probable class has 0.75 or more."""
    rule = Decision.of("ab", reject=0.25)
    assert rule.apply(np.array([[0.75, 0.25], [0.74, 0.26], [0.2, 0.8]])).tolist() == [0, REJECTED, 1]


def test_a_threshold_below_a_half_calls_what_is_not_most_probable():
    rule = Decision.of(["ham", "spam"], thresholds={"spam": 0.2})
    assert rule.apply(np.array([[0.75, 0.25], [0.85, 0.15]])).tolist() == [1, 0]
    strict = Decision.of(["ham", "spam"], thresholds={"spam": 0.98})
    assert strict.apply(np.array([[0.1, 0.9], [0.01, 0.99]])).tolist() == [0, 1]


def test_where_every_class_has_a_threshold_and_none_is_reached_nothing_is_called():
    rule = Decision.of("ab", thresholds={"a": 0.9, "b": 0.8})
    assert rule.apply(np.array([[0.5, 0.5], [0.95, 0.05], [0.1, 0.9]])).tolist() == [REJECTED, 0, 1]
    assert math.isnan(rule.expected_cost(np.array([[0.5, 0.5]]))[0])


def test_what_was_paid_is_read_off_the_table_of_costs():
    rule = Decision.of("ab", {("a", "b"): 7, ("b", "b"): -2}, reject=0.5)
    paid = rule.paid(np.array([0, 0, 1, 1, -1, -1]), np.array([0, 1, 0, 1, 1, REJECTED]))
    assert paid.tolist() == [0, 7, 1, -2, 1, 0.5]


def test_labels_of_any_kind_are_named():
    assert Decision.of(np.array([3, 5]), {(3, 5): 2}).cost.tolist() == [[0, 2], [1, 0]]
    assert take_labels(np.array([3, 5]), np.array([1, 0])).dtype == np.array([3]).dtype
    assert take_labels(np.array(["x", "y"]), np.array([1, -1])).tolist() == ["y", None]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"costs": {("a", "z"): 1}}, "'z' is none of the 3 classes"),
        ({"costs": {"ab": 1}}, r"two classes, \(truth, predicted\), not for 'ab'"),
        ({"costs": {("a",): 1}}, "two classes"),
        ({"costs": [[0, 1], [1, 0]]}, "costs are a mapping"),
        ({"costs": {("a", "b"): math.inf}}, "finite"),
        ({"costs": {("a", "b"): math.nan}}, "finite"),
        ({"costs": {("a", "b"): "much"}}, "is a number, not 'much'"),
        ({"costs": {("a", "b"): True}}, "is a number, not True"),
        ({"reject": "often"}, "reject is a number"),
        ({"reject": math.inf}, "reject is a finite number"),
        ({"thresholds": {"z": 0.5}}, "'z' is none of the 3 classes"),
        ({"thresholds": {"a": 1.5}}, "from 0 to 1"),
        ({"thresholds": {"a": math.nan}}, "finite"),
        ({"thresholds": 0.5}, "thresholds are a mapping"),
    ],
)
def test_what_makes_no_rule_is_refused(given, says):
    with pytest.raises(InputError, match=says):
        Decision.of(CLASSES, **given)


def test_nothing_asked_for_is_no_rule():
    assert build_rule(CLASSES, None, None, None) is None
    assert build_rule(CLASSES, {("a", "b"): 1.0}, None, {}) is None, "what it costs anyway"
    assert build_rule(CLASSES, {("a", "b"): 2.0}, None, None) is not None
