"""The reports of `deciban mail evaluate` on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deciban.cli.mail.describe_tokens import describe_token
from deciban.cli.render import console, heading, line, pairs, table, to_one_line
from deciban.formatting import format_signed

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.mail.evaluation.evaluate_filter import DrawsReport, FoldsReport, Mistake, OnlineReport, SplitReport
    from deciban.mail.evaluation.filter_metrics import FilterMetrics

MAX_MISTAKES = 10
"""Number of mistakes that are shown; --json has them all."""

MAX_CLUES = 5
"""Number of clues for spam, and for ham, that are shown for a mistake."""

CURVE_POINTS = 12
"""Approximate number of points of a learning curve that are shown."""

SPREAD_ROWS = {
    "error": ("errors at p ≥ ½", "share"), "one_minus_auc": ("1 − AUC", "share"), "log_loss": ("log-loss", "number"),
    "ham_lost": ("ham lost", "number"), "spam_missed": ("spam missed", "number"), "unsure": ("unsure", "number"),
}  # fmt: skip
"""Label and kind of each row of the summary of several draws, by the name of its metric."""


def percent(share: float) -> str:
    """Format a share as a percentage; one below 1 % keeps three decimals.

    >>> percent(0.00551), percent(0.25)
    ('0.551 %', '25.0 %')
    """
    return f"{100 * share:.3f} %" if abs(share) < 0.01 else f"{100 * share:.1f} %"


def show_splits(report: SplitReport | DrawsReport) -> None:
    """Show the evaluation by one split into three parts, or by several draws of it."""
    from deciban.mail.evaluation.evaluate_filter import DrawsReport

    if isinstance(report, DrawsReport):
        _show_draws(report)
        return
    out = console()
    learn, choose, judge = report.sizes
    _show_title(out, f"{report.model}: {learn} messages learned, {choose} to choose by, {judge} to judge by")
    shown = ", ".join(f"{alpha:g} (log-loss {loss:.4f})" for alpha, loss in sorted(report.tried.items()))
    pairs(out, [
        ("smoothing", f"{report.alpha:g}, of {shown}" if len(report.tried) > 1 else "as usual"),
        ("ham up to, spam from", f"p = {report.thresholds[0]:g} and {report.thresholds[1]:g}"),
    ])  # fmt: skip
    _show_metrics(out, report.metrics)
    _show_mistakes(out, report.mistakes)


def _show_draws(report: DrawsReport) -> None:
    """Show means and standard deviations over several draws."""
    out, first = console(), report.draws[0]
    learn, choose, judge = first.sizes
    _show_title(out, f"{first.model}: {learn} messages learned, {choose} to choose by, {judge} to judge by; "
               f"{len(report.draws)} draws")  # fmt: skip
    from deciban.mail.evaluation.evaluate_filter import SPREAD

    rows = []
    for name, (words, kind) in SPREAD_ROWS.items():
        mean, deviation = report.spread(SPREAD[name])
        show = percent if kind == "share" else "{:.3f}".format
        rows.append([words, show(mean), show(deviation)])
    heading(out, "On the messages to judge by", "over all draws")
    table(out, ["", "mean", "deviation"], rows, right=(1, 2))


def show_stream(report: OnlineReport) -> None:
    """Show the online evaluation: the metrics of TREC, and the learning curve."""
    out, metrics = console(), report.metrics
    _show_title(out, f"{report.model}: each of {metrics.ham + metrics.spam} messages judged, then learned; "
               f"refitted {report.refits} times")  # fmt: skip
    _show_metrics(out, metrics)
    heading(out, "On the way", "wrong at p ≥ ½, by hundreds")
    every = max(1, -(-len(report.curve) // CURVE_POINTS))
    chosen = [step for i, step in enumerate(report.curve) if i < 2 or i % every == 0 or i == len(report.curve) - 1]
    rows = [[str(s.upto), f"{s.ham_wrong} of {s.ham}", f"{s.spam_wrong} of {s.spam}"] for s in chosen]
    table(out, ["up to", "ham", "spam"], rows, right=(0, 1, 2))


def show_folds(report: FoldsReport) -> None:
    """Show the evaluation by cross-validation."""
    out = console()
    n = report.metrics.ham + report.metrics.spam
    _show_title(out, f"{report.model}: {n} messages in {report.folds} folds, each judged by a filter of the others")
    _show_metrics(out, report.metrics)
    _show_mistakes(out, report.mistakes)


def _show_title(out: Console, words: str) -> None:
    """Show what was done."""
    out.print(to_one_line(words), style="bold", soft_wrap=True)


def _show_metrics(out: Console, metrics: FilterMetrics) -> None:
    """Show the confusion table and the metrics."""
    heading(out, "Verdicts")
    rows = [[name, *map(str, row)] for name, row in zip(("ham", "spam"), metrics.confusion)]
    table(out, ["of", "called ham", "spam", "unsure"], rows, right=(1, 2, 3))
    low, high = metrics.error_interval
    heading(out, "At p ≥ ½", "where every message must be ham or spam")
    pairs(out, [
        ("errors", f"{metrics.ham_wrong + metrics.spam_wrong}, {percent(metrics.error)} "
                   f"(95 %: {percent(low)} to {percent(high)})"),
        ("ham misclassified (hm)", percent(1 - metrics.ham_recall)),
        ("spam misclassified (sm)", percent(1 - metrics.spam_recall)),
        ("logistic average (lam)", percent(metrics.lam)),
        ("1 − AUC (1 − ROCA)", percent(metrics.misranked)),
        ("log-loss", f"{metrics.log_loss:.4f}"),
    ])  # fmt: skip


def _show_mistakes(out: Console, mistakes: Sequence[Mistake]) -> None:
    """Show the mistakes and the clues that led to them."""
    if not mistakes:
        return
    shown = f"the surest {MAX_MISTAKES} of {len(mistakes)}; --json has all" if len(mistakes) > MAX_MISTAKES else ""
    heading(out, "Mistakes", shown or f"{len(mistakes)}, the surest first")
    for mistake in mistakes[:MAX_MISTAKES]:
        verdict = mistake.verdict
        line(out, f"{mistake.label}: {mistake.name}")
        line(out, f"p(spam) = {verdict.probability:.4f}, {format_signed(verdict.decibans, 1)} dB", indent=6)
        for words, sign in (("for spam", 1), ("for ham", -1)):
            clues = [clue for clue in verdict.clues if clue.decibans * sign > 0][:MAX_CLUES]
            found = ", ".join(f"{describe_token(clue.token)} {format_signed(clue.decibans, 1)}" for clue in clues)
            line(out, f"{words}: {found or 'little'}", indent=6)
