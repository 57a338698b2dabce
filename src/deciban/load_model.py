"""The models that commands and servers use: loading, with hints on probable mistakes, and rules of decision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deciban
from deciban.errors import InputError, ModelFileError

if TYPE_CHECKING:
    from deciban.model.model import Model
    from deciban.scores.posterior import Decision

COMPRESSED_ENDINGS = (".gz", ".zst")
TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".json", ".arrow", ".feather", *COMPRESSED_ENDINGS)
"""The endings of tables, which may have been given in place of a model."""


def load(path: Path, verify: bool = False) -> Any:
    """Return the model or estimator of any model file; an error has a hint on its probable reason."""
    try:
        return deciban.load(path, verify)
    except ModelFileError as error:
        hint = (
            ". Hint: MODEL is a file that deciban train writes; DATA comes after it, if at all"
            if path.suffix in TABLE_ENDINGS
            else ""
        )
        hint = hint if path.exists() else ". Hint: deciban train DATA --target COL writes one"
        raise ModelFileError(f"{error}{hint}") from None


def open_model(path: Path, verify: bool = False) -> Model:
    """Load the table model of a file; raise an InputError where it holds an estimator instead."""
    found = load(path, verify)
    if not isinstance(found, deciban.Model):
        raise InputError(
            f"{str(path)!r} holds a {type(found).__name__}, which has no named columns. "
            f"Hint: deciban inspect shows it; use it from Python, deciban.load({str(path)!r})"
        )
    return found


def resolve_decision(model: Model, options: Mapping[str, Any]) -> tuple[Model, Decision | None]:
    """Return the model with the class prior of the options, and the rule of decision; None: the most probable class.

    The options are prior, cost, threshold and reject, as `option_values` parses them; each may be absent or None.
    """
    from deciban.option_values import parse_costs, parse_prior, parse_thresholds
    from deciban.scores.posterior import build_rule

    if options.get("prior") is not None:
        model = model.with_priors(parse_prior(options["prior"]))
    costs = parse_costs(options.get("cost"), model.classes)
    thresholds = parse_thresholds(options.get("threshold"), model.classes)
    return model, build_rule(model.classes, costs, options.get("reject"), thresholds)
