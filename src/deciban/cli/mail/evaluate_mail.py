"""`deciban mail evaluate`: how good a filter is on mail whose labels are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.commands import UsageError
from deciban.cli.mail.mail_inputs import check_paths, count_messages

if TYPE_CHECKING:
    from deciban.mail.evaluation.labelled_mail import LabelledMail
    from deciban.mail.store.store_settings import ModelName

DEFAULT_FOLDS: Final = 10


@a.command(
    a.HAM, a.SPAM,
    a.argument(
        "--split", metavar="A/B/C",
        help="Learn from A messages, choose smoothing and thresholds by B others, judge by C more; each part has its "
        "share of ham and spam.",
    ),
    a.number("--draws", "NUMBER", "Repeat --split so often, each time with other messages.", minimum=1, default=1),
    a.number(
        "--lost-ham", "NUMBER", kind=float, minimum=0.0,
        help="How many missed spams a lost ham is as bad as, where --split chooses thresholds: 10 unless given.",
    ),
    a.flag("--online", "Judge each message by those that came before it, then learn it (TREC)."),
    a.argument(
        "--order", metavar="arrival|name", choices=("arrival", "name"),
        help="The order of --online: by when messages came (unless given), or by the names of their files.",
    ),
    a.number(
        "--folds", "K", minimum=2,
        help=f"Judge each of K parts by a filter of all others: {DEFAULT_FOLDS} parts, unless another way is asked "
        "for.",
    ),
    a.number("--seed", "NUMBER", "Of the draw of --split, or of --folds.", minimum=0, default=0),
    a.argument(
        "--model", metavar="MODEL", choices=a.MODEL_NAMES, default="evidence",
        help="The model: evidence, bayes, logistic or fisher.",
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
    """Judge a filter on mail whose labels are known, in memory: no store is read or written.

    Each message counts once, however often it is there; those that are there as ham and as spam are left out.
    """
    _check_method(split, draws, lost_ham, online, order, folds)
    if not ham or not spam:
        raise UsageError("both are wanted: --ham PATH and --spam PATH")
    with handle_errors(debug):
        check_paths([*ham, *spam])
        mail = _read(ham, spam)
        if split is not None:
            report, screen = _evaluate_split(mail, split, draws, seed, model, lost_ham), "splits"
        elif online:
            report, screen = _evaluate_online(mail, order, model), "stream"
        else:
            report, screen = _evaluate_folds(mail, folds or DEFAULT_FOLDS, seed, model), "folds"
        if json:
            from deciban.cli.output import print_json

            print_json(report.to_dict())
        else:
            from deciban.cli.mail import evaluation_screen

            getattr(evaluation_screen, f"show_{screen}")(report)


def _check_method(
    split: str | None, draws: int, lost_ham: float | None, online: bool, order: str | None, folds: int | None
) -> None:
    """Refuse two methods at once, and options of a method that is not chosen."""
    if (split is not None) + online + (folds is not None) > 1:
        raise UsageError("--split, --online and --folds are different ways of judging: give one of them")
    if split is None and (draws > 1 or lost_ham is not None):
        raise UsageError("--draws and --lost-ham are for --split")
    if order is not None and not online:
        raise UsageError("--order is for --online: the other ways draw messages by chance")
    if split is not None:
        from deciban.errors import InputError
        from deciban.mail.evaluation.labelled_mail import parse_sizes

        try:
            parse_sizes(split)
        except InputError as error:
            raise UsageError(str(error)) from None


def _read(ham: Sequence[str], spam: Sequence[str]) -> LabelledMail:
    """Read all of the mail, each message once."""
    from deciban.mail.evaluation.labelled_mail import read_labelled_mail

    with count_messages("reading") as tick:
        found = read_labelled_mail(ham, spam, processes=None, progress=lambda _: tick())
    kept = found.deduplicate()
    if len(kept) < len(found):
        gone = len(found) - len(kept)
        print_stderr(
            f"{gone} of {len(found)} messages are there more than once: each counts once, or, if it is there as ham "
            "and as spam, not at all"
        )
    return kept


def _evaluate_split(
    mail: LabelledMail, split: str, draws: int, seed: int, model: ModelName, lost_ham: float | None
) -> Any:
    from deciban.mail.evaluation.evaluate_filter import evaluate_draws, evaluate_split
    from deciban.mail.evaluation.filter_metrics import LOST_HAM_COST
    from deciban.mail.evaluation.labelled_mail import parse_sizes

    cost = LOST_HAM_COST if lost_ham is None else lost_ham
    if draws == 1:
        return evaluate_split(mail, parse_sizes(split), seed, model, cost)
    with count_messages("judging") as tick:
        return evaluate_draws(mail, parse_sizes(split), range(seed, seed + draws), model, cost, lambda _: tick())


def _evaluate_online(mail: LabelledMail, order: str | None, model: ModelName) -> Any:
    from deciban.mail.evaluation.evaluate_filter import evaluate_online

    ordered = mail.sort_by_name() if order == "name" else mail.sort_by_arrival()
    with count_messages("judging") as tick:
        return evaluate_online(ordered, model, lambda _: tick())


def _evaluate_folds(mail: LabelledMail, folds: int, seed: int, model: ModelName) -> Any:
    from deciban.mail.evaluation.evaluate_filter import evaluate_folds

    with count_messages("folds judged") as tick:
        return evaluate_folds(mail, folds, seed, model, lambda _: tick())
