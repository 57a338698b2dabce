"""Every figure is scikit-learn's, or that of a loop written down here; any split of the rows adds up."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix, log_loss

from deciban.errors import InputError
from deciban.metrics import Scorecard, report_of
from deciban.metrics.intervals import wilson

CLASSES = ("a", "b", "c", "d")


def random_scores(seed=0, n=500, K=4, weighted=True):
    """Return posteriors of a middling model, true classes, and weights."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n)
    joint = rng.normal(size=(n, K)) * 1.5
    joint[np.arange(n), truth] += 1.0
    log_posterior = joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))
    return log_posterior, truth, rng.choice([0.0, 0.5, 1.0, 2.0], size=n) if weighted else None


def calibration_by_hand(log_posterior, truth, weight, bins):
    """Rows one at a time into bins of equal width; the gaps of the bins weighted by their rows."""
    weight = np.ones(len(truth)) if weight is None else weight
    inside = [[] for _ in range(bins)]
    for row, k, w in zip(np.exp(log_posterior), truth, weight):
        confidence = row.max()
        b = next(b for b in range(bins) if confidence <= (b + 1) / bins or b == bins - 1)
        inside[b].append((w, confidence, row.argmax() == k))
    gap = 0.0
    for rows in inside:
        share = sum(w for w, _, _ in rows)
        if share:
            mean = sum(w * c for w, c, _ in rows) / share
            hits = sum(w * h for w, _, h in rows) / share
            gap += share * abs(mean - hits)
    return gap / weight.sum()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_figures_are_those_of_scikit_learn(weighted):
    log_posterior, truth, w = random_scores(weighted=weighted)
    report = Scorecard.of(log_posterior, truth, w).report(CLASSES)
    p, called = np.exp(log_posterior), log_posterior.argmax(axis=1)
    close = {"rel": 1e-12, "abs": 1e-12}
    assert report.accuracy == pytest.approx(accuracy_score(truth, called, sample_weight=w), **close)
    assert report.log_loss == pytest.approx(log_loss(truth, p, sample_weight=w, labels=range(4)), **close)
    brier = brier_score_loss(truth, p, sample_weight=w, labels=range(4), scale_by_half=False)
    assert report.brier == pytest.approx(brier, **close)
    assert np.array_equal(report.confusion, confusion_matrix(truth, called, sample_weight=w, labels=range(4)))
    assert report.rows == (len(truth) if w is None else np.count_nonzero(w))


@pytest.mark.parametrize("bins", [1, 7, 15])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_calibration_error_is_that_of_a_loop(weighted, bins):
    log_posterior, truth, w = random_scores(3, weighted=weighted)
    report = Scorecard.of(log_posterior, truth, w, bins=bins).report(CLASSES)
    assert report.calibration_error == pytest.approx(calibration_by_hand(log_posterior, truth, w, bins), abs=1e-12)


def test_a_confidence_on_the_edge_of_two_bins_belongs_to_the_lower():
    half = np.log(np.full((1, 2), 0.5))
    card = Scorecard.of(half, np.array([0]), bins=2)
    assert card.bins[0].tolist() == [1, 0]
    assert Scorecard.of(np.array([[0.0, -np.inf]]), np.array([0]), bins=2).bins[0].tolist() == [0, 1]


@given(st.data())
def test_any_split_adds_up(data):
    n = data.draw(st.integers(0, 30))
    log_posterior, truth, w = random_scores(data.draw(st.integers(0, 9)), n)
    known = np.array(data.draw(st.lists(st.booleans(), min_size=4, max_size=4)))
    truth = np.where(np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool), -1, truth)
    part = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=int)
    whole = Scorecard.of(log_posterior, truth, w, known)
    total = Scorecard.empty(4)
    for i in range(4):
        rows = part == i
        total = total + Scorecard.of(log_posterior[rows], truth[rows], w[rows], known)
    assert np.array_equal(total.confusion, whole.confusion)
    assert np.array_equal(total.unknown, whole.unknown)
    assert np.array_equal(total.rows, whole.rows)
    assert total.bins == pytest.approx(whole.bins, abs=1e-12)
    if whole.weight:
        a, b = total.report(CLASSES), whole.report(CLASSES)
        for name in (
            "accuracy",
            "effective_rows",
            "log_loss",
            "log_loss_error",
            "brier",
            "calibration_error",
            "majority",
        ):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-12, abs=1e-12, nan_ok=True)


def test_weight_two_is_a_row_twice_and_weight_nothing_a_row_absent():
    log_posterior, truth, _ = random_scores(n=20)
    w = np.arange(20) % 3.0
    often = np.repeat(np.arange(20), w.astype(int))
    one = Scorecard.of(log_posterior, truth, w).report(CLASSES)
    other = Scorecard.of(log_posterior[often], truth[often]).report(CLASSES)
    for name in ("weight", "accuracy", "log_loss", "brier", "calibration_error"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 0.001, 3.0, 1000.0])
def test_the_unit_of_the_weights_changes_only_what_is_a_weight(unit):
    log_posterior, truth, w = random_scores(n=60)
    truth[:5] = -1
    one, other = (
        report_of(log_posterior, truth, v, np.array([True, True, True, False]), CLASSES).to_dict()
        for v in (w, w * unit)
    )
    one["weight"] *= unit
    one["confusion"], one["reliability"]["weight"] = (
        (np.array(result) * unit).tolist() for result in (one["confusion"], one["reliability"]["weight"])
    )
    one, other = (dict(leaves(result)) for result in (one, other))
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value == (pytest.approx(other[name], rel=1e-9) if isinstance(value, float) else other[name]), name


def leaves(result, path=()):
    """Every value of nested mappings and lists, by where it stands."""
    if isinstance(result, (dict, list)):
        for name, inner in result.items() if isinstance(result, dict) else enumerate(result):
            yield from leaves(inner, (*path, name))
    else:
        yield path, result


def test_equal_weights_are_as_certain_as_rows_without_weights():
    log_posterior, truth, _ = random_scores(n=60)
    plain, weighed = (Scorecard.of(log_posterior, truth, w).report(CLASSES) for w in (None, np.full(60, 0.001)))
    assert plain.effective_rows == 60
    assert weighed.accuracy_interval == pytest.approx(plain.accuracy_interval, rel=1e-9)
    assert weighed.log_loss_error == pytest.approx(plain.log_loss_error, rel=1e-9)
    assert "the weights differ" not in str(plain) + str(weighed)


def test_unequal_weights_are_as_certain_as_kish_finds():
    """One of 8 rows with weight 4, the others 1: (Σw)²/Σw² = 121/23, and the error of a mean of so many rows."""
    p = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.9])
    w = np.array([4.0, 1, 1, 1, 1, 1, 1, 1])
    report = Scorecard.of(np.log(np.column_stack([p, 1 - p])), np.zeros(8, dtype=int), w).report("ab")
    n = Fraction(121, 23)
    assert report.effective_rows == pytest.approx(float(n), rel=1e-12)
    assert report.accuracy_interval == pytest.approx(wilson(8 / 11, float(n)), rel=1e-12)
    variance = np.cov(-np.log(p), aweights=w)  # unbiased for weights that say how much a row counts
    assert report.log_loss_error == pytest.approx(math.sqrt(variance / n), rel=1e-12)
    assert "those of 5.261 rows of equal weight" in str(report)


def test_one_row_has_no_standard_error_whatever_its_weight():
    for w in (0.3, 1.0, 7.0):
        report = Scorecard.of(np.log([[0.9, 0.1]]), np.array([0]), np.array([w])).report("ab")
        assert (report.effective_rows, math.isnan(report.log_loss_error)) == (1.0, True)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_weights_whose_squares_no_double_holds_leave_the_interval_open(unit):
    report = Scorecard.of(np.log([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]), np.full(2, unit)).report("ab")
    assert (report.accuracy, report.accuracy_interval) == (1.0, (0.0, 1.0))
    assert report.to_dict()["effective_rows"] is None


def test_a_row_of_weight_nothing_may_even_be_impossible():
    log_posterior = np.array([[0.0, -np.inf], [0.0, -np.inf]])
    report = Scorecard.of(log_posterior, np.array([0, 1]), np.array([1.0, 0.0])).report(("a", "b"))
    assert (report.log_loss, report.impossible, report.rows) == (0.0, 0, 1)


def test_the_standard_error_is_that_of_a_mean():
    log_posterior, truth, _ = random_scores()
    losses = -log_posterior[np.arange(len(truth)), truth]
    report = Scorecard.of(log_posterior, truth).report(CLASSES)
    assert report.log_loss_error == pytest.approx(losses.std(ddof=1) / math.sqrt(len(losses)), rel=1e-12)


def test_an_impossible_truth_makes_the_log_loss_infinite_and_is_counted():
    log_posterior = np.array([[0.0, -np.inf], [0.0, -np.inf], [np.log(0.5), np.log(0.5)]])
    report = Scorecard.of(log_posterior, np.array([0, 1, 1])).report(("a", "b"))
    assert report.log_loss == math.inf
    assert report.impossible == 1
    assert report.brier == pytest.approx((0 + 2 + 0.5) / 3)
    assert "probability 0 in 1 row;" in str(report)
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["log_loss"] is None


def test_a_class_without_training_rows_is_an_error_and_has_no_log_loss():
    log_posterior = np.log(np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]]))
    truth = np.array([0, 2, 2, -1])  # the second is predicted correctly, as a class of which no row was learned
    known = np.array([True, True, False])
    report = Scorecard.of(log_posterior, truth, known=known).report("abc")
    assert report.accuracy == 1 / 4
    assert report.unknown == 3
    assert report.log_loss == pytest.approx(-math.log(0.7))
    assert report.brier == pytest.approx(0.3**2 + 0.2**2 + 0.1**2)
    assert report.confusion.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert (report.commonest, report.majority) == ("c", 2 / 4)
    assert report.calibration_error == pytest.approx((abs(0.7 - 1) + 0.8 + 0.6 + 0.5) / 4)
    assert "3 rows of a class without training rows" in str(report)


def test_majority_states_always_the_commonest_class():
    log_posterior, truth, w = random_scores()
    report = Scorecard.of(log_posterior, truth, w).report(CLASSES)
    shares = np.bincount(truth, weights=w) / w.sum()
    assert report.majority == pytest.approx(shares.max(), rel=1e-12)
    assert report.commonest == CLASSES[shares.argmax()]


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (7, 10), (831, 1000)])
def test_the_interval_is_wilsons(hits, n):
    known = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits / n, n) == pytest.approx((known.low, known.high), abs=1e-12)


def test_a_posterior_of_one_that_rounds_above_it_is_no_gain():
    assert Scorecard.of(np.array([[1e-17, -40.0]]), np.array([0])).report("ab").log_loss == 0


@pytest.mark.parametrize("seed", range(5))
def test_an_accuracy_of_weighted_rows_does_not_round_above_one(seed):
    rng = np.random.default_rng(seed)
    truth, weight = rng.integers(9, size=100), rng.random(100)
    certain = np.log(np.full((100, 9), 0.01) + 0.91 * np.eye(9)[truth])
    assert 1 - 1e-12 < Scorecard.of(certain, truth, weight).report("abcdefghi").accuracy <= 1


def test_numbers_of_many_rows_are_printed_in_full():
    p = np.log([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    report = Scorecard.of(p, np.array([0, 1, 1]), np.array([1234567.0, 2345678.5, 1.0])).report("ab")
    assert "3 of weight 3580246.5 together" in str(report)
    assert [line[-1] for line in report.by_class()] == ["1234567", "2345679.5"]
    assert "2345678.5" in str(report)
    weight = np.append(np.full(20_000, 1.0), 2.0)
    many = Scorecard.of(np.tile(p[:1], (20_001, 1)), np.zeros(20_001, dtype=int), weight).report("ab")
    assert "those of 20 000 rows of equal weight" in str(many)


def test_the_report_is_json_and_reads_well():
    log_posterior, truth, _ = random_scores()
    report = Scorecard.of(log_posterior, truth).report(np.array([1, 2, 3, 4]), "each row by a model without its fold")
    result = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert result["accuracy"] == report.accuracy
    assert result["classes"] == [1, 2, 3, 4]
    assert result["confusion"] == report.confusion.tolist()
    text = str(report)
    assert f"{100 * report.accuracy:.2f} %" in text
    assert text.endswith("each row by a model without its fold")
    assert "truth \\ predicted" in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"truth": np.array([0, 2])}, "below 2"),
        ({"truth": np.array([0, -2])}, "below 2"),
        ({"truth": np.array([0])}, "2 rows are evaluated"),
        ({"weight": np.array([1.0])}, "2 rows are evaluated"),
        ({"weight": np.array([1.0, -1.0])}, "at least 0"),
        ({"weight": np.array([1.0, np.nan])}, "at least 0"),
        ({"log_posterior": np.array([[0.0, -9.0], [np.nan, np.nan]])}, "row 1 has no posterior"),
        ({"log_posterior": np.full((2, 2), np.nan), "weight": np.array([0.0, 1.0])}, "row 1 has no posterior"),
        ({"bins": 0}, "bins=0"),
    ],
)
def test_what_does_not_fit_is_refused(change, says):
    fitting = {"log_posterior": np.log(np.full((2, 2), 0.5)), "truth": np.array([0, 1])}
    with pytest.raises(InputError, match=says):
        Scorecard.of(**(fitting | change))


def test_nothing_scored_is_nothing_to_report():
    with pytest.raises(InputError, match="nothing to report"):
        Scorecard.empty(2).report("ab")
    with pytest.raises(InputError, match="2 classes were evaluated"):
        Scorecard.empty(2).report("abc")
    with pytest.raises(InputError, match="one has 2 classes"):
        Scorecard.empty(2) + Scorecard.empty(3)
