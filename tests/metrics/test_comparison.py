"""Comparison of learners row by row, against arithmetic written out here; and crossings of learning curves."""

import json
import math
from dataclasses import replace
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest

from deciban.errors import InputError
from deciban.metrics.comparison import CandidateScores, Comparison, Gap, compare_candidates, find_significant
from deciban.metrics.learning_curves import LearningCurves, find_crossings

NAMES = ["naive Bayes", "logistic", "boosted"]


def claims(strength, truth, noise, seed):
    """ln p(k|x) of two classes, for the truth by about this much."""
    odds = np.random.default_rng(seed).normal(strength, noise, len(truth)) * np.where(truth == 1, 1, -1)
    return np.stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)], axis=1)


def compare_noisy(strengths, n=300, weight=None, known=None, noise=1.0, names=NAMES):
    truth = np.random.default_rng(0).integers(2, size=n)
    candidates = [
        CandidateScores(name, {"learner": name}, claims(s, truth, noise, i), 0.5, 7.0)
        for i, (name, s) in enumerate(zip(names, strengths))
    ]
    known = np.ones((n, 2), dtype=bool) if known is None else known
    return truth, candidates, compare_candidates("y", candidates, truth, weight, known, ["a", "b"], "measured so")


def test_differences_are_those_of_the_rows():
    truth, candidates, found = compare_noisy([0.5, 2.0, 1.0])
    losses = [[-float(each.log_posterior[i, k]) for i, k in enumerate(truth)] for each in candidates]
    means = [mean(each) for each in losses]
    lowest = min(range(3), key=means.__getitem__)
    assert found.lowest.name == NAMES[lowest]
    for each, loss in zip(found, losses):
        gaps = [a - b for a, b in zip(loss, losses[lowest])]
        assert each.loss.mean == pytest.approx(mean(gaps), abs=1e-12)
        assert each.loss.error == pytest.approx(stdev(gaps) / math.sqrt(len(gaps)) if any(gaps) else 0.0, abs=1e-12)
        assert each.report.log_loss == pytest.approx(mean(loss))
    hits = [[int(each.log_posterior[i].argmax() == k) for i, k in enumerate(truth)] for each in candidates]
    gap = found.accuracy_gap("logistic", "boosted")
    assert gap.mean == pytest.approx(mean(a - b for a, b in zip(hits[1], hits[2])))
    assert found.loss_gap("boosted", "logistic").mean == -found.loss_gap("logistic", "boosted").mean


def test_the_bar_rises_with_the_number_of_learners():
    assert find_significant([Gap(0.0, 0.0), Gap(1.959, 1.0)]) == [False, False]
    assert find_significant([Gap(0.0, 0.0), Gap(1.961, 1.0)]) == [False, True]
    assert find_significant([Gap(0.0, 0.0), Gap(1.961, 1.0), Gap(0.1, 1.0)]) == [False, False, False]


def test_of_many_differences_the_least_probable_is_held_to_the_highest_bar():
    bars = [NormalDist().inv_cdf(1 - 0.025 / (4 - i)) for i in range(4)]
    above = [Gap(bar + 0.001, 1.0) for bar in bars]
    assert find_significant([*above, Gap(0.0, 0.0), Gap(1.0, math.nan)]) == [True] * 4 + [False] * 2
    below = [*above[:2], Gap(bars[2] - 0.001, 1.0), above[3]]
    assert find_significant(below[::-1]) == [False, False, True, True]
    assert find_significant([Gap(bars[0] - 0.001, 1.0), *above[1:]]) == [False] * 4


def test_naive_bayes_is_taken_where_nobody_is_shown_to_be_better():
    found = compare_noisy([1.00, 1.02, 1.01], noise=0.3)[2]
    assert found.best.name == "naive Bayes"
    assert len(found.level) == 3
    assert found.advice == "Naive Bayes will do: these 300 rows show no difference between it and any other learner."


def test_a_learner_is_taken_that_is_shown_to_be_better_and_the_advice_states_by_how_much():
    found = compare_noisy([0.3, 2.0, 1.0])[2]
    gap = found.loss_gap("naive Bayes", "logistic")
    assert found.best.name == "logistic"
    assert f"its log-loss is {gap.mean:.3f} ± {gap.error:.3f} below that of naive Bayes" in found.advice
    assert f"it predicts {100 * found.accuracy_gap('logistic', 'naive Bayes').mean:.1f} ±" in found.advice


def test_those_who_are_level_with_it_are_named():
    found = compare_noisy([0.3, 2.0, 2.0])[2]
    other = next(name for name in NAMES[1:] if name != found.best.name)
    assert f"{other} shows no difference that these 300 rows could tell" in found.advice


def test_naive_bayes_that_is_better_than_all_is_reported_to_be():
    found = compare_noisy([3.0, 0.5, 0.5])[2]
    assert found.advice.startswith("Take naive Bayes: its log-loss is lower than that of every other learner")


def scores_of(p, right, truth):
    """Return scores of two classes, one of probability p: the true one where `right`."""
    claimed = np.where(right, truth, 1 - truth)
    return np.log(np.where(np.arange(2) == claimed[:, None], p, 1 - p))


def compare_by_hits(*learners, n=1000):
    """Compare learners given by name, number of hits in 1000 rows, and probability of the predicted class."""
    truth = np.arange(n) % 2
    candidates = [
        CandidateScores(name, {}, scores_of(p, np.random.default_rng(i).permutation(n) < hits, truth), 0.5, 7.0)
        for i, (name, hits, p) in enumerate(learners)
    ]
    return compare_candidates("y", candidates, truth, None, np.ones((n, 2), dtype=bool), ["a", "b"], "")


def log_loss(hits, p):
    """Per row of 1000."""
    return -(hits * math.log(p) + (1000 - hits) * math.log(1 - p)) / 1000


NAIVE = "naive Bayes", 799, 0.75
"""A fair log-loss of 0.51, and two rows in ten predicted wrongly."""


@pytest.mark.parametrize(("p", "lowest"), [(0.9945, "naive Bayes"), (0.993, "logistic")])
def test_of_level_log_losses_the_one_is_taken_that_predicts_more_rows_correctly(p, lowest):
    found = compare_by_hits(NAIVE, ("logistic", 901, p))
    assert (log_loss(901, p) > log_loss(799, 0.75)) == (lowest == "naive Bayes")
    assert found.lowest.name == lowest
    assert len(found.level) == 2
    gap = found.accuracy_gap("logistic", "naive Bayes")
    assert gap.mean == pytest.approx(0.102)
    assert found.advice == (
        "Take logistic: its log-loss shows no difference to that of naive Bayes, and it predicts "
        f"10.2 ± {100 * gap.error:.1f} % more of the rows correctly."
    )


def test_where_each_is_beaten_in_something_the_advice_states_in_what():
    found = compare_by_hits(NAIVE, ("logistic", 901, 0.9999))
    share = f"10.2 ± {100 * found.accuracy_gap('logistic', 'naive Bayes').error:.1f} %"
    assert found.unbeaten == []
    assert found.advice == (
        "Take naive Bayes: its log-loss is lower than that of every other learner, and by more than chance would "
        f"explain, though logistic predicts {share} more of the rows correctly."
    )
    turned = compare_by_hits(("naive Bayes", 901, 0.9999), ("logistic", 799, 0.75))
    assert turned.best.name == "logistic"
    assert turned.advice.endswith(
        f"below that of naive Bayes, though naive Bayes predicts {share} more of the rows correctly."
    )


def test_a_learner_that_predicts_fewer_rows_correctly_is_not_reported_to_be_as_good():
    found = compare_by_hits(("naive Bayes", 650, 0.6), ("logistic", 901, 0.993), ("boosted", *NAIVE[1:]))
    assert {each.name for each in found.level} == {"logistic", "boosted"}
    assert found.best.name == "logistic"
    assert "boosted" not in found.advice


def test_naive_bayes_is_not_reported_to_be_alike_where_others_predict_fewer_rows_correctly():
    found = compare_by_hits(("naive Bayes", 901, 0.993), ("logistic", *NAIVE[1:]))
    assert found.advice == (
        "Take naive Bayes: these 1 000 rows show none to be better, and each other to be worse than the best, in "
        "log-loss or in accuracy."
    )


def test_without_naive_bayes_the_lowest_log_loss_is_taken():
    found = compare_noisy([0.5, 2.0], names=["Gaussian tied", "logistic"])[2]
    assert found.best is found.lowest
    assert found.advice.startswith("Take logistic: it has the lowest log-loss")


def test_one_learner_alone_has_nothing_to_be_compared_with():
    assert "nothing to compare it with" in compare_noisy([1.0], names=["logistic"])[2].advice


def test_a_learner_that_states_what_another_states_is_left_out_with_a_note():
    truth, candidates, _ = compare_noisy([1.0, 2.0])
    twin = CandidateScores("Gaussian diagonal", {}, candidates[0].log_posterior + 1e-15, 0.1, 3)
    found = compare_candidates("y", [*candidates, twin], truth, None, np.ones((300, 2), dtype=bool), ["a", "b"], "")
    assert found.names == ["naive Bayes", "logistic"]
    assert found.notes == ("Gaussian diagonal gives every row the probabilities of naive Bayes, and is left out",)


def test_rows_of_a_class_that_was_not_met_are_errors_of_all_and_have_no_log_loss():
    known = np.ones((300, 2), dtype=bool)
    known[:50, 1] = False
    truth, _, found = compare_noisy([0.5, 2.0], known=known)
    unmet = int((truth[:50] == 1).sum())
    assert found["logistic"].report.unknown == unmet
    assert int(np.isnan(found.losses[0]).sum()) == unmet
    assert not found.hits[:, :50][:, truth[:50] == 1].any()
    assert np.isfinite(found["naive Bayes"].loss.mean)


def test_learners_whose_folds_knew_no_class_of_their_rows_show_no_difference():
    _, _, found = compare_noisy([0.5, 2.0], known=np.zeros((300, 2), dtype=bool))
    assert math.isnan(found["logistic"].loss.mean)
    assert found.best.name == "naive Bayes"
    assert found.to_dict()["learners"][1]["log_loss_above"] is None


def test_weights_count_rows_and_their_unit_does_not_matter():
    weight = np.resize([1.0, 3.0], 300)
    one, other = compare_noisy([0.5, 1.0], weight=weight)[2], compare_noisy([0.5, 1.0], weight=weight * 1e6)[2]
    gaps = one.losses[0] - one.losses[1]
    assert one.loss_gap("naive Bayes", "logistic").mean == pytest.approx(np.average(gaps, weights=weight))
    assert one.loss_gap("naive Bayes", "logistic") == pytest.approx(other.loss_gap("naive Bayes", "logistic"))


def test_a_truth_called_impossible_costs_a_bounded_price():
    truth, candidates, _ = compare_noisy([1.0, 2.0])
    candidates[0].log_posterior[0] = [-np.inf, 0.0] if truth[0] == 0 else [0.0, -np.inf]
    found = compare_candidates("y", candidates, truth, None, np.ones((300, 2), dtype=bool), ["a", "b"], "")
    assert found["naive Bayes"].report.log_loss == np.inf
    assert found.losses[0, 0] == pytest.approx(708.4, abs=0.1)
    assert "∞" in str(found)
    assert json.loads(json.dumps(found.to_dict()))["learners"][0]["log_loss"] is None


def test_names_that_are_not_there_are_refused():
    found = compare_noisy([1.0, 2.0])[2]
    with pytest.raises(InputError, match="no learner 'logistics' was compared"):
        found["logistics"]


def growth(accuracies, draws=6, noise=0.002, sizes=(10, 20, 40, 80)):
    """Curves with these means, and draws that differ a little."""
    mean_ = np.array(accuracies)[:, None, :]
    noisy = mean_ + noise * np.random.default_rng(1).normal(size=(len(accuracies), draws, len(sizes)))
    return LearningCurves(("naive Bayes", "logistic")[: len(accuracies)], sizes, noisy, 1 - noisy, 50)


def make_curves(curves) -> Comparison:
    return replace(compare_noisy([1.0, 1.01], noise=0.3)[2], growth=growth(curves))


def test_curves_cross_where_the_straight_line_over_logarithms_does():
    found = growth([[0.80, 0.84, 0.86, 0.87], [0.70, 0.80, 0.90, 0.93]])
    (turn,) = found.crossings("naive Bayes", "logistic")
    gap = found.accuracy[1].mean(axis=0) - found.accuracy[0].mean(axis=0)
    expected = 20 * 2 ** (gap[1] / (gap[1] - gap[2]))
    assert (turn.ahead_until, turn.behind_from, turn.first_ahead) == (20, 40, True)
    assert turn.at == pytest.approx(expected)
    assert found.crossings("logistic", "naive Bayes")[0].first_ahead is False


def test_what_the_draws_cannot_show_is_no_crossing():
    assert (
        growth([[0.80, 0.84, 0.86, 0.87], [0.70, 0.80, 0.90, 0.93]], noise=0.5).crossings("naive Bayes", "logistic")
        == []
    )
    assert find_crossings([10, 20], np.array([-1.0, 1.0]), np.array([0.1, np.nan]), 2.0) == []


@pytest.mark.parametrize(
    ("curves", "words"),
    [
        ([[0.80, 0.84, 0.86, 0.87], [0.70, 0.80, 0.90, 0.93]], "the curves cross between 20 and 40 rows, at about"),
        ([[0.80, 0.84, 0.86, 0.87], [0.70, 0.80, 0.80, 0.80]], "Naive Bayes is ahead of logistic at every size"),
        ([[0.80, 0.84, 0.86, 0.87], [0.90, 0.90, 0.9, 0.9]], "Logistic is ahead of naive Bayes at every size"),
        ([[0.80, 0.84, 0.86, 0.87], [0.80, 0.84, 0.86, 0.97]], "Logistic is ahead of naive Bayes at 80 rows; at"),
        ([[0.80, 0.84, 0.86, 0.87], [0.80, 0.84, 0.86, 0.87]], "At no size from 10 to 80 rows do the draws show"),
        ([[0.80, 0.84, 0.86, 0.87], [0.90, 0.70, 0.96, 0.97]], "overtake each other twice"),
        ([[0.80, 0.84, 0.86, 0.87], [0.90, 0.70, 0.70, 0.70]], "With few rows logistic is ahead, with more naive"),
    ],
    ids=["overtaken", "ahead", "behind", "late", "level", "twice", "the other way"],
)  # fmt: skip
def test_curves_are_described_in_a_sentence(curves, words):
    found = make_curves(curves)
    assert words in found.curve_summary
    assert (found.overtaken_at is not None) == ("cross" in words)  # naive Bayes is
    assert words in str(found)


def test_everything_is_given_to_a_program():
    result = json.loads(json.dumps(make_curves([[0.80, 0.84, 0.86, 0.87], [0.70, 0.80, 0.90, 0.93]]).to_dict()))
    assert result["best"] == "naive Bayes"
    assert result["curves"]["sizes"] == [10, 20, 40, 80]
    assert set(result["curves"]["learners"]) == {"naive Bayes", "logistic"}
    assert result["curves"]["overtaken_at"] == pytest.approx(26, abs=3)
    assert {each["name"] for each in result["learners"]} == {"naive Bayes", "logistic"}
