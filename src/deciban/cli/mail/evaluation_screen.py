"""How good a filter was, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deciban.cli.mail.describe_tokens import token_in_words
from deciban.cli.render import console, heading, line, one_line, pairs, table
from deciban.formatting import signed

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.mail.evaluation.evaluate_filter import DrawsReport, FoldsReport, Mistake, SplitReport
    from deciban.mail.evaluation.filter_metrics import FilterMetrics
    from deciban.mail.evaluation.online import OnlineReport

MOST_SHOWN = 10
"""Mistakes; --json has them all."""

MOST_CLUES = 5
"""On either side of a mistake."""

POINTS = 12
"""Of a learning curve that are shown, about."""

SPREAD = {
    "error": ("errors at p ≥ ½", "share"), "one_minus_auc": ("1 − AUC", "share"), "log_loss": ("log-loss", "number"),
    "ham_lost": ("ham lost", "number"), "spam_missed": ("spam missed", "number"), "unsure": ("unsure", "number"),
}  # fmt: skip


def percent(share: float) -> str:
    """A share of next to nothing keeps its digits.

    >>> percent(0.00551), percent(0.25)
    ('0.551 %', '25.0 %')
    """
    return f"{100 * share:.3f} %" if abs(share) < 0.01 else f"{100 * share:.1f} %"


def splits(report: SplitReport | DrawsReport) -> None:
    """The experiment of the lecture, once or often."""
    from deciban.mail.evaluation.evaluate_filter import DrawsReport

    if isinstance(report, DrawsReport):
        draws(report)
        return
    out = console()
    learn, choose, judge = report.sizes
    title(out, f"{report.model}: {learn} messages learned, {choose} to choose by, {judge} to judge by")
    shown = ", ".join(f"{alpha:g} (log-loss {loss:.4f})" for alpha, loss in sorted(report.tried.items()))
    pairs(out, [
        ("smoothing", f"{report.alpha:g}, of {shown}" if len(report.tried) > 1 else "as usual"),
        ("ham up to, spam from", f"p = {report.thresholds[0]:g} and {report.thresholds[1]:g}"),
    ])  # fmt: skip
    quality(out, report.figures)
    wrong(out, report.mistakes)


def draws(report: DrawsReport) -> None:
    """Means and spread."""
    out, first = console(), report.draws[0]
    learn, choose, judge = first.sizes
    title(out, f"{first.model}: {learn} messages learned, {choose} to choose by, {judge} to judge by; "
               f"{len(report.draws)} draws")  # fmt: skip
    from deciban.mail.evaluation.evaluate_filter import SPREAD as OF

    rows = []
    for name, (words, kind) in SPREAD.items():
        mean, deviation = report.spread(OF[name])
        show = percent if kind == "share" else "{:.3f}".format
        rows.append([words, show(mean), show(deviation)])
    heading(out, "On the messages to judge by", "over all draws")
    table(out, ["", "mean", "deviation"], rows, right=(1, 2))


def stream(report: OnlineReport) -> None:
    """What TREC tells, and how it went."""
    out, figures = console(), report.figures
    title(out, f"{report.model}: each of {figures.ham + figures.spam} messages judged, then learned; "
               f"fitted anew {report.refits} times")  # fmt: skip
    quality(out, figures)
    heading(out, "On the way", "wrong at p ≥ ½, by hundreds")
    every = max(1, -(-len(report.curve) // POINTS))
    chosen = [step for i, step in enumerate(report.curve) if i < 2 or i % every == 0 or i == len(report.curve) - 1]
    rows = [[str(s.upto), f"{s.ham_wrong} of {s.ham}", f"{s.spam_wrong} of {s.spam}"] for s in chosen]
    table(out, ["up to", "ham", "spam"], rows, right=(0, 1, 2))


def folds(report: FoldsReport) -> None:
    """Every message once."""
    out = console()
    n = report.figures.ham + report.figures.spam
    title(out, f"{report.model}: {n} messages in {report.folds} folds, each judged by a filter of the others")
    quality(out, report.figures)
    wrong(out, report.mistakes)


def title(out: Console, words: str) -> None:
    """What was done."""
    out.print(one_line(words), style="bold", soft_wrap=True)


def quality(out: Console, figures: FilterMetrics) -> None:
    """Verdicts and figures."""
    heading(out, "Verdicts")
    rows = [[name, *map(str, row)] for name, row in zip(("ham", "spam"), figures.confusion)]
    table(out, ["of", "called ham", "spam", "unsure"], rows, right=(1, 2, 3))
    low, high = figures.error_interval
    heading(out, "At p ≥ ½", "where every message must be ham or spam")
    pairs(out, [
        ("errors", f"{figures.ham_wrong + figures.spam_wrong}, {percent(figures.error)} "
                   f"(95 %: {percent(low)} to {percent(high)})"),
        ("ham misclassified (hm)", percent(1 - figures.ham_recall)),
        ("spam misclassified (sm)", percent(1 - figures.spam_recall)),
        ("logistic average (lam)", percent(figures.lam)),
        ("1 − AUC (1 − ROCA)", percent(figures.misranked)),
        ("log-loss", f"{figures.log_loss:.4f}"),
    ])  # fmt: skip


def wrong(out: Console, mistakes: Sequence[Mistake]) -> None:
    """The mistakes and what led to them."""
    if not mistakes:
        return
    shown = f"the surest {MOST_SHOWN} of {len(mistakes)}; --json has all" if len(mistakes) > MOST_SHOWN else ""
    heading(out, "Mistakes", shown or f"{len(mistakes)}, the surest first")
    for mistake in mistakes[:MOST_SHOWN]:
        verdict = mistake.verdict
        line(out, f"{mistake.label}: {mistake.name}")
        line(out, f"p(spam) = {verdict.probability:.4f}, {signed(verdict.decibans, 1)} dB", indent=6)
        for words, sign in (("for spam", 1), ("for ham", -1)):
            clues = [clue for clue in verdict.clues if clue.decibans * sign > 0][:MOST_CLUES]
            said = ", ".join(f"{token_in_words(clue.token)} {signed(clue.decibans, 1)}" for clue in clues)
            line(out, f"{words}: {said or 'little'}", indent=6)
