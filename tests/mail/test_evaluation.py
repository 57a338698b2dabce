"""Evaluation of a filter in memory: the numbers of a store, disjoint parts, metrics checked by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from deciban.errors import InputError
from deciban.mail.evaluation.evaluate_filter import (
    InMemoryFilter,
    evaluate_draws,
    evaluate_folds,
    evaluate_online,
    evaluate_split,
)
from deciban.mail.evaluation.filter_metrics import FilterMetrics, choose_by_cost
from deciban.mail.evaluation.labelled_mail import (
    LabelledMail,
    draw_folds,
    draw_split,
    parse_sizes,
    read_labelled_mail,
    stratify_size,
)
from deciban.mail.filter import MailFilter
from deciban.mail.message.headers import find_arrival_time
from deciban.mail.model.threshold_choice import LABELS, apply_thresholds
from deciban.mail.store.store_schema import MODELS

from .test_filter import HAM, SPAM, make_messages

N = 40


def mix_messages(seed: int, n: int = N) -> tuple[list[bytes], list[int]]:
    """Letters of both kinds with a few of each other's words, ham and spam in turn."""
    ham = make_messages(HAM + SPAM[:4], n, seed, "aunt@home.example")
    spam = make_messages(SPAM + HAM[:4], n, seed + 1, "x@win.example")
    return [raw for pair in zip(ham, spam) for raw in pair], [0, 1] * n


def read_labelled(raws: list[bytes], codes: list[int]) -> LabelledMail:
    return LabelledMail.read((LABELS[code], (str(i), raw)) for i, (code, raw) in enumerate(zip(codes, raws)))


def read_mixed(seed: int = 0, n: int = N) -> LabelledMail:
    raws, codes = mix_messages(seed, n)
    return read_labelled(raws, codes)


def learn_messages(mail: MailFilter, raws: list[bytes], codes: list[int]) -> None:
    for raw, code in zip(raws, codes):
        mail.learn(raw, ("ham", "spam")[code])


@pytest.mark.parametrize("model", MODELS)
def test_the_filter_in_memory_gives_the_verdicts_of_a_store(tmp_path: Path, model: str) -> None:
    raws, codes = mix_messages(3)
    train = range(50)
    mail = read_labelled(raws, codes)
    trained = InMemoryFilter(mail, model)  # type: ignore[arg-type]
    trained.learn(train)
    trained.refit(force=True)
    with MailFilter(tmp_path / "mail.db", model=model) as store:
        learn_messages(store, raws[:50], codes[:50])
        store.refit(force=True)
        for i in range(50, len(raws)):
            stored, found = store.classify(raws[i]), trained.verdict(i, 15)
            assert found.probability == pytest.approx(stored.probability, rel=1e-9)
            assert found.label == stored.label
            shown, held = ([clue.decibans for clue in verdict.clues] for verdict in (found, stored))
            assert shown == pytest.approx(held, rel=1e-9, abs=1e-9)
            assert trained.scores([i])[0] == pytest.approx(stored.decibans * math.log(10) / 10, rel=1e-9, abs=1e-9)


def test_online_scores_are_those_of_a_store_on_the_way(tmp_path: Path) -> None:
    raws, codes = mix_messages(5)
    report = evaluate_online(read_labelled(raws, codes))
    with MailFilter(tmp_path / "mail.db") as store:
        refits = 0
        for raw, code, score in zip(raws, codes, report.scores):
            assert store.classify(raw).decibans * math.log(10) / 10 == pytest.approx(score, rel=1e-9, abs=1e-9)
            store.learn(raw, ("ham", "spam")[code])
            refits += bool(store.refit())
    assert refits == report.refits > 3
    assert sum(step.ham + step.spam for step in report.curve) == len(raws)
    assert sum(step.ham_wrong + step.spam_wrong for step in report.curve) / len(raws) == report.metrics.error


def test_the_same_message_is_learned_once_and_moves_with_its_label() -> None:
    raws, codes = mix_messages(1)
    twice = read_labelled([*raws, raws[0]], [*codes, 1])
    moved, plain = InMemoryFilter(twice), InMemoryFilter(twice)
    moved.learn([*range(len(raws)), 3, len(raws)])
    plain.learn([*range(1, len(raws)), len(raws)])
    assert moved.scores([4, 5]).tolist() == plain.scores([4, 5]).tolist()


def test_messages_under_both_labels_are_not_evaluated_and_repeated_ones_count_once() -> None:
    raws, codes = mix_messages(1, 3)
    mail = read_labelled([*raws, raws[0], raws[1]], [*codes, 0, 0])
    assert mail.deduplicate().names == ("0", "2", "3", "4", "5")


def test_a_store_without_messages_gives_none(tmp_path: Path) -> None:
    with MailFilter(tmp_path / "mail.db") as empty:
        mail = LabelledMail.from_store(empty.store)
    assert (len(mail), mail.names, mail.tokens) == (0, (), ())


def test_metrics_are_those_of_scikit_learn_and_of_counting() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 2, 300)
    scores = np.round(random.normal(2.0 * codes - 1.0, 1.5), 1)
    verdicts = apply_thresholds(scores, (0.2, 0.95))
    metrics, p = FilterMetrics.compute(scores, codes, verdicts), 1 / (1 + np.exp(-scores))
    assert metrics.misranked == pytest.approx(1 - roc_auc_score(codes, scores))
    assert metrics.log_loss == pytest.approx(log_loss(codes, p))
    assert metrics.error == np.mean((p >= 0.5) != codes)
    assert metrics.lost == ((p >= 0.95) & (codes == 0)).sum()
    assert metrics.missed == ((p <= 0.2) & (codes == 1)).sum()
    assert metrics.unsure == ((p > 0.2) & (p < 0.95)).sum()
    assert metrics.spam_recall == np.mean(p[codes == 1] >= 0.5)


def test_the_logistic_average_of_equal_shares_is_that_share() -> None:
    assert FilterMetrics(((89, 10, 0), (10, 89, 0)), 10, 10, 0.0, 0.0).lam == pytest.approx(10.5 / 100)
    lopsided = FilterMetrics(((99, 0, 0), (50, 49, 0)), 0, 50, 0.0, 0.0).lam
    by_hand = math.sqrt((0.5 / 99.5) * (50.5 / 49.5))
    assert lopsided == pytest.approx(by_hand / (1 + by_hand))


def test_a_split_has_the_sizes_asked_for_and_nothing_in_two_parts() -> None:
    codes = np.array([0] * 70 + [1] * 30)
    parts = draw_split(codes, (60, 10, 20), seed=4)
    assert [len(part) for part in parts] == [60, 10, 20]
    assert [int(codes[part].sum()) for part in parts] == [18, 3, 6]
    assert len(np.unique(np.concatenate(parts))) == 90
    again = draw_split(codes, (60, 10, 20), seed=4)
    assert all((a == b).all() for a, b in zip(parts, again))
    assert (np.sort(parts[2]) != np.sort(draw_split(codes, (60, 10, 20), seed=5)[2])).any()


def test_a_part_never_lacks_a_label() -> None:
    assert stratify_size(2, (990, 10)) == (1, 1)


@pytest.mark.parametrize("text", ["400", "400/50", "400/50/x", "400/50/0", "-1/2/3", "", "1/2/3/4"])
def test_what_is_no_split_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="400/50/50"):
        parse_sizes(text)


def test_a_split_of_more_messages_than_there_are_is_refused() -> None:
    with pytest.raises(InputError, match=r"needs 65 ham, and there are 50"):
        draw_split(np.array([0] * 50 + [1] * 20), (80, 6, 6), 0)
    with pytest.raises(InputError, match="both kinds"):
        draw_split(np.zeros(50, dtype=int), (20, 5, 5), 0)


def test_folds_score_each_message_once_by_filters_that_did_not_learn_it() -> None:
    codes = np.array([0] * 33 + [1] * 17)
    folds = draw_folds(codes, 5, seed=0)
    assert sorted(np.concatenate([judge for _, judge in folds]).tolist()) == list(range(50))
    for learn, judge in folds:
        assert set(learn) | set(judge) == set(range(50))
        assert not set(learn) & set(judge)
        assert 3 <= codes[judge].sum() <= 4
    with pytest.raises(InputError, match="18 folds"):
        draw_folds(codes, 18, 0)


def test_thresholds_stay_unless_moving_them_is_cheaper() -> None:
    clear, codes = np.array([-6.0, -5.0, 6.0, 5.0]), np.array([0, 0, 1, 1], dtype=np.int32)
    assert choose_by_cost(clear, codes) == (0.2, 0.95)
    shy = np.array([-0.9, -0.9, 6.0, 5.0])
    assert choose_by_cost(shy, codes) == (0.3, 0.95)
    dear = np.array([-6.0, 3.2, 6.0, 5.0])  # a ham at p = 0.96
    assert choose_by_cost(dear, codes) == (0.2, 0.97)
    assert choose_by_cost(dear, codes, lost_ham_cost=0.1) == (0.2, 0.95)


def test_the_experiment_of_the_lecture_reports_its_choices_and_its_mistakes() -> None:
    report = evaluate_split(read_mixed(n=60), (80, 20, 20), seed=1)
    assert report.metrics.ham + report.metrics.spam == 20
    assert report.alpha in report.tried
    assert len(report.mistakes) == report.metrics.ham_wrong + report.metrics.spam_wrong
    for mistake in report.mistakes:
        assert (mistake.verdict.probability >= 0.5) == (mistake.label == "ham")
        assert mistake.verdict.clues
    assert report.to_dict()["called"]["spam"]["spam"] == report.metrics.confusion[1][1]


def test_draws_are_different_splits_with_their_mean_and_spread() -> None:
    report = evaluate_draws(read_mixed(n=40), (40, 10, 20), range(3))
    errors = [draw.metrics.error for draw in report.draws]
    assert report.spread("error") == pytest.approx((np.mean(errors), np.std(errors, ddof=1)))
    assert report.to_dict()["draws"] == 3


def test_folds_report_all_messages() -> None:
    report = evaluate_folds(read_mixed(), 4)
    assert report.metrics.ham == report.metrics.spam == N
    assert report.to_dict()["folds"] == 4


def test_arrival_is_dated_by_the_last_server_else_by_the_date_header() -> None:
    received = b"Received: from a\n by b; Thu, 1 Jan 1970 00:00:10 +0000\n"
    assert find_arrival_time(received + b"Date: Thu, 1 Jan 1970 00:00:20 +0000\n\nDate: none\n") == 10.0
    assert find_arrival_time(b"Date: Thu, 1 Jan 1970 00:00:20 +0000\r\nReceived: from nowhere\r\n\r\n") == 20.0
    assert find_arrival_time(b"Subject: a\n\nDate: Thu, 1 Jan 1970 00:00:20 +0000\n") is None
    assert find_arrival_time(b"Date: Foo, 99 Bar 99999999999999 99:99:99 +9999999999\n\n") is None
    assert find_arrival_time(b"") is None


def test_mail_is_put_in_order_of_arrival_or_of_names(tmp_path: Path) -> None:
    for folder, name, second in (("ham", "3", 30), ("ham", "1", 0), ("spam", "2", 20), ("spam", "4", 10)):
        (tmp_path / folder).mkdir(exist_ok=True)
        date = f"Date: Thu, 1 Jan 1970 00:00:{second} +0000\n" if second else ""
        (tmp_path / folder / name).write_text(f"{date}Subject: {name}\n\n{name}\n")
    mail = read_labelled_mail([str(tmp_path / "ham")], [str(tmp_path / "spam")])
    assert sorted(mail.codes.tolist()) == [0, 0, 1, 1]
    assert [name.rpartition("/")[2] for name in mail.sort_by_arrival().names] == ["1", "4", "2", "3"]
    assert [name.rpartition("/")[2] for name in mail.sort_by_name().names] == ["1", "2", "3", "4"]
    undated = read_labelled([b"\n\nx"], [0])
    with pytest.raises(InputError, match="--order name"):
        undated.sort_by_arrival()
