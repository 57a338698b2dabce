"""`deciban diff`: what changed from one model to another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors
from deciban.formatting import number, signed

if TYPE_CHECKING:
    from deciban.model.description import Description
    from deciban.model.model import Model

EXAMPLE = a.example("deciban diff last-year.deciban this-year.deciban")
ROUNDING = 1e-6
"""Decibans that make no difference."""

Second = Annotated[Path, typer.Argument(metavar="OTHER", help="The model to compare it with.", show_default=False)]
Most = Annotated[
    int, typer.Option("--most", metavar="NUMBER", min=1, help="How many columns whose evidence moved to show.")
]


def command(
    model: a.ModelFile, other: Second, most: Most = 10, json: a.AsJson = False, debug: a.Debug = False
) -> None:
    """Compare two models: rows, classes, priors, roles, assumptions, and whose evidence moved most."""
    with handle_errors(debug):
        from deciban.cli.model_files import open_model
        from deciban.cli.output import print_json

        found = differences(open_model(model), open_model(other))
        if json:
            print_json(found)
        else:
            show(str(model), str(other), found, most)


def differences(first: Model, second: Model) -> dict[str, Any]:
    """Each thing that differs as [first, second]; a thing that is the same is absent."""
    one, two = first.describe(), second.describe()
    return {
        "same": first.ledger == second.ledger
        and (first.options, first.roles, first.account) == (second.options, second.roles, second.account),
        "target": _changed({"": first.target}, {"": second.target}),
        "rows": _changed({"": one.weight}, {"": two.weight}),
        "class_rows": _changed(_class_weights(one), _class_weights(two)),
        "priors": _changed(_priors(one), _priors(two)),
        "roles": _changed(first.roles, second.roles),
        "blocks": _changed(_joined(first), _joined(second)),
        "options": _changed(_options(first), _options(second)),
        "evidence": _moved(one, two),
    }


def _changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = dict.fromkeys([*first, *second])
    return {n: [first.get(n), second.get(n)] for n in names if not _alike(first.get(n), second.get(n))}


def _alike(x: Any, y: Any) -> bool:
    """Equal; shares and weights but for rounding."""
    return math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) and isinstance(y, float) else bool(x == y)


def _class_weights(description: Description) -> dict[str, float]:
    return {str(share.label): share.weight for share in description.classes}


def _priors(description: Description) -> dict[str, float]:
    return {str(share.label): share.prior for share in description.classes}


def _options(model: Model) -> dict[str, Any]:
    from deciban.cli.inspect import options_of

    learner = "bayes" if model.account is None else model.account.short
    return {**options_of(model), "learner": learner}


def _joined(model: Model) -> dict[str, str]:
    """The columns that are joined, each with all of its block."""
    return {column.name: ", ".join(column.block) for column in model.columns if column.block}


def _moved(one: Description, two: Description) -> list[dict[str, Any]]:
    """Average evidence of each column in both, those that moved most first; `sure` where the intervals are apart."""
    first, second = ({s.feature: s for s in d.strongest} for d in (one, two))
    moved = []
    for name in first.keys() & second.keys():
        x, y = first[name], second[name]
        if abs(x.evidence - y.evidence) > ROUNDING:
            apart = x.high < y.low or y.high < x.low
            moved.append({"column": name, "first": x.evidence, "second": y.evidence, "sure": apart})
    return sorted(moved, key=lambda entry: (-abs(entry["first"] - entry["second"]), entry["column"]))


TITLES = {
    "class_rows": ("Classes", "rows of each"),
    "priors": ("Priors", "share of each class before any evidence"),
    "roles": ("Columns", "what each is taken for"),
    "blocks": ("Joined", "columns that are taken together"),
    "options": ("Assumptions", ""),
}


def show(first: str, second: str, found: dict[str, Any], most: int) -> None:
    """Only what differs."""
    from deciban.cli.render import console, count, heading, line, one_line, pairs, short, table

    out = console()
    out.print(one_line(f"{first} → {second}"), style="bold", soft_wrap=True)
    if found["same"]:
        line(out, "the same: nothing that was counted or assumed differs")
        return
    if not any(found[part] for part in found if part != "same"):
        line(out, "the same, but for rounding")
        return
    for name in ("target", "rows"):
        pairs(out, [(name, " → ".join(_shown(v) for v in values)) for values in found[name].values()])
    for part, (title, what) in TITLES.items():
        if found[part]:
            heading(out, title, what)
            body = [
                [name, *(short(_shown(v), 20) for v in values)]
                for name, values in list(found[part].items())[: 3 * most]
            ]
            table(out, ["", "first", "second"], body, right=[1, 2] if part in ("class_rows", "priors") else [])
            if len(found[part]) > 3 * most:
                line(out, f"… and {count(len(found[part]) - 3 * most)} more")
    if found["evidence"]:
        heading(out, "Evidence", "for the true class, on average; * where the 90 % intervals are apart")
        body = [
            [e["column"], f"{number(e['first'], 2)} dB", f"{number(e['second'], 2)} dB", _step(e)]
            for e in found["evidence"][:most]
        ]
        table(out, ["column", "first", "second", "moved"], body, right=[1, 2, 3])


def _step(entry: Mapping[str, Any]) -> str:
    return f"{signed(entry['second'] - entry['first'])}{' *' if entry['sure'] else '  '}"


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
