"""The arguments that several commands share, each declared once, and the parsing of their values.

`TABLE_OPTIONS` are for a command that reads a table, `MODEL_OPTIONS` for one that trains models.
"""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

from deciban.cli.parser import Argument, argument, choice, flag, in_section, list_option, number, option, switch
from deciban.errors import UsageError
from deciban.option_values import NumberRange, parse_pair, split_list

COVARIANCES: Final = "full|tied|mixed|diagonal|tied_diagonal|spherical|tied_spherical|identity"
TABLE_FILES: Final = ".csv, .tsv, .jsonl, .parquet or .arrow file"


def numbers(name: str, metavar: str, help: str, allowed: NumberRange) -> Argument:
    """Declare an option that takes numbers between commas, of which whole numbers remain integers."""

    def parse(text: str) -> list[float]:
        parts = split_list(text)
        try:
            found = [allowed.parse(part) for part in parts]
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"numbers between commas are needed; {error}") from None
        return [int(part) if part.lstrip("+").isdecimal() else value for part, value in zip(parts, found)]

    return option(name, metavar, help, type=parse)._replace(limits=str(allowed))


def parse_quote(text: str) -> str:
    """Return a text that is one ASCII character or the word none; refuse any other."""
    if text != "none" and (len(text) != 1 or not text.isascii()):
        raise ArgumentTypeError(f"one ASCII character is needed, or none; not {text!r}")
    return text


MODEL_FILE: Final = argument("model", metavar="MODEL", type=Path, help="A model file.")
DATA: Final = argument(
    "data", nargs="*", metavar="DATA", default=(),
    help="CSV, TSV, JSON lines, Parquet, Arrow, Excel, ARFF or SQLite files, .txt files with a document a line (.gz "
    "and .zst too), a quoted pattern such as 'day-*.csv', a pipe such as <(…), - for standard input, or the address "
    "of a database, postgresql://…, duckdb:///FILE or sqlite:///FILE.",
)  # fmt: skip
TABLE_OPTIONS: Final = (
    DATA,
    *in_section(
        "Options of the table",
        option("--sql", "QUERY", "Read the result of a DuckDB query instead of DATA: \"select * from 'a.csv'\"."),
        option("--folders", "DIR",
               "Read a folder instead of DATA: a sub-folder for each class, in it a file for each document."),
        choice("--format", "csv|tsv|jsonl|parquet|arrow|excel|arff|sqlite|lines|text",
               "csv, tsv, jsonl, parquet, arrow, excel, arff, sqlite, lines (a document on each line) or text (each "
               "file is a document); needed where a file's name does not show it.", metavar="FORMAT"),
        option("--table", "NAME",
               "The table of a database or a SQLite file, or the sheet of an Excel file, if it has several."),
        option("--where", "CONDITION", "A condition in SQL on the rows of a table of a database: 'age > 30'."),
        option("--encoding", "NAME",
               "The encoding of a text file: utf-8, utf-16, cp1252, latin-1, or any other that Python knows.",
               default="utf-8"),
        choice("--errors", "strict|replace",
               "How invalid bytes of a document are treated: as an error, or replaced by U+FFFD.", default="strict"),
        list_option("--missing", "TEXT", "A text that stands for a missing value in any column."),
        choice("--bad-cells", "error|missing",
               "How a cell that is not a number in a column of numbers, or not a date among dates, is treated: as an "
               "error, or counted as missing and reported.", default="error"),
        switch("--header",
               "Whether the first line of a CSV file names the columns; without either, one that looks like data is "
               "an error.", None),
        option("--names", "A,B,…",
               "The names of the columns of a CSV file that has no header; with --header, in place of those in it."),
        option("--quote", "CHAR|none",
               "The character around cells of a CSV file that contain the delimiter; none: quotes are ordinary "
               "characters.", default='"', type=parse_quote),
        choice("--decimal", ".|,",
               "The decimal mark of a CSV file, where the other mark separates thousands; by default, as the cells "
               "suggest."),
        choice("--dates", "day-first|month-first",
               "The order of day and month in dates such as 01/02/2024, where no date of the column shows it."),
        flag("--hive",
             "Read folders of DATA that are named KEY=VALUE as a column KEY, in addition to those of the files."),
    ),
)  # fmt: skip
"""The arguments that name a table and control how it is read; see `inputs.open_table`."""

SPARK: Final = option(
    "--spark", "MASTER",
    "Have Spark read DATA, Parquet, CSV or JSON lines, with this master: local[4], spark://HOST:7077, yarn.",
)  # fmt: skip
TARGET: Final = option(
    "--target", "COL", "The column to predict: its name, or its number where no column has that name (-1: the last)."
)
ROLES: Final = list_option(
    "--as", "COL=ROLE", "Treat a column as number, binned, count, flag, category, date, text or skip.", dest="roles"
)
WEIGHTS: Final = option("--weights", "COL", "The column of the rows' weights, as counts: weight 2 is two equal rows.")
SURVEY_WEIGHTS: Final = option(
    "--survey-weights", "COL", "The column of the rows' survey weights; they have no unit."
)
PRIOR: Final = option(
    "--prior", "PRIOR", "Share of each class before any evidence: empirical, smoothed, uniform, or A=0.1,B=0.9."
)
MODEL_OPTIONS: Final = in_section(
    "Options of the model",
    choice(
        "--learner", "bayes|aode|logistic|evidence|boosted|auto",
        "The learner: naive Bayes (the default), averaged one-dependence estimators (each column given each other), "
        "logistic regression, evidence regression (a weight for the evidence of each column), boosted naive Bayes, "
        "or the one that predicts best in inner folds (auto).",
    ),
    number("--C", "NUMBER|auto",
           "Inverse strength of the penalty of logistic and evidence regression; auto (the default): chosen by "
           "cross-validation.", kind=float, minimum=0, excluded=(0.0,), word="auto"),
    ROLES,
    option("--join", "COL,COL,…",
           "Model columns jointly: numbers with their covariances, flags and categories as combinations. May be "
           "repeated; numbers: all numbers.", action="append"),
    choice("--numbers", "number|binned|auto",
           "How numbers are modelled: as Gaussians (number), in bins (binned), or as predicts better (auto)."),
    option("--like", "MODEL",
           "Take roles and assumptions from this model, so that the two can be merged.", type=Path),
    WEIGHTS,
    SURVEY_WEIGHTS,
    option("--classes", "A,B,…", "The classes: any other in DATA is an error, and a class without rows is allowed."),
    PRIOR,
    number(
        "--alpha", "NUMBER|auto",
        "Pseudo-count of every level, bin, rate and word; auto (default): 1 of rates and words; shares of levels and "
        "bins are shrunk to those of all classes.",
        kind=float, minimum=0, word="auto",
    ),
    number("--parameter-prior", "NUMBER",
           "Pseudo-rows with a number's overall variance in every class (default 1).", kind=float, minimum=0),
    choice("--covariance", COVARIANCES,
           "The covariance of Gaussians: full, tied or mixed (between the two, by leave-one-out) for joined numbers; "
           "diagonal, tied_diagonal, spherical, tied_spherical or identity for the others.", metavar="SHAPE"),
    choice("--unseen", "ignore|smooth|error",
           "How a value never seen in training is treated: ignored, as a rare value (smooth), or as an error."),
    number("--most-levels", "NUMBER",
           "How many values of a category are distinguished; rarer ones count as one value (default 1000).",
           minimum=1),
    option("--ngrams", "N",
           "Count n-grams of texts up to length N: 2 counts pairs of words too. 3-5: lengths 3 to 5."),
    choice("--tokenizer", "classic|modern",
           "How texts are read: words of 2 letters or more (classic, the default), or words, punctuation and pairs "
           "of neighbours (modern). The following options change parts of it."),
    choice("--tokens", "words|whitespace|'words and punctuation'|characters|'characters in words'",
           "What a text is split into: words of 2 letters or more, parts between spaces, words and each punctuation "
           "character, or characters."),
    option("--stop-words", "english|FILE",
           "Words of texts to ignore: scikit-learn's English list, or the words of a file, one on each line."),
    flag("--presence", "Count a word at most once in each text."),
    flag("--keep-markers",
         "Take ?, NA, null and the like for values of categories and texts, not for missing ones."),
)  # fmt: skip
"""The options that define the model that is trained; see `training_options.training_arguments`."""

CALIBRATE: Final = choice(
    "--calibrate", "auto|temperature|platt|isotonic|none",
    "Calibrate the probabilities on held-out rows; "
    "auto, the default: by a temperature, unless the class shares or another map are better.",
)  # fmt: skip
STRUCTURE: Final = choice(
    "--structure", "auto|naive|blocks|tan",
    "Columns independent given the class (naive), joined in pairs (blocks), or each dependent on at most one other "
    "(tan); auto: naive or tan, whichever predicts held-out rows better.",
)  # fmt: skip
SECONDS: Final = number(
    "--seconds", "NUMBER", "With --learner auto, leave out learners that would take longer than this.", kind=float,
    minimum=0, excluded=(0.0,),
)  # fmt: skip
PAIR: Final = option(
    "--classes", "FOR,AGAINST", "Compare these two classes; by default the two most probable of each row.",
    type=parse_pair,
)  # fmt: skip
ALLOW_MISSING: Final = flag("--allow-missing-columns", "Treat a column that DATA lacks as missing in every row.")
TABLE_OUTPUT: Final = option("-o --output", "OUT", f"The {TABLE_FILES} to write; by default CSV on stdout.")
JSON_LINES: Final = flag("--json", "Print JSON lines on stdout instead of CSV.")
SAFE_CELLS: Final = flag(
    "--safe-cells", "In CSV and TSV, put ' before texts that a spreadsheet would take for formulas."
)


def most(help: str, default: int, maximum: float = inf, names: str = "--most") -> Argument:
    """Declare the option for the number of columns, words or rows that are shown."""
    return number(names, "NUMBER", help, minimum=1, maximum=maximum, default=default)


def select_options(options: Mapping[str, Any], *more: str) -> dict[str, Any]:
    """Return the options of the model, and those named `more`, that a command has; None for a switch that is off.

    >>> select_options({"data": ["a.csv"], "alpha": 2.0, "presence": False, "folds": 5}, "folds")
    {'alpha': 2.0, 'presence': None, 'folds': 5}
    """
    names = [name for name in (*(each.destination for each in MODEL_OPTIONS), *more) if name in options]
    return {name: None if options[name] is False else options[name] for name in names}


def parse_roles(pairs: Sequence[str]) -> dict[str, str]:
    """Parse pairs COL=ROLE; a column's name may contain '='.

    Raises UsageError for a pair of another form, and for two roles of one column.
    """
    roles: dict[str, str] = {}
    for pair in pairs:
        column, equals, role = pair.rpartition("=")
        if not equals or not column:
            raise UsageError(f"{pair!r} is not COL=ROLE, as in --as age=number")
        if roles.setdefault(column, role.strip()) != role.strip():
            raise UsageError(f"--as gives {column} both {roles[column]} and {role.strip()}")
    return roles
