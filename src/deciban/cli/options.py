"""The arguments and options that several commands share, each declared once, and the parsing of their values.

`with_options_of` gives a command the options that a function declares: `table_options` for a command that reads a
table, `model_options` for one that trains models, or another command for a picture of its figures.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show where an error happened.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON on stdout.")]
SafeCells = Annotated[
    bool,
    typer.Option(
        "--safe-cells", help="In CSV and TSV, put ' before texts that a spreadsheet would take for formulas."
    ),
]

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
DATA = (
    "CSV, TSV, JSON lines, Parquet or Arrow files, .txt files with a document a line (.gz and .zst too), a quoted "
    "pattern such as 'day-*.csv', or - for standard input."
)
Tables = Annotated[list[str] | None, typer.Argument(metavar="DATA", help=DATA, show_default=False)]

Target = Annotated[
    str | None,
    typer.Option("--target", metavar="COL", help="The column to predict.", show_default=False),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="COL=ROLE",
        help="Treat a column as number, binned, count, flag, category, date, text or skip. May be repeated.",
    ),
]
Join = Annotated[
    list[str] | None,
    typer.Option(
        "--join",
        metavar="COL,COL,…",
        help="Model columns jointly: numbers with their covariances, flags and categories as combinations. May be "
        "repeated; numbers: all numbers.",
    ),
]
Numbers = Annotated[
    Literal["number", "binned", "auto"] | None,
    typer.Option(
        "--numbers",
        metavar="number|binned|auto",
        help="How numbers are modelled: as Gaussians (number), in bins (binned), or as predicts better (auto).",
    ),
]
Learner = Annotated[
    Literal["bayes", "logistic", "evidence", "boosted"] | None,
    typer.Option(
        "--learner",
        metavar="bayes|logistic|evidence|boosted",
        help="The learner: naive Bayes (the default), logistic regression, evidence regression (a weight for the "
        "evidence of each column), or boosted naive Bayes.",
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="MODEL",
        help="Take roles and assumptions from this model, so that the two can be merged.",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="COL", help="The column of the rows' weights."),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,…",
        help="The classes: any other in DATA is an error, and a class without rows is allowed.",
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="PRIOR",
        help="Share of each class before any evidence: empirical, smoothed, uniform, or A=0.1,B=0.9.",
    ),
]


def number_or_auto(text: str) -> float | str:
    """Parse a number, or the word auto."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor auto") from None


Alpha = Annotated[
    Any,
    typer.Option(
        "--alpha",
        metavar="NUMBER|auto",
        parser=number_or_auto,
        help="Pseudo-count of every level, bin, rate and word (default 1); auto: the one of greatest marginal "
        "likelihood.",
    ),
]
ParameterPrior = Annotated[
    float | None,
    typer.Option(
        "--parameter-prior",
        metavar="NUMBER",
        help="Pseudo-rows with a number's overall variance in every class (default 1).",
    ),
]
Penalty = Annotated[
    Any,
    typer.Option(
        "--C",
        metavar="NUMBER|auto",
        parser=number_or_auto,
        help="Inverse strength of the penalty of logistic and evidence regression; auto (the default): chosen by "
        "cross-validation.",
    ),
]
Shape = Annotated[
    Literal["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"] | None,
    typer.Option(
        "--covariance",
        metavar="SHAPE",
        help="The covariance of Gaussians: full or tied for joined numbers; diagonal, tied_diagonal, spherical, "
        "tied_spherical or identity for the others.",
    ),
]
Unseen = Annotated[
    Literal["ignore", "smooth", "error"] | None,
    typer.Option(
        "--unseen",
        metavar="ignore|smooth|error",
        help="How a value never seen in training is treated: ignored, as a rare value (smooth), or as an error.",
    ),
]
MostLevels = Annotated[
    int | None,
    typer.Option(
        "--most-levels",
        metavar="NUMBER",
        help="How many values of a category are distinguished; rarer ones count as one value (default 1000).",
    ),
]
Ngrams = Annotated[
    str | None,
    typer.Option(
        "--ngrams",
        metavar="N",
        help="Count n-grams of texts up to length N: 2 counts pairs of words too. 3-5: lengths 3 to 5.",
    ),
]
Tokens = Annotated[
    Literal["words", "whitespace", "characters", "characters in words"] | None,
    typer.Option(
        "--tokens",
        metavar="words|whitespace|characters|'characters in words'",
        help="What a text is split into: words of 2 letters or more, parts between spaces, or characters.",
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(
        "--stop-words",
        metavar="english|FILE",
        help="Words of texts to ignore: scikit-learn's English list, or the words of a file, one on each line.",
    ),
]
Presence = Annotated[
    bool,
    typer.Option("--presence", help="Count a word at most once in each text."),
]
Sql = Annotated[
    str | None,
    typer.Option(
        "--sql",
        metavar="QUERY",
        help="Read the result of a DuckDB query instead of DATA: \"select * from 'a.csv'\".",
    ),
]
Folders = Annotated[
    str | None,
    typer.Option(
        "--folders",
        metavar="DIR",
        help="Read a folder instead of DATA: a sub-folder for each class, in it a file for each document.",
    ),
]
Format = Annotated[
    Literal["csv", "tsv", "jsonl", "parquet", "arrow", "lines", "text"] | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, jsonl, parquet, arrow, lines (a document on each line) or text (each file is a document); "
        "needed where a file's name does not show it.",
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="The encoding of a text file: utf-8, utf-16, latin-1; of documents, any that Python knows.",
    ),
]
Errors = Annotated[
    Literal["strict", "replace"],
    typer.Option(
        "--errors",
        metavar="strict|replace",
        help="How invalid bytes of a document are treated: as an error, or replaced by U+FFFD.",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        help="A text that stands for a missing value in any column. May be repeated.",
    ),
]
Hive = Annotated[
    bool,
    typer.Option(
        "--hive",
        help="Read folders of DATA that are named KEY=VALUE as a column KEY, in addition to those of the files.",
    ),
]
AllowMissing = Annotated[
    bool,
    typer.Option(
        "--allow-missing-columns",
        help="Treat a column that DATA lacks as missing in every row.",
    ),
]


def example(*commands: str) -> str:
    """Return the end of a command's help: examples of calls."""
    return "\b\nExample:\n" + "\n".join(f"  {command}" for command in commands)


Command = Callable[..., None]


def table_options(
    data: Tables = None,
    sql: Sql = None,
    folders: Folders = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    errors: Errors = "strict",
    missing: Missing = None,
    hive: Hive = False,
) -> None:
    """Declare the options that name a table and say how it is read; see `inputs.open_table`."""


def model_options(
    target: Target = None,
    learner: Learner = None,
    C: Penalty = None,
    roles: Roles = None,
    join: Join = None,
    numbers: Numbers = None,
    like: Like = None,
    weights: Weights = None,
    classes: Classes = None,
    prior: Prior = None,
    alpha: Alpha = None,
    parameter_prior: ParameterPrior = None,
    covariance: Shape = None,
    unseen: Unseen = None,
    most_levels: MostLevels = None,
    ngrams: Ngrams = None,
    tokens: Tokens = None,
    stop_words: StopWords = None,
    presence: Presence = False,
) -> None:
    """Declare the options that say which model is trained; see `training_options.training_arguments`."""


DOCUMENT_OPTIONS = ("folders", "errors")
"""The table options that only documents need."""


def with_options_of(*declarations: Command, without: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """Give a command the options of other functions, except `without`, after its own; it receives them by name.

    --json and --debug are never copied.

    >>> def weigh(flour: int = 1, json: bool = False) -> None: ...
    >>> @with_options_of(weigh)
    ... def bake(*, hours: int = 2, **options: int) -> None: ...
    >>> str(inspect.signature(bake))
    '(*, hours: int = 2, flour: int = 1) -> None'
    """

    def decorate(command: Command) -> Command:
        own = [p for p in _parameters(command) if p.kind is not inspect.Parameter.VAR_KEYWORD]
        last = [p for p in own if p.name in ("json", "debug")]
        excluded = {"json", "debug", *without, *(p.name for p in own)}
        declared = [p for declaration in declarations for p in _parameters(declaration) if p.name not in excluded]
        ordered = [*(p for p in own if p not in last), *declared, *last]
        keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in ordered]
        command.__signature__ = inspect.Signature(keywords, return_annotation=None)  # type: ignore[attr-defined]
        return command

    return decorate


def _parameters(command: Command) -> list[inspect.Parameter]:
    return list(inspect.signature(command, eval_str=True).parameters.values())


MODEL_OPTIONS = tuple(p.name for p in _parameters(model_options) if p.name != "target")


def select_options(options: Mapping[str, Any], *more: str) -> dict[str, Any]:
    """Return the options of the model, and those named `more`, that a command has; None for a switch that is off.

    >>> select_options({"data": ["a.csv"], "alpha": 2.0, "presence": False, "folds": 5}, "folds")
    {'alpha': 2.0, 'presence': None, 'folds': 5}
    """
    names = [name for name in (*MODEL_OPTIONS, *more) if name in options]
    return {name: None if options[name] is False else options[name] for name in names}


def split_list(text: str) -> list[str]:
    """Split at commas; a part that contains a comma is written in double quotes."""
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


def parse_numbers(text: str | None, option: str) -> list[float] | None:
    """Parse numbers between commas; whole numbers remain integers."""
    if text is None:
        return None
    try:
        return [float(part) if "." in part or "e" in part.lower() else int(part) for part in split_list(text)]
    except ValueError:
        raise typer.BadParameter(f"{option} takes numbers between commas, not {text!r}") from None


def parse_roles(pairs: list[str] | None) -> dict[str, str]:
    """Parse pairs COL=ROLE; a column's name may contain '='."""
    roles = {}
    for pair in pairs or ():
        column, equals, role = pair.rpartition("=")
        if not equals or not column:
            raise typer.BadParameter(f"{pair!r} is not COL=ROLE, as in --as age=number")
        roles[column] = role.strip()
    return roles


def parse_prior(text: str | None) -> Any:
    """Parse the name of a prior, or the share of each class."""
    if text is None or "=" not in text:
        return text
    shares = {}
    for part in split_list(text):
        label, _, share = part.rpartition("=")
        try:
            shares[label.strip()] = float(share)
        except ValueError:
            raise typer.BadParameter(f"{part!r} is not CLASS=SHARE, as in --prior ill=0.1,well=0.9") from None
    return shares
