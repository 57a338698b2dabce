"""The arguments and options that several commands share: one wording each."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show where an error happened.")]
AsJson = Annotated[bool, typer.Option("--json", help="Give the figures as JSON on stdout.")]
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
        help="Take a column as number, binned, count, flag, category, date, text or skip. May be repeated.",
    ),
]
Join = Annotated[
    list[str] | None,
    typer.Option(
        "--join",
        metavar="COL,COL,…",
        help="Take columns together: numbers with their covariances, flags and categories as combinations. May be "
        "repeated; numbers: all numbers.",
    ),
]
Numbers = Annotated[
    Literal["number", "binned", "auto"] | None,
    typer.Option(
        "--numbers",
        metavar="number|binned|auto",
        help="How all numbers are taken: bell-shaped (number), in bins, or whichever tells the classes apart better.",
    ),
]
Learner = Annotated[
    Literal["bayes", "logistic", "evidence", "boosted"] | None,
    typer.Option(
        "--learner",
        metavar="bayes|logistic|evidence|boosted",
        help="Who learns: naive Bayes (unless given), logistic regression, evidence regression (how much to trust "
        "each column), or boosted naive Bayes.",
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
        help="The classes there are: any other in DATA is refused, and one without rows is known.",
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
    """A pseudo-count, or that the counts are to say it."""
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
        help="Pseudo-count for every level, bin, rate and word (1 unless given); auto: as many as what was counted "
        "asks for.",
    ),
]
ParameterPrior = Annotated[
    float | None,
    typer.Option(
        "--parameter-prior",
        metavar="NUMBER",
        help="Imagined rows with a number's overall spread in every class (1 unless given).",
    ),
]
Penalty = Annotated[
    Any,
    typer.Option(
        "--C",
        metavar="NUMBER|auto",
        parser=number_or_auto,
        help="One over the weight of the penalty of logistic and evidence regression; auto (unless given): by "
        "cross-validation.",
    ),
]
Shape = Annotated[
    Literal["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"] | None,
    typer.Option(
        "--covariance",
        metavar="SHAPE",
        help="The shape of bells: full or tied, of numbers that are joined; diagonal, tied_diagonal, spherical, "
        "tied_spherical or identity, of those that are not.",
    ),
]
Unseen = Annotated[
    Literal["ignore", "smooth", "error"] | None,
    typer.Option(
        "--unseen",
        metavar="ignore|smooth|error",
        help="What a value never seen in training means: nothing (ignore), a rare value (smooth), a mistake (error).",
    ),
]
MostLevels = Annotated[
    int | None,
    typer.Option(
        "--most-levels",
        metavar="NUMBER",
        help="Values of a category told apart; the rarer ones count as one (1000 unless given).",
    ),
]
Ngrams = Annotated[
    str | None,
    typer.Option(
        "--ngrams",
        metavar="N",
        help="In texts, take up to N neighbours together: 2 counts pairs of words too. 3-5: from 3 to 5 of them.",
    ),
]
Tokens = Annotated[
    Literal["words", "whitespace", "characters", "characters in words"] | None,
    typer.Option(
        "--tokens",
        metavar="words|whitespace|characters|'characters in words'",
        help="What a text is cut into: words of 2 letters or more, whatever spaces part, or single characters.",
    ),
]
StopWords = Annotated[
    str | None,
    typer.Option(
        "--stop-words",
        metavar="english|FILE",
        help="Words of texts to leave out: scikit-learn's English list, or those of a file, one a line.",
    ),
]
Presence = Annotated[
    bool,
    typer.Option("--presence", help="Count a word once in each text, however often it is there."),
]
Sql = Annotated[
    str | None,
    typer.Option(
        "--sql",
        metavar="QUERY",
        help="Read the answer to a DuckDB query instead of DATA: \"select * from 'a.csv'\".",
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
        help="csv, tsv, jsonl, parquet, arrow, lines (a document a line) or text (each file a document), where a "
        "file's name does not tell.",
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
        help="What becomes of a document's bytes that the encoding does not have: an error, or U+FFFD for each.",
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
        "--hive", help="Take folders of DATA that are named KEY=VALUE as a column KEY, beside those of the files."
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
    """The end of a command's help: how it is called."""
    return "\b\nExample:\n" + "\n".join(f"  {command}" for command in commands)


def listed(text: str) -> list[str]:
    """The parts between commas; a part with a comma of its own stands in double quotes."""
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


def parse_roles(pairs: list[str] | None) -> dict[str, str]:
    """COL=ROLE taken apart; a column's name may hold '=' itself."""
    roles = {}
    for pair in pairs or ():
        column, equals, role = pair.rpartition("=")
        if not equals or not column:
            raise typer.BadParameter(f"{pair!r} is not COL=ROLE, as in --as age=number")
        roles[column] = role.strip()
    return roles


def parse_prior(text: str | None) -> Any:
    """A prior by name, or shares by class."""
    if text is None or "=" not in text:
        return text
    shares = {}
    for part in listed(text):
        label, _, share = part.rpartition("=")
        try:
            shares[label.strip()] = float(share)
        except ValueError:
            raise typer.BadParameter(f"{part!r} is not CLASS=SHARE, as in --prior ill=0.1,well=0.9") from None
    return shares
