"""`deciban diff`: show the differences between two models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.files import open_model, print_json
from deciban.cli.inspect import describe_options
from deciban.cli.parser import DEBUG, JSON, argument, command
from deciban.cli.render import Screen, format_count, shorten
from deciban.formatting import format_number, format_signed

if TYPE_CHECKING:
    from deciban.model.description import Description
    from deciban.model.model import Model

MIN_DIFFERENCE_DB = 1e-6
"""The smallest difference of evidence, in decibans, that counts as a change."""


@command(
    a.MODEL_FILE, argument("other", metavar="OTHER", type=Path, help="The model to compare it with."),
    a.most("How many of the columns whose evidence changed to show.", 10), JSON, DEBUG,
    examples=["deciban diff last-year.deciban this-year.deciban"],
)  # fmt: skip
def diff(model: Path, other: Path, most: int, json: bool) -> None:
    """Compare two models: rows, classes, priors, roles, assumptions, and the columns whose evidence changed most."""
    found = differences(open_model(model), open_model(other))
    if json:
        print_json(found)
    else:
        show(str(model), str(other), found, most)


def differences(first: Model, second: Model) -> dict[str, Any]:
    """Return each difference as [first, second]; equal values are absent."""
    one, two = first.describe(), second.describe()
    facts, others = _describe(first, one), _describe(second, two)
    return {
        "same": first.ledger == second.ledger
        and (first.options, first.roles, first.account) == (second.options, second.roles, second.account),
        **{part: _find_changes(facts[part], others[part]) for part in facts},
        "evidence": _evidence_changes(one, two),
    }


def _find_changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values that differ, of both models; floats that differ by rounding only are equal."""
    both = {name: [first.get(name), second.get(name)] for name in dict.fromkeys([*first, *second])}
    return {name: pair for name, pair in both.items() if not _is_equal(*pair)}


def _is_equal(x: Any, y: Any) -> bool:
    return math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) and isinstance(y, float) else bool(x == y)


def _describe(model: Model, description: Description) -> dict[str, dict[str, Any]]:
    """Return the facts of a model that are compared; for a column of a block the names in its block."""
    learner = "bayes" if model.account is None else model.account.short
    return {
        "target": {"": model.target},
        "rows": {"": description.weight},
        "class_rows": {str(share.label): share.weight for share in description.classes},
        "priors": {str(share.label): share.prior for share in description.classes},
        "roles": model.roles,
        "blocks": {column.name: ", ".join(column.block) for column in model.columns if column.block},
        "options": {**describe_options(model), "learner": learner},
    }


def _evidence_changes(one: Description, two: Description) -> list[dict[str, Any]]:
    """Return the average evidence of each column in both models, the largest change first.

    `sure` is true if the intervals are disjoint.
    """
    first, second = ({s.feature: s for s in d.strongest} for d in (one, two))
    changes = []
    for name in first.keys() & second.keys():
        x, y = first[name], second[name]
        if abs(x.evidence - y.evidence) > MIN_DIFFERENCE_DB:
            disjoint = x.high < y.low or y.high < x.low
            changes.append({"column": name, "first": x.evidence, "second": y.evidence, "sure": disjoint})
    return sorted(changes, key=lambda entry: (-abs(entry["first"] - entry["second"]), entry["column"]))


TITLES = {
    "class_rows": ("Classes", "rows of each"),
    "priors": ("Priors", "share of each class before any evidence"),
    "roles": ("Columns", "the role of each"),
    "blocks": ("Joined", "columns that are modelled jointly"),
    "options": ("Assumptions", ""),
}


def show(first: str, second: str, found: dict[str, Any], most: int) -> None:
    """Print the differences."""
    out = Screen()
    out.print_title(f"{first} → {second}")
    if found["same"]:
        out.print_line("the same: all statistics and assumptions are equal")
        return
    if not any(found[part] for part in found if part != "same"):
        out.print_line("the same, except for rounding")
        return
    for name in ("target", "rows"):
        out.print_pairs([(name, " → ".join(_format_value(v) for v in values)) for values in found[name].values()])
    for part, (title, what) in TITLES.items():
        if found[part]:
            out.print_heading(title, what)
            body = [
                [name, *(shorten(_format_value(v), 20) for v in values)]
                for name, values in list(found[part].items())[: 3 * most]
            ]
            out.print_table(["", "first", "second"], body, right=[1, 2] if part in ("class_rows", "priors") else [])
            if len(found[part]) > 3 * most:
                out.print_line(f"… and {format_count(len(found[part]) - 3 * most)} more")
    if found["evidence"]:
        out.print_heading("Evidence", "for the true class, on average; * where 90 % intervals are disjoint")
        body = [
            [
                e["column"],
                f"{format_number(e['first'], 2)} dB",
                f"{format_number(e['second'], 2)} dB",
                _format_change(e),
            ]
            for e in found["evidence"][:most]
        ]
        out.print_table(["column", "first", "second", "change"], body, right=[1, 2, 3])


def _format_change(entry: Mapping[str, Any]) -> str:
    return f"{format_signed(entry['second'] - entry['first'])}{' *' if entry['sure'] else '  '}"


def _format_value(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
