"""`deciban inspect`: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors

if TYPE_CHECKING:
    from deciban.model.description import Description, Strength
    from deciban.model.model import Model

EXAMPLE = a.example("deciban inspect patients.deciban", "deciban inspect patients.deciban --json")
Most = Annotated[
    int, typer.Option("--most", metavar="NUMBER", min=1, help="How many of the strongest columns to show.")
]


def command(model: a.ModelFile, most: Most = 10, json: a.AsJson = False, debug: a.Debug = False) -> None:
    """Show a model: classes, assumptions, columns with roles and reasons, and what the strongest of them say."""
    with handle_errors(debug):
        run(model, most, json)


def run(path: Path, most: int, as_json: bool) -> None:
    """Open the file, describe, tell."""
    import deciban
    from deciban.cli.model_files import load
    from deciban.cli.output import print_json

    found = load(path, verify=True)
    if not isinstance(found, deciban.Model):
        _estimator(found, as_json)
        return
    description = found.describe()
    if as_json:
        facts = {"file": str(path), **facts_of(found), "options": options_of(found)}
        print_json({**facts, **description.to_dict()})
        return
    _show(path, found, description, most)


def _estimator(found: Any, as_json: bool) -> None:
    """A model that was trained on a matrix: its class, parameters and classes."""
    from deciban.cli.output import print_json
    from deciban.cli.render import console, heading, line, pairs
    from deciban.plain_json import plain

    facts: dict[str, Any] = {
        "estimator": type(found).__name__,
        "parameters": plain(found.get_params()),
        "classes": plain(list(getattr(found, "classes_", ()))),
        "calibration": None if found.calibration_ is None else str(found.calibration_),
    }
    if as_json:
        print_json(facts)
        return
    out = console()
    out.print(f"{facts['estimator']}, trained on a matrix", style="bold", soft_wrap=True)
    heading(out, "Classes")
    line(out, ", ".join(map(str, facts["classes"][:20])) + (" …" if len(facts["classes"]) > 20 else ""))
    heading(out, "Parameters")
    pairs(out, [(name, str(value)) for name, value in facts["parameters"].items()])
    if facts["calibration"] is not None:
        heading(out, "Calibration")
        line(out, facts["calibration"])


def facts_of(model: Model) -> dict[str, Any]:
    """Where a model comes from."""
    return {"source": model.origin.source, "created": model.origin.created, "weights": model.weights}


def options_of(model: Model) -> dict[str, Any]:
    """What a model assumes beyond the roles of its columns."""
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


def told(value: Any) -> str:
    """An option for people; numbers that have names each with its own."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {number:g}" for name, number in value.items())


def _show(path: Path, model: Model, description: Description, most: int) -> None:
    from deciban.cli.output import format_file_size
    from deciban.cli.render import console, count, heading, one_line, pairs, table
    from deciban.cli.train_screen import classes, missing, strongest

    out = console()
    out.print(one_line(f"{path}: a model of {model.target}"), style="bold", soft_wrap=True)
    without = f" ({count(description.rows_without_class)} without a class)" if description.rows_without_class else ""
    pairs(
        out,
        [
            ("rows read", count(description.rows) + without),
            ("weight", count(description.weight)),
            ("learned from", model.origin.source or "–"),
            ("made", model.origin.created or "–"),
            *([("trust", model.account.trust_text)] if model.account and model.account.trust else []),
            ("parameters", count(description.n_parameters)),
            ("file", format_file_size(path)),
        ],
    )
    heading(out, "Classes")
    classes(out, description)
    heading(out, "Assumptions")
    pairs(out, [(name.replace("_", " "), told(value)) for name, value in options_of(model).items()])
    heading(out, "Columns")
    body = [[note.name, note.role, note.reason + missing(note)] for note in description.columns]
    table(out, ["column", "role", "why"], body, wide=2)
    heading(out, "Strongest columns", "average evidence for the true class, with a 90 % interval")
    strongest(out, description, most)
    _words(out, model, description, most)


def _words(out: Any, model: Model, description: Description, most: int) -> None:
    """What the strongest columns say: of texts their telltales, of the others a sentence for each class."""
    from deciban.cli.render import heading
    from deciban.cli.train_screen import telltales

    telltales(out, model)
    texts = [text.column for text in model.layout.texts]
    others = tuple(strength for strength in description.strongest[:most] if strength.feature not in texts)
    if others:
        heading(out, "What they say" if not texts else "What the other columns say")
        sayings(out, others)


def sayings(out: Any, strengths: tuple[Strength, ...]) -> None:
    """The strongest columns in words."""
    from deciban.cli.render import line

    for strength in strengths:
        if strength.says:
            line(out, strength.feature)
        for saying in strength.says:
            line(out, str(saying), indent=4)
