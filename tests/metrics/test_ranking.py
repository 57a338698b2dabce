"""Ranking and the figures by class are scikit-learn's; thresholds, intervals and parts are those of loops."""

import json
import math
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from deciban.errors import InputError
from deciban.metrics import Scorecard, ScoreSample, ranking, report_of
from deciban.metrics.intervals import area_interval, average_interval, mean_interval, wilson
from deciban.metrics.ranking import Curve
from deciban.scores.posterior import log_odds

CLOSE = {"rel": 1e-12, "abs": 1e-12}


def random_scores(K, ties, weighted, n=400, seed=1):
    """Return posteriors of a middling model, classes and weights; `ties`: a few different rows only."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n)
    joint = rng.normal(size=(n, K)) * 1.5
    joint[np.arange(n), truth] += 1.0
    if ties:
        joint = joint.round()
    log_posterior = (joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))).round(9)  # ties to the last bit
    return log_posterior, truth, rng.choice([0.0, 0.5, 1.0, 2.0], size=n) if weighted else None


CASES = pytest.mark.parametrize(
    ("K", "ties", "weighted"),
    [(2, False, False), (2, True, True), (4, False, True), (4, True, False), (4, True, True)],
    ids=["two", "two-ties-weights", "four-weights", "four-ties", "four-ties-weights"],
)


@CASES
def test_areas_and_average_precisions_are_those_of_scikit_learn(K, ties, weighted):
    log_posterior, truth, w = random_scores(K, ties, weighted)
    report = report_of(log_posterior, truth, w, None, range(K))
    for k in range(K):
        area = metrics.roc_auc_score(truth == k, log_posterior[:, k], sample_weight=w)
        assert report.roc_auc_by_class[k] == pytest.approx(area, **CLOSE)
        precision = metrics.average_precision_score(truth == k, log_posterior[:, k], sample_weight=w)
        assert report.average_precision_by_class[k] == pytest.approx(precision, **CLOSE)
    p = np.exp(log_posterior)
    if K == 2:
        assert report.roc_auc == report.roc_auc_by_class[1]
        assert report.average_precision == report.average_precision_by_class[1]
    else:
        for mean, ours in (("macro", report.roc_auc), ("weighted", report.weighted_roc_auc)):
            theirs = metrics.roc_auc_score(truth, p, multi_class="ovr", average=mean, sample_weight=w)
            assert ours == pytest.approx(theirs, **CLOSE)
        hot = np.eye(K)[truth]
        for mean, ours in (("macro", report.average_precision), ("weighted", report.weighted_average_precision)):
            theirs = metrics.average_precision_score(hot, log_posterior, average=mean, sample_weight=w)
            assert ours == pytest.approx(theirs, **CLOSE)


@CASES
def test_curves_are_those_of_scikit_learn(K, ties, weighted):
    log_posterior, truth, w = random_scores(K, ties, weighted)
    report = report_of(log_posterior, truth, w, None, [f"class {k}" for k in range(K)])
    some = slice(None) if w is None else w > 0
    truth, p, w = truth[some], np.exp(log_posterior[some]), None if w is None else w[some]
    for k in range(K):
        false, true, at = metrics.roc_curve(truth == k, p[:, k], sample_weight=w, drop_intermediate=False)
        ours = report.roc_curve(f"class {k}")
        assert ours[0] == pytest.approx(false, **CLOSE)
        assert ours[1] == pytest.approx(true, **CLOSE)
        assert ours[2][0] == np.inf
        assert ours[2][1:] == pytest.approx(at[1:], rel=1e-12)
        precision, recall, at = metrics.precision_recall_curve(truth == k, p[:, k], sample_weight=w)
        ours = report.precision_recall_curve(f"class {k}")
        assert ours[0] == pytest.approx(precision[-2::-1], **CLOSE)  # theirs falls, and has a point more
        assert ours[1] == pytest.approx(recall[-2::-1], **CLOSE)
        assert ours[2] == pytest.approx(at[::-1], rel=1e-12)


@CASES
def test_figures_by_class_are_those_of_scikit_learn(K, ties, weighted):
    log_posterior, truth, w = random_scores(K, ties, weighted)
    report = Scorecard.of(log_posterior, truth, w).report(range(K))
    called = log_posterior.argmax(axis=1)
    precision, recall, f1, rows = metrics.precision_recall_fscore_support(truth, called, sample_weight=w)
    for ours, theirs in ((report.precision, precision), (report.recall, recall), (report.f1, f1)):
        assert ours == pytest.approx(theirs, **CLOSE)
    assert report.rows_by_class == pytest.approx(rows, **CLOSE)
    assert report.macro_f1 == pytest.approx(
        metrics.f1_score(truth, called, average="macro", sample_weight=w), **CLOSE
    )
    balanced = metrics.balanced_accuracy_score(truth, called, sample_weight=w)
    assert report.balanced_accuracy == pytest.approx(balanced, **CLOSE)


def test_a_class_that_is_never_called_or_never_there_has_no_precision_or_recall():
    log_posterior = np.log([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    report = Scorecard.of(log_posterior, np.array([0, 1, 0])).report("abc")
    assert report.precision.tolist() == pytest.approx([1 / 2, math.nan, 0], nan_ok=True)
    assert report.recall.tolist() == pytest.approx([1 / 2, 0, math.nan], nan_ok=True)
    assert report.f1.tolist() == [1 / 2, 0, 0]
    assert report.balanced_accuracy == 1 / 4
    assert "–" in str(report)
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["recall"] == [0.5, 0.0, None]


def test_rows_of_a_class_the_model_does_not_know_are_errors_in_every_figure():
    """Class c was not learned: its row counts against the precision of a and has no recall; a stranger likewise."""
    log_posterior = np.log([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.1, 0.8, 0.1]])
    truth = np.array([0, 2, 2, -1])
    report = report_of(log_posterior, truth, None, np.array([True, True, False]), "abc")
    assert report.precision.tolist() == [1 / 2, 0, 0]
    assert report.recall.tolist() == pytest.approx([1, math.nan, 0], nan_ok=True)
    assert report.balanced_accuracy == 1 / 2
    assert report.roc_auc_by_class[0] == 1.0
    assert report.roc_auc_by_class[2] == 1 / 2, "never expected: every row is a tie"
    assert report.truth.tolist() == ["a", "c", "c", None]
    assert report.predictions.tolist() == ["a", "a", "c", "b"]


def test_rows_may_have_models_of_their_own():
    log_posterior, truth, w = random_scores(4, False, True, n=60)
    known = np.random.default_rng(0).random((60, 4)) < 0.8
    ours = Scorecard.of(log_posterior, truth, w, known)
    parts = [Scorecard.of(log_posterior[i : i + 1], truth[i : i + 1], w[i : i + 1], known[i]) for i in range(60)]
    theirs = sum(parts[1:], start=parts[0])
    assert np.array_equal(ours.confusion, theirs.confusion)
    assert np.array_equal(ours.unknown, theirs.unknown)
    assert ours.report("abcd").log_loss == pytest.approx(theirs.report("abcd").log_loss, **CLOSE)
    with pytest.raises(InputError, match=r"`known` has the shape \(4,\)"):
        Scorecard.of(log_posterior, truth, w, known[:5])


def test_rows_that_are_certain_to_the_last_bit_are_still_distinguished():
    """Evidence of 100 and of 200 nats: both posteriors are 1.0, and yet the second is surer."""
    evidence = np.array([100.0, 200.0, 300.0, -100.0])
    log_posterior = np.column_stack([-np.logaddexp(0, evidence), -np.logaddexp(0, -evidence)])
    assert np.exp(log_posterior[:3, 1]).tolist() == [1.0, 1.0, 1.0]
    report = report_of(log_posterior, np.array([0, 1, 1, 0]), None, None, "ab")
    assert report.roc_auc_by_class.tolist() == [1.0, 1.0]
    assert log_odds(log_posterior, 1) == pytest.approx(evidence, rel=1e-12)


def test_rows_of_one_probability_are_ties_however_the_rest_is_shared_out():
    """Many rows of a random forest have the same share of votes; rounding must not put them in an order."""
    rest = np.random.default_rng(3).dirichlet(np.ones(5), size=500)
    log_posterior = np.log(np.column_stack([np.full(500, 0.3), 0.7 * rest]))
    assert len(np.unique(log_odds(log_posterior, 0))) == 1
    truth = np.arange(500) % 6
    assert report_of(log_posterior, truth, None, None, "abcdef").roc_auc_by_class[0] == 0.5


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("K", [2, 4])
def test_the_parts_of_the_brier_score_add_up_and_are_those_of_a_loop(K, weighted):
    log_posterior, truth, w = random_scores(K, False, weighted)
    report = report_of(log_posterior, truth, w, None, range(K))
    parts, p = report.brier_parts, np.exp(log_posterior)
    assert parts.score == pytest.approx(report.brier, **CLOSE)
    w = np.ones(len(truth)) if w is None else w
    reliability = resolution = uncertainty = 0.0
    for k in range(K):
        share = w[truth == k].sum() / w.sum()
        uncertainty += share * (1 - share)
        for b in range(15):
            inside = (p[:, k] > b / 15) & (p[:, k] <= (b + 1) / 15)
            if w[inside].sum():
                hits = np.average(truth[inside] == k, weights=w[inside])
                reliability += w[inside].sum() * (np.average(p[inside, k], weights=w[inside]) - hits) ** 2 / w.sum()
                resolution += w[inside].sum() * (hits - share) ** 2 / w.sum()
    assert (parts.reliability, parts.resolution, parts.uncertainty) == pytest.approx(
        (reliability, resolution, uncertainty), **CLOSE
    )


def test_probabilities_that_take_few_values_have_nothing_within_bins():
    p = np.repeat([0.2, 0.5, 0.9], 10)
    report = report_of(np.log(np.column_stack([1 - p, p])), np.arange(30) % 2, None, None, "ab")
    assert report.brier_parts.within == pytest.approx(0, abs=1e-15)


def thresholds_by_hand(p, positive, w):
    """(p, precision, recall) of calling every row from each probability on."""
    for t in sorted(set(p)):
        called = p >= t
        hits = w[called & positive].sum()
        yield t, hits / w[called].sum(), hits / w[positive].sum()


@pytest.mark.parametrize("wish", [0.3, 0.6, 0.8, 1.0])
@CASES
def test_a_threshold_is_the_best_of_all_that_reach_the_wish(K, ties, weighted, wish):
    log_posterior, truth, w = random_scores(K, ties, weighted)
    report = report_of(log_posterior, truth, w, None, [f"class {k}" for k in range(K)])
    w = np.ones(len(truth)) if w is None else w
    some = w > 0
    points = list(thresholds_by_hand(np.exp(log_posterior[some, 1]), truth[some] == 1, w[some]))
    enough = [point for point in points if point[1] >= wish]
    if enough:
        result = report.threshold("class 1", precision=wish)
        assert (result.probability, result.precision, result.recall) == pytest.approx(min(enough), **CLOSE)
    else:
        best = max(point[1] for point in points)
        with pytest.raises(InputError, match=f"best there is on these rows is {best:.6g}"):
            report.threshold("class 1", precision=wish)
    result = report.threshold("class 1", recall=wish)
    enough = [point for point in points if point[2] >= wish - 1e-12]
    assert (result.probability, result.precision, result.recall) == pytest.approx(max(enough), **CLOSE)
    called = w[np.exp(log_posterior[:, 1]) >= result.probability].sum() * report.effective_rows / report.weight
    assert result.precision_interval == pytest.approx(wilson(result.precision, called), rel=1e-9)
    assert result.recall_interval[0] < result.recall <= result.recall_interval[1] + 1e-12
    assert json.dumps(result.to_dict())
    assert "predict class 1 from p ≥" in str(result)


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({}, "give one of the two"),
        ({"precision": 0.9, "recall": 0.9}, "give one of the two"),
        ({"precision": 0.0}, "not a share above 0"),
        ({"recall": 1.5}, "not a share above 0"),
        ({"recall": "most"}, "not a share above 0"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(wish, says):
    report = report_of(np.log([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]), None, None, "ab")
    with pytest.raises(InputError, match=says):
        report.threshold("b", **wish)
    with pytest.raises(InputError, match="'z' is none of the 2 classes"):
        report.threshold("z", recall=0.5)


def test_sums_alone_have_no_ranking_and_say_what_would():
    report = Scorecard.of(np.log([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])).report("ab")
    assert math.isnan(report.roc_auc)
    assert math.isnan(report.weighted_average_precision)
    assert (report.predictions, report.log_proba, report.truth, report.brier_parts) == (None, None, None, None)
    assert "roc_auc" not in report.to_dict()
    for asked in (report.roc_curve, lambda: report.threshold("b", recall=0.5), report.cost):
        with pytest.raises(InputError, match="kept sums only"):
            asked()


@given(st.data())
def test_any_split_of_the_rows_ranks_alike(data):
    n = data.draw(st.integers(1, 30))
    log_posterior, truth, w = random_scores(3, True, True, n, data.draw(st.integers(0, 9)))
    part = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=int)
    total = Scorecard.empty(3)
    for i in data.draw(st.permutations(range(4))):
        rows = np.flatnonzero(part == i)
        total += Scorecard.of(log_posterior[rows], truth[rows], w[rows], keep=True, number=rows)
    whole = ScoreSample.from_rows(log_posterior, truth, w)
    assert np.array_equal(total.score_sample.rows.log_posterior, whole.rows.log_posterior), (
        "in the order of the table"
    )
    if w.any():
        assert total.score_sample.roc_auc.tolist() == pytest.approx(whole.roc_auc.tolist(), nan_ok=True)


def test_of_too_many_rows_a_fair_sample_is_kept_the_same_however_they_came(monkeypatch):
    monkeypatch.setattr(ranking, "MAX_KEPT_SCORES", 2000)
    log_posterior, truth, _ = random_scores(2, False, False, n=6000)
    number = np.arange(6000)
    pieces = [number[i : i + 500] for i in range(0, 6000, 500)]
    cards = [Scorecard.of(log_posterior[rows], truth[rows], keep=True, number=rows) for rows in pieces]
    forwards, backwards = sum(cards[1:], start=cards[0]), sum(cards[-2::-1], start=cards[-1])
    assert forwards.score_sample.rows.number.tolist() == backwards.score_sample.rows.number.tolist()
    assert forwards.score_sample.n_halvings == 3
    assert 650 < len(forwards.score_sample.rows.truth) < 850, "one in eight"
    report = forwards.report("ab")
    assert report.predictions is None
    assert not math.isnan(report.roc_auc)
    assert "1 row in 8, drawn at random" in str(report)
    assert report.roc_auc == pytest.approx(metrics.roc_auc_score(truth, log_posterior[:, 1]), abs=0.04)
    kept = ScoreSample.from_rows(log_posterior, truth).rows
    assert np.array_equal(kept.number, forwards.score_sample.rows.number)


@pytest.mark.parametrize("sizes", [[6000] * 4, [600, 6000], [6000, 600], [2000, 20_000, 500, 9000], [300] * 7])
def test_of_samples_without_numbers_the_same_share_is_kept(sizes, monkeypatch):
    monkeypatch.setattr(ranking, "MAX_KEPT_SCORES", 2000)
    log_posterior, truth, _ = random_scores(2, False, False, n=sum(sizes))
    ranges = [slice(end - n, end) for n, end in zip(sizes, np.cumsum(sizes))]
    samples = [ScoreSample.from_rows(log_posterior[rows], truth[rows]) for rows in ranges]
    empty = ScoreSample.from_rows(log_posterior[:0], truth[:0])
    from_left, from_right = reduce(add, samples), reduce(lambda later, first: first + later, samples[::-1])
    for every in (from_left, from_right, reduce(add, (empty + sample for sample in samples))):
        kept, share = every.rows, 1 / 2**every.n_halvings
        assert 1000 < kept.log_posterior.size <= 2000
        for n, rows in zip(sizes, ranges):
            found = ((rows.start <= kept.number) & (kept.number < rows.stop)).sum()
            assert found == pytest.approx(n * share, abs=4 * (n * share) ** 0.5)
        assert (kept.log_posterior == log_posterior[kept.number]).all()
    if max(sizes) <= 1000:  # none was halved before it was added
        assert np.array_equal(from_left.rows.number, ScoreSample.from_rows(log_posterior, truth).rows.number)


def test_rows_without_numbers_are_counted_as_they_come():
    log_posterior, truth, _ = random_scores(2, False, False, n=20)
    ranks = reduce(add, (ScoreSample.from_rows(log_posterior[i:][:10], truth[i:][:10]) for i in (0, 10)))
    assert ranks.rows.number.tolist() == list(range(20))
    assert np.array_equal(ranks.rows.truth, truth)


def test_cards_whose_rows_were_not_all_kept_keep_none():
    log_posterior, truth, _ = random_scores(2, False, False, n=20)
    kept, lost = Scorecard.of(log_posterior, truth, keep=True), Scorecard.of(log_posterior, truth)
    assert (kept + lost).score_sample is None
    assert (lost + kept).score_sample is None
    assert (Scorecard.empty(2) + kept).score_sample.n_rows == (kept + Scorecard.empty(2)).score_sample.n_rows == 20


def test_intervals_cover_what_they_are_of():
    log_posterior, truth, w = random_scores(4, False, True)
    report = report_of(log_posterior, truth, w, None, "abcd")
    figures = ("accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "average_precision")
    assert tuple(report.intervals) == figures
    for name in figures:
        low, high = report.intervals[name]
        assert low < getattr(report, name) < high
    assert (
        report.intervals["log_loss"]
        == mean_interval(report.log_loss, report.log_loss_error)
        == report.log_loss_interval
    )
    losses = (np.exp(log_posterior) - np.eye(4)[truth]) ** 2
    n = w.sum() ** 2 / (w @ w)
    assert report.brier_error == pytest.approx(math.sqrt(np.cov(losses.sum(axis=1), aweights=w) / n), rel=1e-9)
    for name in ("precision", "recall"):
        assert report.intervals_by_class[name].shape == (4, 2)


def test_the_interval_of_an_area_solves_hanley_and_mcneil():
    """At its ends the area is 1.96 deviations away, by the variance of the end itself, in exact numbers."""
    for area, m, n in ((Fraction(4, 5), 20, 50), (Fraction(1, 2), 7, 7), (Fraction(99, 100), 200, 30)):
        for end in area_interval(float(area), m, n):
            t, N = Fraction(end), Fraction(m + n, 2) - 1
            variance = t * (1 - t) * (1 + N * (1 - t) / (2 - t) + N * t / (1 + t)) / (m * n)
            assert float((t - area) ** 2 / variance) == pytest.approx(1.959963984540054**2, rel=1e-9)
    assert area_interval(1.0, 5, 5)[1] == 1.0
    assert area_interval(1.0, 5, 5)[0] < 0.8
    assert area_interval(0.0, 5, 5)[0] == 0.0
    assert area_interval(math.nan, 5, 5) == (0.0, 1.0)


def test_the_interval_of_an_area_holds_the_truth_about_as_often_as_it_states():
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(400):
        score = np.append(rng.normal(1.0, size=25), rng.normal(0.0, size=40))
        area = Curve.from_scores(score, np.arange(65) < 25, np.ones(65)).roc_auc
        low, high = area_interval(area, 25, 40)
        inside += low <= 0.7602499389065233 <= high  # Φ(1/√2)
    assert 0.92 < inside / 400 <= 1


def test_the_interval_of_a_mean_of_shares_is_as_wide_as_one_of_all_their_rows():
    both = average_interval([(0.7, wilson(0.7, 100)), (0.7, wilson(0.7, 100))])
    assert both == pytest.approx(wilson(0.7, 200), abs=0.002)


def test_one_row_one_class_and_no_weight_have_a_report():
    one = report_of(np.log([[0.9, 0.1]]), np.array([0]), None, None, "ab")
    assert math.isnan(one.roc_auc)
    assert math.isnan(one.roc_auc_by_class[0])
    assert json.dumps(one.to_dict(), allow_nan=False)
    assert str(one)
    alone = report_of(np.zeros((3, 1)), np.zeros(3, dtype=int), None, None, "a")
    assert alone.accuracy == 1
    assert json.dumps(alone.to_dict(), allow_nan=False)
    assert str(alone)
    with pytest.raises(InputError, match="nothing to report"):
        report_of(np.zeros((0, 2)), np.zeros(0, dtype=int), None, None, "ab")
    with pytest.raises(InputError, match="nothing to report"):
        report_of(np.log([[0.9, 0.1]]), np.array([0]), np.array([0.0]), None, "ab")
    unusual = report_of(np.log([[0.9, 0.1]]), np.array([-1]), None, None, "ab")
    assert unusual.brier_parts is None
    assert math.isnan(unusual.balanced_accuracy)
    assert str(unusual)
    assert json.dumps(unusual.to_dict(), allow_nan=False)


def test_reliability_is_what_the_calibration_error_is_made_of():
    log_posterior, truth, w = random_scores(4, False, True)
    report = report_of(log_posterior, truth, w, None, "abcd")
    table = report.reliability
    gaps = np.abs(table.confidence - table.hits)[table.weight > 0] @ table.weight[table.weight > 0]
    assert gaps / report.weight == pytest.approx(report.calibration_error, **CLOSE)
    full = table.weight > 0
    assert ((table.low <= table.hits) & (table.hits <= table.high))[full].all()
    assert np.isnan(table.confidence[~full]).all()
