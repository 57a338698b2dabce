"""`deciban mail evaluate`: how good a filter is on mail whose labels are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners
from deciban.cli.mail.learn import Ham, Spam, Spread
from deciban.cli.mail.message_progress import counting, refuse_absent

if TYPE_CHECKING:
    from deciban.mail.evaluation.choose_thresholds import Costs
    from deciban.mail.evaluation.labelled_mail import LabelledMail
    from deciban.mail.model.mail_models import ModelName

EXAMPLE = a.example(
    "deciban mail evaluate --ham ~/Maildir --spam ~/Maildir/.Junk --split 400/50/50",
    "deciban mail evaluate --ham ~/Maildir --spam ~/Maildir/.Junk --online --json",
)
SPOKEN = Spread
FOLDS = 10

Split = Annotated[
    str | None,
    typer.Option(
        "--split", metavar="A/B/C", show_default=False,
        help="Learn from A messages, choose smoothing and thresholds by B others, judge by C more; each part has its "
        "share of ham and spam.",
    ),
]  # fmt: skip
Draws = Annotated[
    int,
    typer.Option("--draws", metavar="NUMBER", min=1, help="Repeat --split so often, each time with other messages."),
]
LostHam = Annotated[
    float | None,
    typer.Option(
        "--lost-ham", metavar="NUMBER", min=0.0, show_default=False,
        help="How many missed spams a lost ham is as bad as, where --split chooses thresholds: 10 unless given.",
    ),
]  # fmt: skip
Online = Annotated[
    bool, typer.Option("--online", help="Scorer each message by those that came before it, then learn it (TREC).")
]
Order = Annotated[
    Literal["arrival", "name"] | None,
    typer.Option(
        "--order", metavar="arrival|name", show_default=False,
        help="The order of --online: by when messages came (unless given), or by the names of their files.",
    ),
]  # fmt: skip
Folds = Annotated[
    int | None,
    typer.Option(
        "--folds", metavar="K", min=2, show_default=False,
        help=f"Scorer each of K parts by a filter of all others: {FOLDS} parts, unless another way is asked for.",
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", metavar="NUMBER", min=0, help="Of the draw of --split, or of --folds.")]
Model = Annotated[
    Literal["evidence", "bayes", "logistic", "fisher"],
    typer.Option("--model", metavar="MODEL", help="Who weighs: evidence, bayes, logistic or fisher."),
]


def command(
    ham: Ham = None, spam: Spam = None, split: Split = None, draws: Draws = 1, lost_ham: LostHam = None,
    online: Online = False, order: Order = None, folds: Folds = None, seed: Seed = 0, model: Model = "evidence",
    json: a.AsJson = False, debug: a.Debug = False,
) -> None:  # fmt: skip
    """Scorer a filter on mail whose labels are known, in memory: no store is read or written.

    Each message counts once, however often it is there; those that are there as ham and as spam are left out.
    """
    check_one_way(split, draws, lost_ham, online, order, folds)
    if not ham or not spam:
        raise typer.BadParameter("both are wanted: --ham PATH and --spam PATH")
    with manners(debug):
        refuse_absent([*ham, *spam])
        mail = read(ham, spam)
        if split is not None:
            report, show = by_split(mail, split, draws, seed, model, lost_ham), "splits"
        elif online:
            report, show = in_order(mail, order, model), "stream"
        else:
            report, show = by_folds(mail, folds or FOLDS, seed, model), "folds"
        if json:
            from deciban.cli.output import print_json

            print_json(report.to_dict())
        else:
            from deciban.cli.mail import evaluation_screen as judged

            getattr(judged, show)(report)


def check_one_way(
    split: str | None, draws: int, lost_ham: float | None, online: bool, order: str | None, folds: int | None
) -> None:
    """Refuse two ways of judging at once, and options of a way that is not taken."""
    if (split is not None) + online + (folds is not None) > 1:
        raise typer.BadParameter("--split, --online and --folds are different ways of judging: give one of them")
    if split is None and (draws > 1 or lost_ham is not None):
        raise typer.BadParameter("--draws and --lost-ham are for --split")
    if order is not None and not online:
        raise typer.BadParameter("--order is for --online: the other ways draw messages by chance")
    if split is not None:
        from deciban.errors import InputError
        from deciban.mail.evaluation.message_splits import sizes_of

        try:
            sizes_of(split)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None


def read(ham: list[str], spam: list[str]) -> LabelledMail:
    """All of the mail, each message once."""
    from deciban.mail.evaluation.labelled_mail import read_labelled

    with counting("reading") as tick:
        found = read_labelled(ham, spam, processes=None, progress=lambda _: tick())
    kept = found.distinct()
    if len(kept) < len(found):
        gone = len(found) - len(kept)
        typer.echo(f"{gone} of {len(found)} messages are there more than once: each counts once, or, if it is there "
                   f"as ham and as spam, not at all", err=True)  # fmt: skip
    return kept


def by_split(mail: LabelledMail, split: str, draws: int, seed: int, model: ModelName, lost_ham: float | None) -> Any:
    """One draw, or many."""
    from deciban.mail.evaluation.evaluate_filter import evaluate_draws, evaluate_split
    from deciban.mail.evaluation.message_splits import sizes_of

    if draws == 1:
        return evaluate_split(mail, sizes_of(split), seed, model, costs_of(lost_ham))
    with counting("judging") as tick:
        seeds = range(seed, seed + draws)
        return evaluate_draws(mail, sizes_of(split), seeds, model, costs_of(lost_ham), lambda _: tick())


def costs_of(lost_ham: float | None) -> Costs:
    """What mistakes cost."""
    from deciban.mail.evaluation.choose_thresholds import USUAL_COSTS, Costs

    return USUAL_COSTS if lost_ham is None else Costs(lost_ham=lost_ham)


def in_order(mail: LabelledMail, order: str | None, model: ModelName) -> Any:
    """One message after the other."""
    from deciban.mail.evaluation.online import evaluate_online

    order_labels = mail.in_order_of_names() if order == "name" else mail.in_order_of_arrival()
    with counting("judging") as tick:
        return evaluate_online(order_labels, model, lambda _: tick())


def by_folds(mail: LabelledMail, folds: int, seed: int, model: ModelName) -> Any:
    """Every message once, fold by fold."""
    from deciban.mail.evaluation.evaluate_filter import evaluate_folds

    with counting("folds judged") as tick:
        return evaluate_folds(mail, folds, seed, model, lambda _: tick())
