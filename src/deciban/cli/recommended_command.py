"""The command that trains what was recommended: on the same data, with all that was said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

SHARED = (
    "learner", "C", "roles", "join", "numbers", "like", "weights", "classes", "prior", "alpha", "parameter_prior",
    "covariance", "unseen", "most_levels", "ngrams", "tokens", "stop_words", "presence",
)  # fmt: skip
"""The options of `train` that commands which try several ways have too, or settle; in its own order."""

USUAL = {"format": None, "encoding": "utf-8", "errors": "strict", "missing": (), "hive": False}
"""How data is read unless something else is said."""


def training(data: TableInput, target: str, given: Mapping[str, Any], settled: Mapping[str, Any]) -> str:
    """`deciban train` with what was given and, before it, what was found to be best; to be copied.

    >>> from deciban.cli.inputs import TableInput
    >>> training(TableInput(["day 1.csv"], "", missing=("?",)), "ill", {"alpha": 3.0, "folds": 5}, {"numbers": "binned"})
    "deciban train 'day 1.csv' --target ill --numbers binned --alpha 3 --missing '?'"
    """
    wanted = {**given, **settled}
    words = [*_data(data), *_option("target", target)]
    for name in SHARED:
        words += _option(name, wanted.get(name))
    for name, usual in USUAL.items():
        value = getattr(data, name)
        words += [] if value == usual or value == "folders" else _option(name, value)
    return " ".join(["deciban train", *words])


def _data(data: TableInput) -> list[str]:
    from deciban.cli.inputs import STDIN
    from deciban.cli.render import quoted

    if data.sql is not None:
        return [*_option("sql", data.sql)]
    if data.format == "folders":
        return [*_option("folders", data.paths[0])]
    return ["-"] if data.name == STDIN else [*map(quoted, data.paths)]


def _option(name: str, value: Any) -> Iterator[str]:
    """An option as it is written: a flag, once for each of several values, or not at all."""
    from deciban.cli.render import quoted

    option = {"roles": "--as"}.get(name, f"--{name.replace('_', '-')}")
    if value is True:
        yield option
    elif value is not None and value is not False:
        for each in value if isinstance(value, list | tuple) else [value]:
            yield f"{option} {quoted(str(each).removesuffix('.0') if isinstance(each, float) else str(each))}"
