"""`deciban mail evaluate`: how good a filter is on mail whose labels are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.files import print_json
from deciban.cli.mail import mail_inputs as a
from deciban.cli.render import Screen
from deciban.errors import InputError, UsageError
from deciban.formatting import format_percent, format_probability, format_signed
from deciban.mail.tokens.token_descriptions import describe_token

if TYPE_CHECKING:
    from deciban.mail.evaluation.evaluate_filter import CurvePoint, DrawsReport, Mistake, Report
    from deciban.mail.evaluation.filter_metrics import FilterMetrics
    from deciban.mail.evaluation.labelled_mail import LabelledMail, Sizes
    from deciban.mail.store.store_schema import ModelName

DEFAULT_FOLDS: Final = 10

MAX_MISTAKES = 10
"""Number of mistakes that are shown; --json has them all."""

MAX_MISTAKE_CLUES = 5
"""Number of clues for spam, and for ham, that are shown for a mistake."""

SHOWN_CURVE_POINTS = 12
"""Approximate number of points of a learning curve that are shown."""


@a.command(
    a.HAM, a.SPAM,
    a.argument(
        "--split", metavar="A/B/C",
        help="Learn from A messages, choose smoothing and thresholds by B others, test on C more; each part has its "
        "share of ham and spam.",
    ),
    a.number("--draws", "NUMBER", "Repeat --split so often, each time with other messages.", minimum=1, default=1),
    a.number(
        "--lost-ham", "NUMBER", kind=float, minimum=0.0,
        help="How many missed spams a lost ham is as bad as, where --split chooses thresholds: 10 unless given.",
    ),
    a.flag("--online", "Classify each message by those that came before it, then learn it (TREC)."),
    a.argument(
        "--order", metavar="arrival|name", choices=("arrival", "name"),
        help="The order of --online: by when messages came (unless given), or by the names of their files.",
    ),
    a.number(
        "--folds", "K", minimum=2,
        help=f"Classify each of K parts by a filter of all others: {DEFAULT_FOLDS} parts, unless another method "
        "is chosen.",
    ),
    a.number("--seed", "NUMBER", "Of the draw of --split, or of --folds.", minimum=0, default=0),
    a.option(
        "--model", "MODEL", "The model: evidence, bayes, logistic or fisher.", choices=a.MODEL_NAMES,
        default="evidence",
    ),
    a.JSON, a.DEBUG,
    examples=[
        "deciban mail evaluate --ham ~/Maildir --spam ~/Maildir/.Junk --split 400/50/50",
        "deciban mail evaluate --ham ~/Maildir --spam ~/Maildir/.Junk --online --json",
    ],
)  # fmt: skip
def evaluate(
    ham: Sequence[str] | None, spam: Sequence[str] | None, split: str | None, draws: int, lost_ham: float | None,
    online: bool, order: str | None, folds: int | None, seed: int, model: ModelName, json: bool, debug: bool,
) -> None:  # fmt: skip
    """Evaluate a filter on mail whose labels are known, in memory: no store is read or written.

    Each message counts once, however often it is there; those that are there as ham and as spam are left out.
    """
    sizes = _check_method(split, draws, lost_ham, online, order, folds)
    if not ham or not spam:
        raise UsageError("both are needed: --ham PATH and --spam PATH")
    with handle_errors(debug):
        a.check_paths([*ham, *spam])
        report = _evaluate(_read(ham, spam), sizes, draws, lost_ham, online, order, folds, seed, model)
        if json:
            print_json(report.to_dict())
        else:
            show_report(report)


def _check_method(
    split: str | None, draws: int, lost_ham: float | None, online: bool, order: str | None, folds: int | None
) -> Sizes | None:
    """Return the sizes of a split; refuse two methods at once, and options of a method that is not chosen."""
    if (split is not None) + online + (folds is not None) > 1:
        raise UsageError("--split, --online and --folds are different methods: give one of them")
    if split is None and (draws > 1 or lost_ham is not None):
        raise UsageError("--draws and --lost-ham are for --split")
    if order is not None and not online:
        raise UsageError("--order is for --online: the other ways draw messages by chance")
    if split is None:
        return None
    from deciban.mail.evaluation.labelled_mail import parse_sizes

    try:
        return parse_sizes(split)
    except InputError as error:
        raise UsageError(str(error)) from None


def _read(ham: Sequence[str], spam: Sequence[str]) -> LabelledMail:
    """Read all of the mail, each message once; InputError if there is none."""
    from deciban.mail.evaluation.labelled_mail import read_labelled_mail

    problems = a.ProblemReporter()
    with a.count_done("reading") as tick:
        found = read_labelled_mail(ham, spam, processes=None, progress=tick, problems=problems)
    problems.report(len(found))
    kept = found.deduplicate()
    if len(kept) < len(found):
        print_stderr(
            f"{len(found) - len(kept)} of {len(found)} messages are there more than once: each counts once, or, if "
            "it is there as ham and as spam, not at all"
        )
    if not len(kept):
        raise InputError("there are no messages to evaluate on. Hint: give mail, and not the same as ham and as spam")
    return kept


def _evaluate(
    mail: LabelledMail, sizes: Sizes | None, draws: int, lost_ham: float | None, online: bool, order: str | None,
    folds: int | None, seed: int, model: ModelName,
) -> Report:  # fmt: skip
    """Evaluate by the method that the options choose."""
    from deciban.mail.evaluation import evaluate_filter as method
    from deciban.mail.evaluation.filter_metrics import LOST_HAM_COST

    cost = LOST_HAM_COST if lost_ham is None else lost_ham
    if sizes and draws == 1:
        return method.evaluate_split(mail, sizes, seed, model, cost)
    n_folds = folds or DEFAULT_FOLDS
    things, total = ("draws", draws) if sizes else ("messages", len(mail)) if online else ("folds", n_folds)
    with a.count_done("classifying", things, total) as tick:
        if sizes:
            return method.evaluate_draws(mail, sizes, range(seed, seed + draws), model, cost, tick)
        if online:
            ordered = mail.sort_by_name() if order == "name" else mail.sort_by_arrival()
            return method.evaluate_online(ordered, model, tick)
        return method.evaluate_folds(mail, n_folds, seed, model, tick)


def format_share(share: float) -> str:
    """Format a share as a percentage; one below 1 % keeps three decimals; a dash for NaN.

    >>> format_share(0.00551), format_share(0.25), format_share(float("nan"))
    ('0.551 %', '25.0 %', '–')
    """
    return format_percent(share, 3 if abs(share) < 0.01 else 1)


def show_report(report: Report, with_mistakes: bool = True) -> None:
    """Show an evaluation: what was done, the metrics, and the mistakes, the learning curve or the spread of draws."""
    from deciban.mail.evaluation.evaluate_filter import DrawsReport, OnlineReport, SplitReport

    out = Screen()
    first = report.draws[0] if isinstance(report, DrawsReport) else report
    n = first.metrics.ham + first.metrics.spam
    if isinstance(first, SplitReport):
        learn, choose, test = first.sizes
        method = f"{learn} messages learned, {choose} to choose by, {test} to test on"
    elif isinstance(first, OnlineReport):
        method = f"each of {n} messages classified, then learned; refits: {first.refits}"
    else:
        method = f"{n} messages in {first.folds} folds, each classified by a filter of the others"
    draws = f"; {len(report.draws)} draws" if isinstance(report, DrawsReport) else ""
    out.print_title(f"{first.model}: {method}{draws}")
    if isinstance(report, DrawsReport):
        _show_spread(out, report)
        return
    if isinstance(report, SplitReport):
        shown = ", ".join(f"{alpha:g} (log-loss {loss:.4f})" for alpha, loss in sorted(report.tried.items()))
        out.print_pairs([
            ("smoothing", f"{report.alpha:g}, of {shown}" if len(report.tried) > 1 else "as usual"),
            ("ham up to, spam from", f"p = {report.thresholds[0]:g} and {report.thresholds[1]:g}"),
        ])  # fmt: skip
    _show_metrics(out, report.metrics)
    if isinstance(report, OnlineReport):
        _show_curve(out, report.curve)
    elif with_mistakes:
        _show_mistakes(out, report.mistakes)


def _show_spread(out: Screen, report: DrawsReport) -> None:
    """Show means and standard deviations over several draws."""
    shares = {"error": "errors at p ≥ ½", "one_minus_auc": "1 − AUC"}
    numbers = {"log_loss": "log-loss", "ham_lost": "ham lost", "spam_missed": "spam missed", "unsure": "unsure"}
    rows = [[words, *map(format_share, report.spread(name))] for name, words in shares.items()]
    rows += [[words, *map("{:.3f}".format, report.spread(name))] for name, words in numbers.items()]
    out.print_heading("On the messages to test on", "over all draws")
    out.print_table(["", "mean", "deviation"], rows, right=(1, 2))


def _show_curve(out: Screen, curve: Sequence[CurvePoint]) -> None:
    """Show the learning curve of an online evaluation."""
    out.print_heading("On the way", "wrong at p ≥ ½, by hundreds")
    every = max(1, -(-len(curve) // SHOWN_CURVE_POINTS))
    chosen = [step for i, step in enumerate(curve) if i < 2 or i % every == 0 or i == len(curve) - 1]
    rows = [[str(s.upto), f"{s.ham_wrong} of {s.ham}", f"{s.spam_wrong} of {s.spam}"] for s in chosen]
    out.print_table(["up to", "ham", "spam"], rows, right=(0, 1, 2))


def _show_metrics(out: Screen, metrics: FilterMetrics) -> None:
    """Show the confusion table and the metrics."""
    out.print_heading("Verdicts")
    rows = [[name, *map(str, row)] for name, row in zip(("ham", "spam"), metrics.confusion)]
    out.print_table(["of", "called ham", "spam", "unsure"], rows, right=(1, 2, 3))
    low, high = metrics.error_interval
    out.print_heading("At p ≥ ½", "where every message must be ham or spam")
    out.print_pairs([
        ("errors", f"{metrics.ham_wrong + metrics.spam_wrong}, {format_share(metrics.error)} "
                   f"(95 %: {format_share(low)} to {format_share(high)})"),
        ("ham misclassified (hm)", format_share(1 - metrics.ham_recall)),
        ("spam misclassified (sm)", format_share(1 - metrics.spam_recall)),
        ("logistic average (lam)", format_share(metrics.lam)),
        ("1 − AUC (1 − ROCA)", format_share(metrics.misranked)),
        ("log-loss", f"{metrics.log_loss:.4f}"),
    ])  # fmt: skip


def _show_mistakes(out: Screen, mistakes: Sequence[Mistake]) -> None:
    """Show the mistakes and the clues that led to them."""
    if not mistakes:
        return
    shown = f"the surest {MAX_MISTAKES} of {len(mistakes)}; --json has all" if len(mistakes) > MAX_MISTAKES else ""
    out.print_heading("Mistakes", shown or f"{len(mistakes)}, the surest first")
    for mistake in mistakes[:MAX_MISTAKES]:
        verdict = mistake.verdict
        out.print_line(f"{mistake.label}: {mistake.name}")
        p = format_probability(verdict.probability)
        out.print_line(f"p(spam) = {p}, {format_signed(verdict.decibans, 1)} dB", indent=6)
        for words, sign in (("for spam", 1), ("for ham", -1)):
            clues = [clue for clue in verdict.clues if clue.decibans * sign > 0][:MAX_MISTAKE_CLUES]
            found = ", ".join(f"{describe_token(clue.token)} {format_signed(clue.decibans, 1)}" for clue in clues)
            out.print_line(f"{words}: {found or 'little'}", indent=6)
