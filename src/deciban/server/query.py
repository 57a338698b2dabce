"""Options in the query of a request: those of the command line, by their names without the dashes before them."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deciban.errors import UsageError, did_you_mean
from deciban.option_values import NumberRange, parse_pair, split_list
from deciban.sources.source import NO_QUOTE

Parse = Callable[[str], Any]


def _parse_flag(text: str) -> bool:
    """Parse "true" or "false"; ArgumentTypeError for any other text."""
    if text not in ("true", "false"):
        raise ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


@dataclass(frozen=True)
class QueryOption:
    """An option: its help, the JSON schema of its values, and the function that parses one.

    An option that `is_list` may be given several times.
    """

    name: str
    help: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    parse: Parse = str
    is_list: bool = False

    @property
    def key(self) -> str:
        """The option's name as a Python identifier: `bad_cells` of bad-cells."""
        return self.name.replace("-", "_")


def _flag(name: str, help: str) -> QueryOption:
    """Return an option with the values true and false."""
    return QueryOption(name, help, {"type": "boolean"}, _parse_flag)


def _choice(name: str, help: str, *words: str) -> QueryOption:
    """Return an option whose value is one of these words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ArgumentTypeError(f"{text!r} is none of {', '.join(words)}")
        return text

    return QueryOption(name, help, {"type": "string", "enum": list(words)}, parse)


def _list(name: str, help: str) -> QueryOption:
    """Return an option that may be given several times; its value is the list of texts."""
    return QueryOption(name, help, {"type": "array", "items": {"type": "string"}}, is_list=True)


READING = (
    QueryOption("encoding", "The encoding of CSV, unless the Content-Type has a charset."),
    _list("missing", "A text that stands for a missing value in any column."),
    _choice("bad-cells", "How a cell that is no number among numbers is treated.", "error", "missing"),
    _flag("header", "Whether the first line of CSV names the columns."),
    QueryOption("names", "The names of the columns of CSV that has no header: A,B,…", parse=split_list),
    QueryOption("quote", f"The quotation mark of CSV; {NO_QUOTE}: quotes are ordinary characters."),
    _choice("decimal", "The decimal mark of CSV.", ".", ","),
)
"""How a table is read; most options are for CSV."""

ALLOW_MISSING = _flag("allow-missing-columns", "Treat a column that the rows lack as missing.")
PREDICT = (
    _flag("proba", "Add p(CLASS) for every class."),
    _list("keep", "Copy a column to the answer."),
    _flag("all", "Copy all columns to the answer."),
    _list("cost", "The cost of predicting CALLED where the class is TRUTH: TRUTH:CALLED=NUMBER."),
    QueryOption("reject", "The cost of no decision.", {"type": "number"}, NumberRange().parse),
    _list("threshold", "Predict CLASS only where its probability is at least P: CLASS=P."),
    QueryOption(
        "reject-novel", "Leave rows undecided that are unlike the training rows, and this share of usual ones.",
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1}, NumberRange(float, 0, 1, (1.0,)).parse),
    QueryOption("prior", "The share of each class: empirical, smoothed, uniform, or A=0.1,B=0.9."),
    _flag("safe-cells", "In CSV, put ' before texts that a spreadsheet would take for formulas."),
    ALLOW_MISSING,
    *READING,
)  # fmt: skip
EXPLAIN = (
    QueryOption("classes", "Compare these two classes: FOR,AGAINST.", parse=parse_pair),
    QueryOption("most", "How many factors of each row the arithmetic has.", {"type": "integer", "minimum": 1},
                NumberRange(int, 1).parse),
    _flag("work", "Add the arithmetic: the factors of every class, their product, and its normalisation."),
    ALLOW_MISSING,
    *READING,
)  # fmt: skip


def parse_query(options: Iterable[QueryOption], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Parse the options of a query to values by their keys; UsageError for an unknown, invalid or repeated option.

    >>> parse_query(PREDICT, [("proba", "true"), ("keep", "age"), ("keep", "crp")])
    {'proba': True, 'keep': ['age', 'crp']}
    """
    known = {option.name: option for option in options}
    values: dict[str, Any] = {}
    for name, text in given:
        option = known.get(name)
        if option is None:
            raise UsageError(f"No such option: {name[:80]}{did_you_mean(name, known) or '.'}")
        try:
            value = option.parse(text)
        except ArgumentTypeError as error:
            raise UsageError(f"Option {name}: {error}.") from None
        if option.is_list:
            values.setdefault(option.key, []).append(value)
        elif option.key in values:
            raise UsageError(f"Option {name} is given twice.")
        else:
            values[option.key] = value
    return values


def select_reading(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options in `READING`: how a table is read."""
    return {option.key: values[option.key] for option in READING if option.key in values}
