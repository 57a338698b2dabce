"""`deciban inspect`: show the contents of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.files import format_file_size, load, print_json
from deciban.cli.parser import DEBUG, JSON, command
from deciban.cli.render import Screen, format_count

if TYPE_CHECKING:
    from deciban.model.description import Description
    from deciban.model.model import Model


@command(
    a.MODEL_FILE, a.most("How many of the strongest columns to show.", 10), JSON, DEBUG,
    examples=["deciban inspect patients.deciban", "deciban inspect patients.deciban --json"],
)  # fmt: skip
def inspect(model: Path, most: int, json: bool) -> None:
    """Show a model: classes, assumptions, columns with roles and reasons, and the evidence of the strongest."""
    import deciban

    found = load(model, verify=True)
    if not isinstance(found, deciban.Model):
        _show_estimator(found, json)
        return
    description = found.describe()
    if json:
        origin = {"source": found.origin.source, "created": found.origin.created, "weights": found.weights}
        facts = {"file": str(model), **origin, "options": describe_options(found)}
        print_json({**facts, **description.to_dict()})
        return
    _show(model, found, description, most)


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


def describe_options(model: Model) -> dict[str, Any]:
    """Return the assumptions of a model apart from the roles of its columns."""
    options = model.options
    prior = options.prior
    shares = prior.given
    return {
        **({} if model.account is None else {"learner": str(model.account)}),
        "alpha": options.alpha,
        **({"pseudo_counts": model.pseudo_counts} if options.auto else {}),
        "parameter_prior": options.parameter_prior,
        **({} if options.covariance is None else {"covariance": options.covariance}),
        "unseen": options.unseen,
        "most_levels": options.most_levels,
        **({"texts": options.words.reading} if model.layout.texts else {}),
        "prior": prior.kind if shares is None else dict(zip(map(str, model.classes), map(float, shares))),
        **({} if model.calibration is None else {"calibration": str(model.calibration)}),
    }


def format_option(value: Any) -> str:
    """Format an option for people; a mapping as names with their numbers."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {number:g}" for name, number in value.items())


def _show(path: Path, model: Model, description: Description, most: int) -> None:
    from deciban.cli.report_screen import format_missing, show_classes, show_strongest

    out = Screen()
    out.print_title(f"{path}: a model of {model.target}")
    without = (
        f" ({format_count(description.rows_without_class)} without a class)" if description.rows_without_class else ""
    )
    out.print_pairs(
        [
            ("rows read", format_count(description.rows) + without),
            ("weight", format_count(description.weight)),
            ("learned from", model.origin.source or "–"),
            ("made", model.origin.created or "–"),
            *([("trust", model.account.trust_text)] if model.account and model.account.trust else []),
            ("parameters", format_count(description.n_parameters)),
            ("file", format_file_size(path)),
        ],
    )
    out.print_heading("Classes")
    show_classes(out, description)
    out.print_heading("Assumptions")
    out.print_pairs(
        [(name.replace("_", " "), format_option(value)) for name, value in describe_options(model).items()]
    )
    out.print_heading("Columns")
    body = [[note.name, note.role, note.reason + format_missing(note)] for note in description.columns]
    out.print_table(["column", "role", "why"], body, wide=2)
    out.print_heading("Strongest columns", "average evidence for the true class, with a 90 % interval")
    show_strongest(out, description, most)
    _show_columns(out, model, description, most)


def _show_columns(out: Any, model: Model, description: Description, most: int) -> None:
    """Print the telltales of texts, and a sentence for each class of the other strongest columns."""
    from deciban.cli.report_screen import show_telltales

    show_telltales(out, model)
    texts = [text.column for text in model.layout.texts]
    others = tuple(strength for strength in description.strongest[:most] if strength.feature not in texts)
    if others:
        out.print_heading("Evidence by class" if not texts else "Evidence by class of the other columns")
    for strength in others:
        if strength.summaries:
            out.print_line(strength.feature)
        for summary in strength.summaries:
            out.print_line(str(summary), indent=4)
