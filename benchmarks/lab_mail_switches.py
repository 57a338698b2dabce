"""Won, tied, lost: the effect of each option of the tokens and each setting of the model on errors and log-loss."""

import math
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import fields, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deciban.mail.evaluation.evaluate_filter import InMemoryFilter
from deciban.mail.evaluation.filter_metrics import log_losses
from deciban.mail.evaluation.labelled_mail import LabelledMail
from deciban.mail.model.weight_fitting import DEFAULT_FIT_SETTINGS, FitSettings
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from deciban.metrics.intervals import paired_mean

from . import mail_data
from .lab_mail_words import SETTINGS, SWITCHES
from .lab_tables import format_table

SEEDS = range(2)
SIGNIFICANT_ERRORS = 2.0
"""Standard errors of a difference that counts."""

CORPORA = ("SpamAssassin", "Enron1", "Enron2", "SMS")
WORD_LENGTHS = {"shortest": (1, 3), "longest": (12, 40)}
SETTING_VALUES: dict[str, tuple[float | bool, ...]] = {
    "alpha": (0.03, 0.1, 1.0),
    "power": (0.0, 0.5, 1.0),
    "cap": (2.0, math.inf),
    "conflict": (0.0, 0.1, 1.0),
    "penalty": (0.00005, 0.005),
    "leave_one_out": (False,),
}

Losses = NDArray[np.float64]
"""Messages × (error, log-loss), the mean over the seeds that test them; NaN where none does."""
Variant = tuple[str, TokenOptions, FitSettings]
Submitted = dict[tuple[str, str], Future[Losses | None]]


def option_variants() -> list[Variant]:
    """Return every option changed."""
    turned = (
        (name, other) for name in (field.name for field in fields(TokenOptions)) for other in alternatives(name)
    )
    return [(f"`{name}={other}`", _change(name, other), DEFAULT_FIT_SETTINGS) for name, other in turned]


def _change(name: str, other: bool | int) -> TokenOptions:
    return replace(DEFAULT_OPTIONS, **{name: other})  # type: ignore[arg-type]


def alternatives(name: str) -> tuple[bool | int, ...]:
    """Return the other values of an option."""
    now = getattr(DEFAULT_OPTIONS, name)
    return (not now,) if isinstance(now, bool) else WORD_LENGTHS[name]


def setting_variants() -> list[Variant]:
    """Return every setting changed."""
    return [
        (f"`{name}={value}`", DEFAULT_OPTIONS, replace(DEFAULT_FIT_SETTINGS, **{name: value}))  # type: ignore[arg-type]
        for name, values in SETTING_VALUES.items()
        for value in values
    ]


@cache
def _mail(name: str) -> mail_data.Mail:
    return {mail.name: mail for mail in mail_data.corpora()}[name]


@cache
def _read_default(name: str) -> LabelledMail:
    return _mail(name).read()


def losses(name: str, reading: TokenOptions, chosen: FitSettings, seeds: Sequence[int]) -> Losses | None:
    """Compute the losses of each message of a corpus under some options; None if the tokens are the default ones."""
    read = _read_default(name) if reading == DEFAULT_OPTIONS else _mail(name).read(reading)
    if reading != DEFAULT_OPTIONS and _same(read, _read_default(name)):
        return None
    total, tested = np.zeros((len(read), 2)), np.zeros(len(read))
    for seed in seeds:
        learn, judge = _mail(name).split(seed)
        trained = InMemoryFilter(read, settings=chosen)
        trained.learn(learn)
        trained.refit(force=True)
        scores, spam = trained.scores(judge), read.codes[judge] == 1
        total[judge, 0] += (scores >= 0) != spam
        total[judge, 1] += log_losses(scores, spam)
        tested[judge] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray(total / tested[:, None])


def _same(a: LabelledMail, b: LabelledMail) -> bool:
    return a.words == b.words and all(np.array_equal(x, y) for x, y in zip(a.tokens, b.tokens))


def submit(pool: ProcessPoolExecutor, quick: bool) -> Submitted:
    """Start all measurements."""
    seeds = SEEDS[:1] if quick else SEEDS
    ways = [("default", DEFAULT_OPTIONS, DEFAULT_FIT_SETTINGS), *option_variants(), *setting_variants()]
    if quick:
        ways = [*ways[:3], ways[-1]]
    corpora = CORPORA[-1:] if quick else CORPORA
    return {
        (way, name): pool.submit(losses, name, reading, chosen, seeds)
        for name in corpora
        for way, reading, chosen in ways
    }


def format_tables(work: Submitted) -> str:
    """Format both tables."""
    corpora = list(dict.fromkeys(name for _, name in work))
    usual = {name: work["default", name].result() for name in corpora}
    parts = []
    for words, ways in ((SWITCHES, option_variants()), (SETTINGS, setting_variants())):
        lines = []
        for way, _, _ in ways:
            if (way, corpora[0]) in work:
                cells = [cell(usual[name], work[way, name].result()) for name in corpora]
                lines.append([way, *cells])
        parts.append(words + "\n" + format_table(["changed", *corpora], lines))
    means = [
        f"{1000 * np.nanmean(found[:, 0]):.2f}, {1000 * np.nanmean(found[:, 1]):.1f}"
        for name in corpora
        if (found := usual[name]) is not None
    ]
    first = "\nDefault (errors per 1000, log-loss in thousandths): " + "; ".join(
        f"{name} {metrics}" for name, metrics in zip(corpora, means)
    )
    return parts[0] + first + ".\n" + parts[1]


def cell(usual: Losses | None, other: Losses | None) -> str:
    """Format the effect of a change in a word and two numbers."""
    if usual is None or other is None:
        return "–"
    both = np.isfinite(usual[:, 0])
    signs, shown = [], []
    for column in (0, 1):
        gap = (other - usual)[both, column]
        middle, error = paired_mean(gap, np.ones(len(gap)))
        signs.append(0 if abs(middle) <= SIGNIFICANT_ERRORS * error else int(np.sign(middle)))
        shown.append(f"{1000 * middle:+.2f}")
    won, lost = 1 in signs, -1 in signs
    word = "mixed" if won and lost else "**won**" if won else "*lost*" if lost else "tied"
    return f"{word} {shown[0]}, {shown[1]}"
