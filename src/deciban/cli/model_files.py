"""Opening of model files by commands, and the default name of a new one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.errors import InputError, ModelFileError

if TYPE_CHECKING:
    from deciban.model.model import Model

ENDING = ".deciban"
COMPRESSED_ENDINGS = (".gz", ".zst")
TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".json", ".arrow", ".feather", *COMPRESSED_ENDINGS)


def load(path: Path, verify: bool = False) -> Any:
    """Load any model file."""
    import deciban

    try:
        return deciban.load(path, verify)
    except ModelFileError as error:
        raise ModelFileError(f"{error}{_hint(path)}") from None


def open_model(path: Path) -> Model:
    """Load the table model of a file."""
    import deciban

    found = load(path)
    if not isinstance(found, deciban.Model):
        raise InputError(
            f"{str(path)!r} holds a {type(found).__name__}, which has no named columns. "
            f"Hint: deciban inspect shows it; use it from Python, deciban.load({str(path)!r})"
        )
    return found


def _hint(path: Path) -> str:
    """Return a hint on the probable reason why a model file cannot be read."""
    if not path.exists():
        return ". Hint: deciban train DATA --target COL writes one"
    return ". Hint: MODEL comes first, then DATA" if path.suffix in TABLE_ENDINGS else ""


def default_file(paths: Sequence[str]) -> str:
    """Return the default name of a model file: the name of its table, in the current folder.

    >>> default_file(["data/heart.csv.gz"]), default_file(["day-*.csv"]), default_file(["-"])
    ('heart.deciban', 'day.deciban', 'model.deciban')
    """
    name = Path(paths[0]).name if paths else ""
    for ending in COMPRESSED_ENDINGS:
        name = name.removesuffix(ending)
    stem = re.sub(r"[*?\[\]]+", "", Path(name).stem).strip("-_. ")
    return f"{stem or 'model'}{ENDING}"
