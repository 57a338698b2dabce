"""`deciban evaluate --choose`: which settings are best for a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.choice import Choice

Choose = Annotated[
    bool,
    typer.Option(
        "--choose",
        help="Try many settings on the same folds (pseudo-counts, bells or bins, priors, shapes of covariance …) and "
        "tell which is best.",
    ),
]


def chosen(table: TableInput, target: str, weights: str | None, wished: dict[str, Any], as_json: bool) -> None:
    """Try, and tell."""
    import deciban
    from deciban.cli.model_files import settings
    from deciban.cli.output import print_json
    from deciban.cli.progress import progress

    _check_folds(wished)
    made = settings(wished)
    with progress(table, "learning", again="learning pairs") as rows:
        choice = deciban.choose(table.source, target=target, weights=weights, progress=rows, **table.reading, **made)
    if as_json:
        print_json(choice.to_dict())
    else:
        title = f"{target} of {table.name}, under {len(choice.results)} settings"
        _show(choice, title, trained(choice, table, target, {**wished, "weights": weights}))


def check(model: Any, wishes: Any) -> None:
    """Refuse what has no meaning where settings are compared."""
    if model is not None:
        raise typer.BadParameter("--choose compares ways of training; --model judges a model that is trained already")
    if any(value is not None for value in vars(wishes).values()):
        raise typer.BadParameter(
            "--choose compares settings by log-loss; --cost, --reject, --threshold, --want judge one"
        )


def _check_folds(wished: dict[str, Any]) -> None:
    if wished.get("order") is not None:
        raise typer.BadParameter("--choose compares settings in folds, each with its share of all rows; no --order")
    if wished.get("folds") == "loo":
        raise typer.BadParameter("--choose compares settings in folds, so --folds is a number")


def _show(choice: Choice, title: str, recommended: str) -> None:
    from deciban.cli.render import command, console, heading, line, one_line, table
    from deciban.metrics.choice import HEADINGS

    out = console()
    out.print(one_line(title), style="bold", soft_wrap=True)
    body = [[*row[:3], row[3].partition(" ")[0], *row[4:]] for row in choice.table()]  # 80 columns are few
    table(out, HEADINGS, body, right=[2, 3, 4, 5], wide=1)
    left = len(choice.results) - len(choice.table())
    if left:
        line(out, f"… and {left} settings more: --json has them all")
    for note in (choice.measured, *choice.notes):
        line(out, f"({note})")
    heading(out, "Best")
    for said in advice(choice):
        line(out, said)
    if choice.estimator == "train":
        command(out, recommended)


def advice(choice: Choice) -> list[str]:
    """What to do, in words."""
    if choice.estimator != "train":
        told = ", ".join(f"{name}={value!r}" for name, value in choice.best.items())
        return [f"In Python: deciban.{choice.estimator}({told})"]
    if not choice.best:
        return ["as it comes: nothing that was tried is better by more than one standard error"]
    return [str(choice.recommendation.setting)]


def trained(choice: Choice, data: TableInput, target: str, wished: dict[str, Any]) -> str:
    """The same for the command line."""
    from deciban.cli.recommended_command import training

    presence = {"presence": True} if "words" in choice.best else {}
    return training(data, target, wished, {**choice.best, **presence})
