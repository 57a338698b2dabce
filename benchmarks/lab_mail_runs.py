"""The measurements of `docs/lab/mail.md`: filters taught and asked, each in a process that may be any of several."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from deciban.mail.evaluation.evaluate_filter import UNTRAINED_LOG_ODDS, evaluate_online, evaluate_split
from deciban.mail.evaluation.filter_metrics import FilterMetrics, apply_thresholds
from deciban.mail.evaluation.in_memory_filter import InMemoryFilter
from deciban.mail.evaluation.labelled_mail import LabelledMail, draw_split
from deciban.mail.model.mail_models import MODELS, ModelName

from . import mail_data, mail_peers, mail_rspamd
from .text_peers import PeerMissingError

SIZES = (400, 50, 50)
SLOW = (mail_peers.SpamAssassinBayes, mail_rspamd.Rspamd, mail_peers.Crm114)
"""Filters that take a minute for a split."""
FEW = range(3)
"""The seeds that these are given."""
Row = dict[str, FilterMetrics | None]
"""By filter; None where the program is absent."""


@cache
def tokens(name: str) -> LabelledMail:
    """A corpus that is read once in each process."""
    return {mail.name: mail for mail in mail_data.corpora()}[name].read()


def of_models(seed: int) -> Row:
    """All four models on one split."""
    read, (learn, judge) = tokens("SpamAssassin"), mail_data.spamassassin().split(seed)
    told: Row = {}
    for model in MODELS:
        taught = InMemoryFilter(read, model)
        taught.learn(learn)
        taught.refit(force=True)
        scores = taught.scores(judge)
        told[model] = FilterMetrics.compute(scores, read.codes[judge], apply_thresholds(scores, taught.thresholds))
    return told


def of_peer(kind: type[mail_peers.Filter], learn: Any, judge: Any) -> FilterMetrics:
    """Another filter on messages of SpamAssassin's corpus."""
    mail = mail_data.spamassassin()
    files = mail.files()
    with mail_peers.fresh(kind) as peer:
        peer.learn([files[i] for i in learn], mail.codes[learn])
        scores = peer.scores([files[i] for i in judge])
        return FilterMetrics.compute(
            scores, mail.codes[judge], apply_thresholds(scores, peer.thresholds or (0.5, 0.5))
        )


def of_peer_split(kind: type[mail_peers.Filter], seed: int) -> FilterMetrics | None:
    """On one split; None where the program is absent."""
    try:
        return of_peer(kind, *mail_data.spamassassin().split(seed))
    except PeerMissingError:
        if kind is mail_peers.Bogofilter:
            raise
        return None


def of_draw(model: ModelName, seed: int) -> Any:
    """The lecture's experiment, once."""
    return evaluate_split(tokens("SpamAssassin").deduplicate(), SIZES, seed, model)


def of_peer_draw(seed: int) -> FilterMetrics:
    """bogofilter on the same messages."""
    read = tokens("SpamAssassin").deduplicate()
    number = np.array([int(name) for name in read.names])
    learn, _, judge = draw_split(read.codes, SIZES, seed)
    return of_peer(mail_peers.Bogofilter, number[learn], number[judge])


def of_mailbox(number: int, model: ModelName) -> Any:
    """A mailbox in order of arrival."""
    return evaluate_online(tokens(f"Enron{number}"), model)


def of_peer_mailbox(number: int) -> FilterMetrics:
    """bogofilter on the same mailbox, message by message."""
    mail = mail_data.enron(number)
    files = mail.files()
    scores = np.zeros(len(files))
    with mail_peers.fresh(mail_peers.Bogofilter) as peer:
        for i, path in enumerate(files):
            scores[i] = peer.scores([path])[0] if i else UNTRAINED_LOG_ODDS  # there is no wordlist yet
            peer.learn([path], mail.codes[i : i + 1])
    return FilterMetrics.compute(scores, mail.codes, apply_thresholds(scores, peer.thresholds or (0.5, 0.5)))


Slow = dict[str, list[Future[FilterMetrics | None]]]


class Asked(NamedTuple):
    """What other processes are working on."""

    models: list[Future[Row]]
    peers: dict[str, list[Future[FilterMetrics | None]]]
    draws: dict[str, list[Future[Any]]]
    peer_draws: list[Future[FilterMetrics]]
    boxes: dict[tuple[int, str], Future[Any]]
    peer_boxes: dict[int, Future[FilterMetrics]]


def asked(pool: ProcessPoolExecutor, seeds: Sequence[int], drawn_seeds: Sequence[int], boxes: Iterable[int]) -> Asked:
    """All measurements, begun."""
    boxes = list(boxes)
    return Asked(
        [pool.submit(of_models, seed) for seed in seeds],
        {mail_peers.Bogofilter.name: [pool.submit(of_peer_split, mail_peers.Bogofilter, seed) for seed in seeds]},
        {model: [pool.submit(of_draw, model, seed) for seed in drawn_seeds] for model in MODELS},
        [pool.submit(of_peer_draw, seed) for seed in drawn_seeds],
        {(number, model): pool.submit(of_mailbox, number, model) for number in boxes for model in MODELS},
        {number: pool.submit(of_peer_mailbox, number) for number in boxes},
    )


def asked_slow(pool: ProcessPoolExecutor, seeds: Sequence[int]) -> Slow:
    """The slow filters, begun."""
    return {kind.name: [pool.submit(of_peer_split, kind, seed) for seed in seeds] for kind in SLOW}
