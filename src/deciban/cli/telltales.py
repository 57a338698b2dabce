"""`deciban telltales`: the words that are the strongest evidence for each class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deciban._lazy import pa
from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr
from deciban.cli.files import print_json
from deciban.cli.parser import DEBUG, JSON, command, list_option, option
from deciban.cli.render import Screen, shorten
from deciban.cli.table_output import check_table_output, open_table_writer
from deciban.errors import InputError, unknown_class_error
from deciban.formatting import format_count, format_word
from deciban.load_model import load
from deciban.spellings import find_level

LABELS = list_option("--class", "LABEL", "Show this class only.", dest="labels")
COLUMN = option("--column", "COL", "The column of texts, where the model has several.")
MAX_DETAILED_CLASSES = 6
"""The largest number of classes for which each word has its own line."""

TELLTALE_WIDTH = 24
"""The characters of a word that are shown."""

WORD_FIGURES = ("decibans", "low", "high", "count", "elsewhere", "documents", "documents_elsewhere")
"""The fields of `Telltale` that are written; `elsewhere` is the count in all other classes."""


@command(
    a.MODEL_FILE, LABELS,
    a.most("At most how many words of each class, the strongest first.", 10, names="-n --number"),
    COLUMN, option("-o --output", "OUT", f"Write a table instead, to a {a.TABLE_FILES}, or - for CSV on stdout."),
    JSON, a.SAFE_CELLS, DEBUG,
    examples=[
        "deciban telltales messages.deciban",
        "deciban telltales newsgroups.deciban --class sci.space --class sci.med -n 20",
        "deciban telltales messages.deciban -n 50 -o words.csv",
    ],
)  # fmt: skip
def telltales(
    model: Path, labels: list[str] | None, number: int, column: str | None, output: str | None, json: bool,
    safe_cells: bool,
) -> None:  # fmt: skip
    """Show the words that distinguish each class from all others: their evidence, its interval, and their counts."""
    if output is not None:
        check_table_output(output, json, safe_cells, [model])
    loaded, place = load_text_model(model, column), {} if column is None else {"column": column}
    classes = [  # of a class with fewer words that are evidence for it, fewer are shown
        (label, [word for word in loaded.telltales(label, number, **place) if word.decibans > 0])
        for label in select_classes(loaded, labels)
    ]
    if output is not None:
        _write_table(classes, output, json, safe_cells)
    elif json:
        print_json([{"class": label, "words": _make_rows(words)} for label, words in classes])
    else:
        _print_classes(model, classes)


def _make_rows(words: Sequence[Any]) -> list[dict[str, Any]]:
    """Return a row for each word; fitted weights have no interval, and some no counts: those figures are None."""
    rows = [{name: word._asdict().get(name) for name in ("word", *WORD_FIGURES)} for word in words]
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def _write_table(classes: list[tuple[Any, list[Any]]], path: str, as_json: bool, safe_cells: bool) -> None:
    """Write a row for each word to a table file; for the path - to stdout, as CSV or JSON lines."""
    rows = [{"class": str(label), **row} for label, words in classes for row in _make_rows(words)]
    texts = [("class", pa.string()), ("word", pa.string())]
    schema = pa.schema([*texts, *((name, pa.float64()) for name in WORD_FIGURES)])
    with open_table_writer(path, as_json, schema, safe_cells) as write:
        write(pa.RecordBatch.from_pylist(rows, schema=schema))
    if path != "-":
        print_stderr(f"{format_count(len(rows), 'word')} of {format_count(len(classes), 'class')} to {path}")


def _print_classes(path: Path, classes: list[tuple[Any, list[Any]]]) -> None:
    """Print a table for each class and its words; if there are many classes, words with their decibans, as many to a
    line as fit.
    """
    screen = Screen()
    screen.print_title(f"{path}: telltales of each class, the strongest first")
    is_detailed = len(classes) <= MAX_DETAILED_CLASSES
    for label, words in classes:
        screen.print_heading(str(label))
        if not words:
            screen.print_line("no word is evidence for it")
        elif is_detailed:
            _print_words(screen, words)
        else:
            screen.print_packed([f"{shorten(format_word(w.word), TELLTALE_WIDTH)} {w.decibans:.0f}" for w in words])
    screen.print()
    if is_detailed:
        screen.print_line("dB is decibans for the class against all others: 10 is ten to one.")
        if all(hasattr(word, "elsewhere") for _, words in classes for word in words):
            screen.print_line("times, documents: in the class : in all other classes.")
    else:
        screen.print_line("Numbers are decibans for the class against all others: 10 is ten to one.")
        screen.print_line("--class LABEL shows intervals and counts.")


def _print_words(screen: Screen, words: Sequence[Any]) -> None:
    """Print a line for each word, with intervals and counts if all words have them."""
    rows = _make_rows(words)
    columns = {"word": [shorten(format_word(row["word"]), TELLTALE_WIDTH) for row in rows]}
    columns["evidence"] = [f"{row['decibans']:.1f} dB" for row in rows]
    if all(row["low"] is not None for row in rows):
        columns["90 % interval"] = [f"({row['low']:.1f} … {row['high']:.1f})" for row in rows]
    for title, here, there in (("times", "count", "elsewhere"), ("documents", "documents", "documents_elsewhere")):
        if all(row[here] is not None for row in rows):
            columns[title] = [f"{format_count(row[here])} : {format_count(row[there])}" for row in rows]
    right = [i for i, title in enumerate(columns) if title in ("evidence", "times", "documents")]
    screen.print_table(list(columns), zip(*columns.values()), right=right)


def select_classes(model: Any, labels: Sequence[str] | None) -> list[Any]:
    """Return the classes of a model with these names, each once; all classes in order if none is named."""
    classes = model.classes_.tolist() if hasattr(model, "classes_") else list(model.classes)
    known = {str(label): label for label in classes}
    named = list(dict.fromkeys(find_level(label, known) for label in labels or ()))
    for label in named:
        if label not in known:
            raise unknown_class_error(label, list(known))
    return [known[label] for label in named] or classes


def load_text_model(path: Path, column: str | None) -> Any:
    """Load a model; refuse one that was not trained on texts, or a column where it has none."""
    model = load(path)
    if not hasattr(model, "telltales"):
        raise InputError(
            f"{str(path)!r} holds a {type(model).__name__}, which has no words. "
            f"Hint: telltales need a model that was trained on texts"
        )
    if column is not None and type(model).__name__ in ("TextClassifier", "EvidenceRegression"):
        raise InputError(f"{str(path)!r} is a model of documents without columns. Hint: leave --column out")
    return model
