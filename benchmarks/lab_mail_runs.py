"""The measurements of `docs/lab/mail.md`: filters are trained and tested in several processes."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.mail.evaluation.evaluate_filter import (
    UNTRAINED_LOG_ODDS,
    InMemoryFilter,
    evaluate_online,
    evaluate_split,
)
from deciban.mail.evaluation.filter_metrics import FilterMetrics
from deciban.mail.evaluation.labelled_mail import LabelledMail, draw_split
from deciban.mail.model.threshold_choice import apply_thresholds
from deciban.mail.store.store_schema import MODELS, ModelName

from . import mail_data, mail_peers, mail_rspamd
from .text_peers import PeerMissingError

SIZES = (400, 50, 50)
SLOW = (mail_peers.SpamAssassinBayes, mail_rspamd.Rspamd, mail_peers.Crm114)
"""Filters that take a minute for a split."""
SLOW_SEEDS = range(3)
"""The seeds of these."""
Row = dict[str, FilterMetrics | None]
"""The metrics of each filter; None where the program is absent."""
Curve = NDArray[np.float64]
"""The share of spam that is not caught when 0, 1, 2 … of the ham are lost (see `trade_off`)."""
MAX_LOST_SHARE = 0.01
"""Share of the ham up to which curves are drawn."""


class Measured(NamedTuple):
    """The metrics of a filter, its curve, and the number of ham that it was tested by."""

    metrics: FilterMetrics
    curve: Curve
    n_ham: int


def measure(scores: Any, codes: Any, verdicts: Any, spam_scores: Any) -> Measured:
    """Compute metrics and curve of a filter's scores and verdicts."""
    return Measured(
        FilterMetrics.compute(scores, codes, verdicts), trade_off(spam_scores, codes), int((codes == 0).sum())
    )


def trade_off(spam_scores: Any, codes: Any) -> Curve:
    """Compute the share of spam that is not caught at thresholds at which 0, 1, 2 … ham are lost.

    >>> trade_off(np.array([0.0, 2.0, 1.0, 3.0] + [-1.0] * 98), np.array([0, 0, 1, 1] + [0] * 98)).tolist()
    [0.5, 0.0]
    """
    ham, spam = np.sort(spam_scores[codes == 0])[::-1], np.sort(spam_scores[codes == 1])
    kept = ham[: int(MAX_LOST_SHARE * len(ham)) + 1]
    return np.asarray(np.searchsorted(spam, kept, side="right") / len(spam))


@cache
def tokens(name: str) -> LabelledMail:
    """Return a corpus, which is read once in each process."""
    return {mail.name: mail for mail in mail_data.corpora()}[name].read()


def measure_models(seed: int) -> dict[str, Measured]:
    """Test all four models on one split."""
    read, (learn, judge) = tokens("SpamAssassin"), mail_data.spamassassin().split(seed)
    measured = {}
    for model in MODELS:
        trained = InMemoryFilter(read, model)
        trained.learn(learn)
        trained.refit(force=True)
        found = trained.judge(judge)
        measured[model] = measure(found.scores, read.codes[judge], found.verdicts, found.spam_scores)
    return measured


def measure_peer(kind: type[mail_peers.Filter], learn: Any, judge: Any) -> Measured:
    """Test another filter on messages of SpamAssassin's corpus."""
    mail = mail_data.spamassassin()
    files = mail.files()
    with mail_peers.fresh(kind) as peer:
        peer.learn([files[i] for i in learn], mail.codes[learn])
        scores = peer.scores([files[i] for i in judge])
        return measure(scores, mail.codes[judge], apply_thresholds(scores, peer.thresholds or (0.5, 0.5)), scores)


def measure_peer_split(kind: type[mail_peers.Filter], seed: int) -> Measured | None:
    """Test another filter on one split; None where the program is absent."""
    try:
        return measure_peer(kind, *mail_data.spamassassin().split(seed))
    except PeerMissingError:
        if kind is mail_peers.Bogofilter:
            raise
        return None


def measure_draw(model: ModelName, seed: int) -> Any:
    """Evaluate one random split."""
    return evaluate_split(tokens("SpamAssassin").deduplicate(), SIZES, seed, model)


def measure_peer_draw(seed: int) -> FilterMetrics:
    """Test bogofilter on the messages of one random split."""
    read = tokens("SpamAssassin").deduplicate()
    number = np.array([int(name) for name in read.names])
    learn, _, judge = draw_split(read.codes, SIZES, seed)
    return measure_peer(mail_peers.Bogofilter, number[learn], number[judge]).metrics


def measure_mailbox(number: int, model: ModelName) -> tuple[Measured, int]:
    """Evaluate a mailbox in order of arrival; return the number of fits too."""
    read = tokens(f"Enron{number}")
    report = evaluate_online(read, model)
    n_ham = int((read.codes == 0).sum())
    return Measured(report.metrics, trade_off(report.spam_scores, read.codes), n_ham), report.refits


def measure_peer_mailbox(number: int) -> Measured:
    """Test bogofilter on a mailbox, message by message."""
    mail = mail_data.enron(number)
    files = mail.files()
    scores = np.zeros(len(files))
    with mail_peers.fresh(mail_peers.Bogofilter) as peer:
        for i, path in enumerate(files):
            scores[i] = peer.scores([path])[0] if i else UNTRAINED_LOG_ODDS  # there is no wordlist yet
            peer.learn([path], mail.codes[i : i + 1])
    return measure(scores, mail.codes, apply_thresholds(scores, peer.thresholds or (0.5, 0.5)), scores)


Slow = dict[str, list[Future[Measured | None]]]


class Submitted(NamedTuple):
    """The measurements that other processes run."""

    models: list[Future[dict[str, Measured]]]
    peers: dict[str, list[Future[Measured | None]]]
    draws: dict[str, list[Future[Any]]]
    peer_draws: list[Future[FilterMetrics]]
    boxes: dict[tuple[int, str], Future[tuple[Measured, int]]]
    peer_boxes: dict[int, Future[Measured]]


def submit(
    pool: ProcessPoolExecutor, seeds: Sequence[int], draw_seeds: Sequence[int], boxes: Iterable[int]
) -> Submitted:
    """Start all measurements."""
    boxes = list(boxes)
    return Submitted(
        [pool.submit(measure_models, seed) for seed in seeds],
        {
            mail_peers.Bogofilter.name: [
                pool.submit(measure_peer_split, mail_peers.Bogofilter, seed) for seed in seeds
            ]
        },
        {model: [pool.submit(measure_draw, model, seed) for seed in draw_seeds] for model in MODELS},
        [pool.submit(measure_peer_draw, seed) for seed in draw_seeds],
        {(number, model): pool.submit(measure_mailbox, number, model) for number in boxes for model in MODELS},
        {number: pool.submit(measure_peer_mailbox, number) for number in boxes},
    )


def submit_slow(pool: ProcessPoolExecutor, seeds: Sequence[int]) -> Slow:
    """Start the measurements of the slow filters."""
    return {kind.name: [pool.submit(measure_peer_split, kind, seed) for seed in seeds] for kind in SLOW}
