"""`deciban inspect` and `deciban diff`: the contents of a model file, and the differences between two models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import deciban
from deciban.cli import options as a
from deciban.cli.files import print_json
from deciban.cli.parser import DEBUG, JSON, argument, command, option
from deciban.cli.render import Screen, shorten
from deciban.errors import InputError
from deciban.formatting import format_count, format_number, format_signed, format_size, format_value
from deciban.load_model import load, open_model
from deciban.model.differences import describe_options, find_differences

if TYPE_CHECKING:
    from deciban.model.description import Description
    from deciban.model.model import Model


@command(
    a.MODEL_FILE, a.most("How many of the strongest columns, or of the commonest values of --table, to show.", 10),
    option("--table", "COL",
           "Show the parameters of a column instead: counts, probabilities, means and variances of each class; of "
           "the target its prior."),
    JSON, DEBUG,
    examples=[
        "deciban inspect patients.deciban",
        "deciban inspect patients.deciban --table cough",
        "deciban inspect patients.deciban --json",
    ],
)  # fmt: skip
def inspect(model: Path, most: int, table: str | None, json: bool) -> None:
    """Show a model: classes, assumptions, columns with roles and reasons, and the evidence of the strongest."""
    found = load(model, verify=True)
    if table is not None:
        _show_table(model, found, table, most, json)
        return
    if not isinstance(found, deciban.Model):
        _show_estimator(found, json)
        return
    description = found.describe()
    if json:
        origin = {"source": found.origin.source, "created": found.origin.created, "weights": found.weights}
        facts = {"file": str(model), **origin, "options": describe_options(found)}
        print_json({**facts, **description.to_dict()})
        return
    _show_model(model, found, description, most)


def _show_table(path: Path, found: Any, column: str, most: int, as_json: bool) -> None:
    """Print the parameters of a column; as JSON those of all its values."""
    from deciban.cli.arithmetic_screen import show_parameters

    if not hasattr(found, "table"):
        raise InputError(f"{path} holds a {type(found).__name__} of a matrix; --table is for models of tables")
    table = found.table(column, None if as_json else most)
    if as_json:
        print_json({"file": str(path), **table.to_dict()})
    else:
        show_parameters(f"{path}: {table.column} ({table.role}) in each class", table)


def _show_estimator(found: Any, as_json: bool) -> None:
    """Print the class, parameters and classes of an estimator that was trained on a matrix."""
    from deciban.plain_json import to_plain

    facts: dict[str, Any] = {
        "estimator": type(found).__name__,
        "parameters": to_plain(found.get_params()),
        "classes": to_plain(list(getattr(found, "classes_", ()))),
        "calibration": None if found.calibration_ is None else str(found.calibration_),
    }
    if as_json:
        print_json(facts)
        return
    out = Screen()
    out.print(f"{facts['estimator']}, trained on a matrix", style="bold", soft_wrap=True)
    out.print_heading("Classes")
    out.print_line(", ".join(map(str, facts["classes"][:20])) + (" …" if len(facts["classes"]) > 20 else ""))
    out.print_heading("Parameters")
    out.print_pairs([(name, str(value)) for name, value in facts["parameters"].items()])
    if facts["calibration"] is not None:
        out.print_heading("Calibration")
        out.print_line(facts["calibration"])


def _show_model(path: Path, model: Model, description: Description, most: int) -> None:
    """Print a table model: facts, classes, assumptions, all columns, and the evidence of the `most` strongest."""
    from deciban.cli.report_screen import show_classes, show_columns, show_markers, show_strongest

    out = Screen()
    out.print_title(f"{path}: a model of {model.target}")
    left_out = description.rows_without_class
    without = f" ({format_count(left_out)} without a class)" if left_out else ""
    facts = [
        ("rows read", format_count(description.rows) + without),
        ("weight", format_count(description.weight)),
        ("learned from", model.origin.source or "–"),
        ("made", model.origin.created or "–"),
        *([("evidence weights", model.account.trust_text)] if model.account and model.account.trust else []),
        ("parameters", format_count(description.n_parameters)),
        ("file", format_size(path.stat().st_size)),
    ]
    out.print_pairs(facts)
    out.print_heading("Classes")
    show_classes(out, description)
    out.print_heading("Assumptions")
    options = describe_options(model).items()
    out.print_pairs((name.replace("_", " "), _format_assumption(value)) for name, value in options)
    out.print_heading("Columns")
    show_columns(out, description.columns, len(description.columns))
    show_markers(out, description)
    out.print_heading("Strongest columns", "average evidence for the true class, with a 90 % interval")
    show_strongest(out, description, most)
    _show_evidence_by_class(out, model, description, most)


def _format_assumption(value: Any) -> str:
    """Format the value of an option of the model; shares of classes as names and numbers."""
    return ", ".join(f"{key} {n:g}" for key, n in value.items()) if isinstance(value, dict) else str(value)


def _show_evidence_by_class(out: Screen, model: Model, description: Description, most: int) -> None:
    """Print the telltales of texts, and a sentence for each class of the other strongest columns."""
    from deciban.cli.report_screen import show_telltales

    show_telltales(out, model)
    texts = [text.column for text in model._layout.texts]
    others = tuple(strength for strength in description.strongest[:most] if strength.feature not in texts)
    if others:
        out.print_heading("Evidence by class" if not texts else "Evidence by class of the other columns")
    for strength in others:
        if strength.summaries:
            out.print_line(strength.feature)
        for summary in strength.summaries:
            out.print_line(str(summary), indent=4)


@command(
    a.MODEL_FILE, argument("other", metavar="OTHER", type=Path, help="The model to compare it with."),
    a.most("How many of the columns whose evidence changed to show.", 10), JSON, DEBUG,
    examples=["deciban diff last-year.deciban this-year.deciban"],
)  # fmt: skip
def diff(model: Path, other: Path, most: int, json: bool) -> None:
    """Compare two models: rows, classes, priors, roles, assumptions, and the columns whose evidence changed most."""
    found = find_differences(open_model(model), open_model(other))
    if json:
        print_json(found)
    else:
        _show_differences(str(model), str(other), found, most)


TITLES = {
    "class_rows": ("Classes", "rows of each"),
    "priors": ("Priors", "share of each class before any evidence"),
    "roles": ("Columns", "the role of each"),
    "blocks": ("Joined", "columns that are modelled jointly"),
    "structure": ("Dependence", "the column that each depends on, given the class"),
    "options": ("Assumptions", ""),
}
"""The heading of each part of the differences, and what is next to it."""


def _show_differences(first: str, second: str, found: dict[str, Any], most: int) -> None:
    """Print the parts in which two models differ; at most `most` columns, and three times as many of other parts."""
    out = Screen()
    out.print_title(f"{first} → {second}")
    if found["same"]:
        out.print_line("the same: all statistics and assumptions are equal")
        return
    if not any(found[part] for part in found if part != "same"):
        out.print_line("the same, except for rounding")
        return
    for name in ("target", "rows"):
        out.print_pairs([(name, " → ".join(map(format_value, values))) for values in found[name].values()])
    for part, (title, what) in TITLES.items():
        if found[part]:
            out.print_heading(title, what)
            body = [
                [name, *(shorten(format_value(v), 20) for v in values)]
                for name, values in list(found[part].items())[: 3 * most]
            ]
            out.print_table(["", "first", "second"], body, right=[1, 2] if part in ("class_rows", "priors") else [])
            if len(found[part]) > 3 * most:
                out.print_line(f"… and {format_count(len(found[part]) - 3 * most)} more")
    if found["evidence"]:
        out.print_heading("Evidence", "for the true class, on average; * where 90 % intervals are disjoint")
        body = []
        for e in found["evidence"][:most]:
            values = [f"{format_number(e[which], 2)} dB" for which in ("first", "second")]
            change = f"{format_signed(e['second'] - e['first'])}{' *' if e['sure'] else '  '}"
            body.append([e["column"], *values, change])
        out.print_table(["column", "first", "second", "change"], body, right=[1, 2, 3])
