"""The options of training: as arguments of `deciban.train`, and as the words of a `deciban train` command."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import deciban
from deciban.cli.error_handling import progress
from deciban.cli.inputs import STDIN, TableInput
from deciban.cli.options import CALIBRATE, MODEL_OPTIONS, STRUCTURE, parse_roles, select_options
from deciban.errors import InputError, UsageError, list_names
from deciban.load_model import open_model
from deciban.option_values import join_list, parse_prior, split_list
from deciban.sources.source import FileOptions, find_column

if TYPE_CHECKING:
    from deciban.text import Words

WORD_OPTIONS = ("tokenizer", "ngrams", "tokens", "stop_words", "presence")
"""The options that control how texts are read."""

LIKE_OPTIONS = (
    "roles", "join", "numbers", "alpha", "parameter_prior", "covariance", "unseen", "most_levels",
    "keep_markers",
    *WORD_OPTIONS,
)  # fmt: skip
"""The options that --like takes from its model."""


def find_target(table: TableInput, options: Mapping[str, Any]) -> str:
    """Return the name of the target, also if it is given by its number; with --folders "class".

    Raises UsageError if none is given, and InputError for one folder without --classes.
    """
    target = options.get("target")
    if table.reading.format == "folders" and target in (None, "class"):
        from deciban.sources.document_files import CLASS, Folders

        source = table.open()
        if options.get("classes") is None and isinstance(source, Folders):
            source.refuse_one_class()
        return CLASS
    if target is None:
        columns = table.open().columns
        raise UsageError(
            f"--target COL is missing: which column is to be predicted? There are: {list_names(columns, 20)}"
        )
    return find_column(table.open(), target, "target") if re.fullmatch("-?[0-9]+", target) else str(target)


def call_on_table(
    function: str, table: TableInput, options: Mapping[str, Any], names: Sequence[str] = (), doing: str = "learning",
    again: str = "evaluating", **arguments: Any,
) -> Any:  # fmt: skip
    """Call a function of deciban on a table and its target, with `arguments`, the model options and those of `names`.

    A progress bar shows that it is `doing` something, and `again` if the rows are read a second time.
    """
    target = find_target(table, options)
    arguments |= training_arguments(select_options(options, *names))
    with progress(table, doing, again) as rows:
        return getattr(deciban, function)(
            table.source, target=target, progress=rows, **table.source_options, **arguments
        )


def training_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not None as arguments of `deciban.train`; refuse any that --like excludes."""
    arguments = {name: value for name, value in options.items() if value is not None}
    for name in LIKE_OPTIONS if "like" in arguments else ():
        if arguments.get(name):
            raise UsageError(
                f"--like takes roles and assumptions from its model, so {option_name(name)} cannot be given"
            )
    words = parse_words(*(arguments.pop(name, None) for name in WORD_OPTIONS))
    if words is not None:
        arguments["words"] = words
    if "join" in arguments:
        groups = arguments.pop("join")
        arguments["blocks"] = "numbers" if groups == ["numbers"] else [split_list(columns) for columns in groups]
    parsers: dict[str, Callable[[Any], Any]] = {
        "like": open_model,
        "roles": parse_roles,
        "classes": split_list,
        "prior": parse_prior,
    }
    return {name: parsers[name](value) if name in parsers else value for name, value in arguments.items()}


def option_name(parameter: str) -> str:
    """Return the option of a parameter: --as for `roles`, --most-levels for `most_levels`."""
    return {"roles": "--as"}.get(parameter, f"--{parameter.replace('_', '-')}")


def parse_words(
    tokenizer: str | None, ngrams: str | None, tokens: str | None, stop_words: str | None, presence: bool | None
) -> Words | None:
    """Return how texts are read, None if no option controls it; refuse stop words where tokens are characters."""
    settings: dict[str, object] = {
        "ngrams": None if ngrams is None else parse_ngrams(ngrams),
        "tokens": tokens,
        "stop": None if stop_words is None else read_stop_words(stop_words),
        "values": "presence" if presence else None,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    if not settings and tokenizer is None:
        return None
    if "stop" in settings and (tokens or "").startswith("characters"):
        raise UsageError(f"--stop-words needs words, and --tokens {tokens!r} has none")
    from deciban.text import Words

    return Words.preset(tokenizer or "classic", **settings)


def parse_ngrams(text: str) -> tuple[int, int]:
    """Parse N, or LOW-HIGH, into the shortest and the longest length of n-grams.

    >>> parse_ngrams("2"), parse_ngrams("3-5")
    ((1, 2), (3, 5))
    """
    from deciban.text.words import MAX_NGRAM_LENGTH

    found = re.fullmatch(r"(?:([1-9]\d{0,5})-)?([1-9]\d{0,5})", text.strip(), re.ASCII)
    low, high = (int(found[1] or 1), int(found[2])) if found else (1, 0)
    if not low <= high <= MAX_NGRAM_LENGTH:
        raise UsageError(
            f"--ngrams takes a number from 1 to {MAX_NGRAM_LENGTH}, or two of them as in 3-5; not {text!r}"
        )
    return low, high


def read_stop_words(text: str) -> str | list[str]:
    """Return the name of a list, or the words of a file in lower case: one on each line, empty lines ignored."""
    if text == "english":
        return text
    try:
        with open(text, encoding="utf-8-sig") as file:
            words = [line.strip().lower() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        why = "is not in utf-8" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot read the stop words {text!r}: {why}. Hint: --stop-words english, or a file with a word a line"
        ) from None
    return [word for word in words if word]


def format_training_command(
    table: TableInput, target: str, options: Mapping[str, Any], recommended: Mapping[str, Any], name: str = "train"
) -> str:
    """Return the command that trains, or of another `name`, with the recommended options in place of those given.

    >>> from deciban.cli.inputs import TableInput
    >>> table = TableInput(["day 1.csv"], "", None, FileOptions(missing=("?",)))
    >>> format_training_command(table, "ill", {"alpha": 3.0, "folds": 5}, {"numbers": "binned", "structure": "tan"})
    "deciban train 'day 1.csv' --target ill --numbers binned --alpha 3 --structure tan --missing '?'"
    """
    values = {**options, **recommended}
    words = [*_format_data(table), *_format_option("target", target)]
    for option in (*MODEL_OPTIONS, STRUCTURE, CALIBRATE):
        words += _format_option(option.destination, values.get(option.destination))
    for reading in (field.name for field in fields(FileOptions)):
        value = getattr(table.reading, reading)
        if value not in (getattr(FileOptions, reading), "folders"):
            value = join_list(value) if reading == "names" else value
            words += ["--no-header"] if value is False else _format_option(reading, value)
    return " ".join([f"deciban {name}", *words])


def _format_data(table: TableInput) -> list[str]:
    """Return the words that name the data: quoted paths, "-" for standard input, --folders PATH or --sql QUERY."""
    if table.sql is not None:
        return [*_format_option("sql", table.sql)]
    if table.reading.format == "folders":
        return [*_format_option("folders", table.paths[0])]
    return ["-"] if table.name == STDIN else [*map(quote_word, table.shown_paths)]


def _format_option(name: str, value: Any) -> Iterator[str]:
    """Yield "--name value", quoted; one per item of a list or tuple; "--name" if True; nothing if None or False."""
    if value is True:
        yield option_name(name)
    elif value is not None and value is not False:
        for each in value if isinstance(value, list | tuple) else [value]:
            text = str(each).removesuffix(".0") if isinstance(each, float) else str(each)
            yield f"{option_name(name)} {quote_word(text)}"


def quote_word(word: str) -> str:
    """Return a word of a command line, in quotes if the shell needs them."""
    return shlex.quote(word) if sys.platform != "win32" else f'"{word}"' if " " in word else word
