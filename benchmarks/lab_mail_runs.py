"""The measurements of `docs/lab/mail.md`: filters are trained and tested in several processes."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from deciban.mail.evaluation.evaluate_filter import (
    UNTRAINED_LOG_ODDS,
    InMemoryFilter,
    evaluate_online,
    evaluate_split,
)
from deciban.mail.evaluation.filter_metrics import FilterMetrics, apply_thresholds
from deciban.mail.evaluation.labelled_mail import LabelledMail, draw_split
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


@cache
def tokens(name: str) -> LabelledMail:
    """Return a corpus, which is read once in each process."""
    return {mail.name: mail for mail in mail_data.corpora()}[name].read()


def measure_models(seed: int) -> Row:
    """Test all four models on one split."""
    read, (learn, judge) = tokens("SpamAssassin"), mail_data.spamassassin().split(seed)
    metrics: Row = {}
    for model in MODELS:
        trained = InMemoryFilter(read, model)
        trained.learn(learn)
        trained.refit(force=True)
        scores = trained.scores(judge)
        metrics[model] = FilterMetrics.compute(
            scores, read.codes[judge], apply_thresholds(scores, trained.thresholds)
        )
    return metrics


def measure_peer(kind: type[mail_peers.Filter], learn: Any, judge: Any) -> FilterMetrics:
    """Test another filter on messages of SpamAssassin's corpus."""
    mail = mail_data.spamassassin()
    files = mail.files()
    with mail_peers.fresh(kind) as peer:
        peer.learn([files[i] for i in learn], mail.codes[learn])
        scores = peer.scores([files[i] for i in judge])
        return FilterMetrics.compute(
            scores, mail.codes[judge], apply_thresholds(scores, peer.thresholds or (0.5, 0.5))
        )


def measure_peer_split(kind: type[mail_peers.Filter], seed: int) -> FilterMetrics | None:
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
    return measure_peer(mail_peers.Bogofilter, number[learn], number[judge])


def measure_mailbox(number: int, model: ModelName) -> Any:
    """Evaluate a mailbox in order of arrival."""
    return evaluate_online(tokens(f"Enron{number}"), model)


def measure_peer_mailbox(number: int) -> FilterMetrics:
    """Test bogofilter on a mailbox, message by message."""
    mail = mail_data.enron(number)
    files = mail.files()
    scores = np.zeros(len(files))
    with mail_peers.fresh(mail_peers.Bogofilter) as peer:
        for i, path in enumerate(files):
            scores[i] = peer.scores([path])[0] if i else UNTRAINED_LOG_ODDS  # there is no wordlist yet
            peer.learn([path], mail.codes[i : i + 1])
    return FilterMetrics.compute(scores, mail.codes, apply_thresholds(scores, peer.thresholds or (0.5, 0.5)))


Slow = dict[str, list[Future[FilterMetrics | None]]]


class Submitted(NamedTuple):
    """The measurements that other processes run."""

    models: list[Future[Row]]
    peers: dict[str, list[Future[FilterMetrics | None]]]
    draws: dict[str, list[Future[Any]]]
    peer_draws: list[Future[FilterMetrics]]
    boxes: dict[tuple[int, str], Future[Any]]
    peer_boxes: dict[int, Future[FilterMetrics]]


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
