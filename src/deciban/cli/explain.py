"""`deciban explain`: the evidence for predictions, in decibans, by column or by word with the strongest first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from deciban.cli import options as a
from deciban.cli.files import print_json
from deciban.cli.inputs import open_table
from deciban.cli.parser import DEBUG, JSON, command, flag, number
from deciban.cli.render import Screen, shorten, to_one_line
from deciban.command_hints import direct_role_hints_to_training
from deciban.errors import UsageError
from deciban.formatting import format_probability, format_word, shorten_evidence_name
from deciban.load_model import open_model
from deciban.scores.explanation import Reason, format_decibans, format_odds, in_context

if TYPE_CHECKING:
    from deciban.model.row_explanations import RowExplanation, RowWords
    from deciban.scores.explanation import WordEvidence

BAR_WIDTH = 12
"""The characters of the longest bar to either side."""

DECIBANS_WIDTH = 9
"""The characters of a number of decibans."""

MAX_WORD_WIDTH = 22
"""The characters of a word that are shown next to its passage."""


@command(
    a.MODEL_FILE,
    a.most("How many rows to explain, from the first.", 5, names="--rows"),
    number("--row", "NUMBER", "Explain this row alone; the first after the header is 1.", minimum=1),
    a.PAIR, a.most("How many columns or words to show of each row, the strongest first.", 10),
    flag("--work", "Show the arithmetic instead: the factors of every class, their product, and its normalisation."),
    a.ALLOW_MISSING, *a.TABLE_OPTIONS, JSON, DEBUG,
    examples=[
        "deciban explain patients.deciban new-patients.csv --rows 2",
        "deciban explain patients.deciban new-patients.csv --row 4 --work",
        "deciban explain patients.deciban new-patients.csv --row 4 --classes flu,cold",
        "deciban explain newsgroups.deciban post.txt",
    ],
)  # fmt: skip
def explain(
    model: Path, rows: int, row: int | None, classes: tuple[str, str] | None, most: int, work: bool,
    allow_missing_columns: bool, json: bool, **options: Any,
) -> None:  # fmt: skip
    """Explain the prediction of each row: how much every column adds to the log-odds."""
    from deciban.model.row_explanations import explain_table_rows

    if work and classes is not None:
        raise UsageError("--work shows every class. Hint: leave --classes out")
    with direct_role_hints_to_training(), open_table(options) as table:
        start, count = (0, rows) if row is None else (row - 1, 1)
        loaded = open_model(model)
        table = table.for_model(loaded)
        name_column = next(iter(table.identified_by), None)
        explained = explain_table_rows(
            loaded, table.open(), start, count, classes, allow_missing_columns, name_column, most if work else None
        )
        if not explained:
            raise table.absent_row_error(start + 1)
        if json:
            print_json([each.to_dict() for each in explained])
        else:
            _show_rows(explained, most)


def _show_rows(rows: list[RowExplanation], most: int) -> None:
    """Print the explanations one below the other, of each the `most` strongest columns or words."""
    out = Screen()
    for row in rows:
        _show_row(out, row, most)
    if any(row.work is not None for row in rows):
        return
    out.print()
    out.print_line("dB is decibans: +10 is ten to one for, +3 two to one, −10 ten to one against.")


def _show_row(out: Screen, row: RowExplanation, most: int) -> None:
    """Print the prediction of a row, its arithmetic or else its evidence for one class, and values never seen."""
    width = 19 if row.name is None else 30
    truth = "" if row.truth is None else f"; true class: {shorten(str(row.truth), width)}"
    probability = format_probability(row.probability, is_certain=math.isinf(row.total))
    chance = f"{shorten(str(row.prediction), width)}, probability {probability}{truth}"
    out.print_heading(f"Row {row.row}", chance if row.name is None else shorten(row.name, out.width - 20))
    if row.name is not None:
        out.print_line(chance)
    if row.work is not None:
        from deciban.cli.arithmetic_screen import show_arithmetic

        show_arithmetic(out, row.work)
    else:
        out.print_line(f"why {shorten(str(row.favoured), 30)} rather than {shorten(str(row.against), 30)}:")
        if row.words is None:
            _show_columns(out, row, most)
        else:
            _show_words(out, row.words, row.total, most)
    for value in row.unseen:
        out.print_line(str(value))


def _show_columns(out: Screen, row: RowExplanation, most: int) -> None:
    """Print the evidence of the `most` strongest columns as bars, that of all others in one line, and the total."""
    shown, hidden = row.entries[:most], row.entries[most:]
    if hidden:
        shown = [*shown, (f"{len(hidden)} more", sum(value for _, value in hidden))]
    largest = max([abs(v) for _, v in shown if math.isfinite(v)] + [1e-9])
    widest = max(cell_len(to_one_line(name)) for name, _ in [*shown, ("total", 0.0)])
    width = min(widest, out.width - 2 * BAR_WIDTH - 19)
    for name, value in shown:
        padded = set_cell_size(shorten_evidence_name(to_one_line(name), width, shorten), width)
        bar = f"  {padded}  {format_decibans(value, DECIBANS_WIDTH)}  {_draw_signed_bar(value, largest)}"
        out.print(bar.rstrip(), soft_wrap=True)
    total = f"  {'total':<{width}}  {format_decibans(row.total, DECIBANS_WIDTH)}  {format_odds(row.total)}"
    out.print(total.rstrip(), soft_wrap=True)


def _draw_signed_bar(value: float, largest: float) -> str:
    """Draw evidence as a bar: to the right for the class, to the left against it; nothing if it is undefined."""
    if math.isnan(value):
        return ""
    length = BAR_WIDTH if math.isinf(value) else round(BAR_WIDTH * min(1.0, abs(value) / largest))
    return " " * BAR_WIDTH + "│" + "█" * length if value >= 0 else " " * (BAR_WIDTH - length) + "█" * length + "│"


def _show_words(out: Screen, row: RowWords, total: float, most: int) -> None:
    """Print the strongest words and columns, each word with its context."""
    named = [(f"{w.column}: " if len(row.texts) > 1 else "") + format_word(w.word) for w in row.words]
    found = [*row.others, *(Reason(name, w.decibans, w) for name, w in zip(named, row.words))]
    found.sort(key=lambda reason: -abs(reason.decibans))
    shown, hidden = found[:most], found[most:]
    body = [
        [
            shorten(name, MAX_WORD_WIDTH)
            if word
            else shorten_evidence_name(to_one_line(name), MAX_WORD_WIDTH, shorten),
            f"{word.times}×" if word else "",
            format_decibans(value).strip(),
        ]
        for name, value, word in shown
    ]
    if hidden:
        body.append([f"{len(hidden)} more", "", format_decibans(sum(value for _, value, _ in hidden)).strip()])
    body.append(["total", "", format_decibans(total).strip()])
    head = ["word" if len(row.others) == 1 else "reason", "times", "evidence"]
    width = out.width - sum(max(cell_len(cells[i]) for cells in [head, *body]) + 2 for i in range(3)) - 2
    contexts = ["" if word is None else _format_context(row.texts[word.column], word, width) for _, _, word in shown]
    contexts += ["", format_odds(total)] if hidden else [format_odds(total)]
    rows = [[*cells, words] for cells, words in zip(body, contexts)]
    out.print_table([*head, "first occurrence"], rows, right=[1, 2])


def _format_context(text: str, word: WordEvidence, width: int) -> str:
    """Return a word with its context in `width` columns of the screen; some characters take two."""
    words = to_one_line(in_context(text, word, width))
    return words if cell_len(words) <= width else to_one_line(in_context(text, word, width // 2))
