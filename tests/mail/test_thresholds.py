"""Thresholds from a store's own messages, and the verdicts that conflict, novelty and the prior keep from spam."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy.stats import beta, binom

from deciban import MailFilter
from deciban.engines.threads import limit_threads
from deciban.errors import StoreError
from deciban.kernels import execution
from deciban.linear.solvers import logistic
from deciban.mail.model import mail_models
from deciban.mail.model.mail_models import MessageScores, WeightParameters, score_messages
from deciban.mail.model.threshold_choice import (
    MIN_HAM,
    SPAM_CANDIDATES,
    choose_spam_threshold,
    log_binomial_cdf,
    required_ham,
    score_out_of_fold,
    upper_bound,
)
from deciban.mail.model.verdicts import StoreSnapshot

HAM = ["garden", "lunch", "minutes", "train", "report", "key", "window", "paper"]
SPAM = ["pills", "winner", "offer", "casino", "loan", "bonus"]
BOTH = ["the", "and", "of", "to", "for", "with", "you", "are"]


def make_message(words: list[str], number: int) -> bytes:
    draw = random.Random(number)
    text = " ".join(draw.choices(words, k=6) + draw.choices(BOTH, k=6))
    return f"Subject: {draw.choice(words)}\n\n{text} number{number}\n".encode()


def fill(mail: MailFilter, ham: int, spam: int) -> None:
    for i in range(max(ham, spam)):
        if i < ham:
            mail.learn(make_message(HAM, i), "ham", time=float(i))
        if i < spam:
            mail.learn(make_message(SPAM, 10_000 + i), "spam", time=float(i))


@pytest.fixture
def mail(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


def test_a_threshold_of_zero_is_not_the_default(mail) -> None:
    mail.store.set("spam_at", 0.0)
    assert mail.thresholds == (0.2, 0.0)


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    for k, n in ((0, 300), (2, 300), (17, 4000)):
        assert upper_bound(k, n) == pytest.approx(beta.ppf(0.95, k + 1, n - k), rel=1e-9)
        assert log_binomial_cdf(k, n, 0.002) == pytest.approx(binom.logcdf(k, n, 0.002), rel=1e-9)
    assert upper_bound(5, 5) == 1.0
    n = required_ham(0.001)
    assert upper_bound(0, n) <= 0.001 < upper_bound(0, n - 1)


def test_the_chosen_threshold_keeps_the_bound_and_a_lower_one_does_not() -> None:
    draw = np.random.default_rng(0)
    scores = draw.normal(-5, 2.5, 20_000)
    chosen = choose_spam_threshold(scores)
    lower = SPAM_CANDIDATES[SPAM_CANDIDATES.index(chosen) - 1]
    bounds = [upper_bound(int((scores >= mail_models.logit(t)).sum()), len(scores)) for t in (lower, chosen)]
    assert bounds[1] <= 0.001 < bounds[0]


def test_few_ham_move_the_default_only_if_they_contradict_it() -> None:
    ham = np.full(1000, -5.0)
    ham[:2] = 9.0
    assert choose_spam_threshold(ham) == 0.95
    ham[:8] = 4.0
    assert choose_spam_threshold(ham) == 0.99


def test_a_message_that_says_nothing_has_the_probability_of_the_prior(mail) -> None:
    fill(mail, 30, 10)
    assert mail.refit(force=True)
    verdict = mail.classify(b"X: y\n\nunheard unseen unknown")
    shared = sum(clue.decibans for clue in verdict.clues)  # "type:text/plain", which all messages have
    assert verdict.probability == pytest.approx(0.25, abs=0.02)
    assert verdict.decibans - shared == pytest.approx(10 * math.log10(10 / 30), abs=1e-9)


def test_a_large_share_of_spam_makes_no_message_spam(mail) -> None:
    fill(mail, 8, 400)
    mail.refit(force=True)
    verdict = mail.classify(b"\n\nunheard of")
    assert verdict.probability > 0.95
    assert verdict.label == "unsure"


def score(contributions: list[float], length: int, parameters: WeightParameters) -> MessageScores:
    found = np.array(contributions)[:, None]
    counts, totals = np.ones((len(found), 2)), np.array([50.0, 50.0])
    return score_messages("evidence", counts, totals, parameters, found, [len(found)], [length])


def test_conflict_discounts_the_evidence_and_clues_still_sum_to_it() -> None:
    parameters = WeightParameters(("ham", "spam"), (0.0,), (0.1,), 100.0)
    clear, torn = score([4.0, 4.0], 2, parameters), score([40.0, 40.0, -36.0, -36.0], 4, parameters)
    assert clear.totals == [[8.0]]
    assert torn.totals[0][0] == pytest.approx(8 / (1 + 0.3 * 72))
    assert torn.contributions.sum() + torn.bias[0, 0] == pytest.approx(torn.totals[0][0], rel=1e-12)


def test_short_messages_are_not_amplified_and_unknown_tokens_dilute_long_ones() -> None:
    parameters = WeightParameters(("ham", "spam"), (0.0,), (0.1,), 100.0)
    assert score([1.0], 1, parameters).totals == score([1.0], 100, parameters).totals == [[1.0]]
    assert score([1.0], 1600, parameters).totals == [[pytest.approx(1 / 8)]]


def verdict_of(mail: MailFilter, contributions: list[float], length: int, min_known: float = 0.0):
    """The verdict that a store's builder makes of these contributions in nats."""
    parameters = WeightParameters(("ham", "spam"), (0.0,), (0.1,), 100.0, min_known=min_known)
    snapshot = StoreSnapshot(mail.store, "evidence", mail.thresholds)
    found = score(contributions, length, parameters)
    from deciban.mail.model.verdicts import TokenRows

    rows = np.arange(len(contributions))
    tokens = TokenRows(rows, [f"word{i}" for i in rows], np.ones((len(rows), 2)))
    return next(snapshot._builder.build(found, tokens, {}, 5))


def test_strong_signs_both_ways_are_unsure_and_say_so(mail) -> None:
    fill(mail, 10, 10)
    verdict = verdict_of(mail, [20.0, -12.0], 2)
    assert (verdict.label, verdict.reason) == ("unsure", "conflict")
    assert verdict.why.startswith("strong signs both ways: 86.9 dB for spam, 52.1 dB against")
    assert "; why=conflict; " in verdict.header()
    assert verdict.to_dict()["balance"]["agreement"] == pytest.approx(1 / (1 + 0.3 * 12))
    assert verdict_of(mail, [20.0, -1.0], 2).label == "spam"


def test_a_message_unlike_all_others_is_unsure_and_says_so(mail) -> None:
    fill(mail, 10, 10)
    verdict = verdict_of(mail, [20.0], 9, min_known=0.5)
    assert (verdict.label, verdict.reason) == ("unsure", "novelty")
    assert verdict.why == "almost nothing in it was seen before: 1 of 9 tokens"
    assert verdict.to_dict()["reason"] == "novelty"
    assert verdict_of(mail, [-20.0], 9, min_known=0.5).label == "ham"


def test_a_fit_to_enough_ham_chooses_thresholds_and_counts_what_to_expect(mail) -> None:
    fill(mail, MIN_HAM, 60)
    assert mail.threshold_choice is None
    assert mail.thresholds == (0.2, 0.95)
    mail.refit(force=True)
    choice = mail.threshold_choice
    assert choice is not None
    assert (choice.ham, choice.spam, choice.missing_ham) == (MIN_HAM, 60, 2995 - MIN_HAM)
    assert mail.thresholds == (0.2, choice.spam_at)
    mail.store.set("spam_at", 0.99)
    assert mail.thresholds == (0.2, 0.99)


def test_a_chosen_threshold_is_never_below_that_for_ham(mail) -> None:
    assert choose_spam_threshold(np.full(3000, -5.0), ham_at=0.92) == 0.95
    fill(mail, MIN_HAM, 60)
    mail.store.set("max_lost_ham", 0.5)
    mail.refit(force=True)
    assert mail.thresholds == (0.2, 0.9)
    mail.store.set("ham_at", 0.92)
    snapshot = StoreSnapshot(mail.store, "evidence", (0.92, None))
    assert mail.thresholds == snapshot._builder._thresholds == (0.92, 0.92)
    mail.refit(force=True)
    assert mail.thresholds == (0.92, 0.95)
    mail.store.set("ham_at", 0.97)
    assert mail.thresholds == (0.97, 0.97)


@pytest.mark.thorough(reason="learns and classifies many messages: seconds")
def test_out_of_fold_scores_come_from_fits_without_the_fold(mail) -> None:
    fill(mail, MIN_HAM, 100)
    rows = mail.store.rows()
    found = score_out_of_fold(rows, 1.0, "evidence")
    assert found is not None
    with limit_threads(1):
        alone = score_out_of_fold(rows, 1.0, "evidence")
    assert alone is not None
    assert np.array_equal(alone.scores, found.scores)
    assert np.array_equal(alone.spam_scores, found.spam_scores)
    first = np.flatnonzero((rows.times < MIN_HAM / 5) & ~found.is_spam | (rows.times < 100 / 5) & found.is_spam)
    with MailFilter(mail.store.path.with_name("others.db")) as others:
        for i in range(MIN_HAM):
            if i >= MIN_HAM / 5:
                others.learn(make_message(HAM, i), "ham", time=float(i))
            if 20 <= i < 100:
                others.learn(make_message(SPAM, 10_000 + i), "spam", time=float(i))
        others.refit(force=True)
        expected = {others.classify(make_message(HAM, i)).decibans for i in range(MIN_HAM // 5)}
    ham = first[~found.is_spam[first]]
    got = found.scores[ham] * 10 / math.log(10)
    assert sorted(got.tolist()) == pytest.approx(sorted(expected), rel=1e-6)


def test_folds_are_computed_by_kernels_if_the_fit_to_all_messages_is(mail, monkeypatch) -> None:
    fill(mail, MIN_HAM, 60)
    rows = mail.store.rows()
    by_token = np.bincount(rows.indices)
    loaded, load = [], logistic.load_kernels
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", int(by_token[by_token > 1].sum()) + 2 * len(rows.labels))
    monkeypatch.setattr(logistic, "load_kernels", lambda *work: loaded.append(load(*work)) or loaded[-1])
    assert score_out_of_fold(rows, 1.0, "evidence") is not None
    assert loaded
    assert None not in loaded


@pytest.mark.parametrize("value", [{}, {"spam_at": 2}, [], "x", {"spam_at": "high"}])
def test_an_invalid_choice_is_an_error_that_names_the_way_out(mail, value) -> None:
    fill(mail, 30, 30)
    mail.refit(force=True)
    fit = mail.store.fit("evidence")
    mail.store.save_fit("evidence", [], [np.zeros(0)], fit.meta | {"choice": value})
    with pytest.raises(StoreError, match=r"thresholds of model 'evidence' are invalid.*deciban mail fit"):
        mail.classify(b"\n\nhello")
    assert mail.refit(force=True)
    assert mail.classify(b"\n\nhello").label
