"""Model files as the commands use them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deciban.errors import InputError, ModelFileError

if TYPE_CHECKING:
    from deciban.model.model import Model

ENDING = ".deciban"
COMPRESSED = (".gz", ".zst")
WORDS = ("ngrams", "tokens", "stop_words", "presence")
"""The options that say how texts are read."""

SETTLED = (
    "roles", "join", "numbers", "alpha", "parameter_prior", "covariance", "unseen", "most_levels", *WORDS,
)  # fmt: skip
"""The options that --like takes from its model."""

TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".json", ".arrow", ".feather", *COMPRESSED)


def load(path: Path, verify: bool = False) -> Any:
    """Whatever a model file holds."""
    import deciban

    try:
        return deciban.load(path, verify)
    except ModelFileError as error:
        raise ModelFileError(f"{error}{_hint(path)}") from None


def open_model(path: Path) -> Model:
    """The table model of a file."""
    import deciban

    found = load(path)
    if not isinstance(found, deciban.Model):
        raise InputError(
            f"{str(path)!r} holds a {type(found).__name__}, which knows no named columns. "
            f"Hint: deciban inspect shows it; use it from Python, deciban.load({str(path)!r})"
        )
    return found


def _hint(path: Path) -> str:
    """What probably happened where a model file cannot be read."""
    if not path.exists():
        return ". Hint: deciban train DATA --target COL writes one"
    return ". Hint: MODEL comes first, then DATA" if path.suffix in TABLES else ""


def default_file(paths: Sequence[str]) -> str:
    """Where a model goes that nobody named: into the current folder, under the name of its table.

    >>> default_file(["data/heart.csv.gz"]), default_file(["day-*.csv"]), default_file(["-"])
    ('heart.deciban', 'day.deciban', 'model.deciban')
    """
    name = Path(paths[0]).name if paths else ""
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    stem = re.sub(r"[*?\[\]]+", "", Path(name).stem).strip("-_. ")
    return f"{stem or 'model'}{ENDING}"


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of training that were given, as `deciban.train` takes them."""
    from deciban.cli.options import listed, parse_prior, parse_roles
    from deciban.cli.text_options import words_from_options

    made = {name: value for name, value in given.items() if value is not None}
    if made.get("like") is not None:
        _check_like(made)
        made["like"] = open_model(made["like"])
    made["roles"] = parse_roles(made.pop("roles", None)) or None
    made["words"] = words_from_options(**{name: made.pop(name, None) for name in WORDS})
    if "join" in made:
        groups = made.pop("join")
        made["blocks"] = "numbers" if groups == ["numbers"] else [listed(columns) for columns in groups]
    if "classes" in made:
        made["classes"] = listed(made["classes"])
    if "prior" in made:
        made["prior"] = parse_prior(made["prior"])
    return made


def _check_like(given: Mapping[str, Any]) -> None:
    for name in SETTLED:
        if given.get(name):
            option = "as" if name == "roles" else name.replace("_", "-")
            raise typer.BadParameter(f"--like takes roles and assumptions from its model, so --{option} is not free")
