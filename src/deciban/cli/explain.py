"""`deciban explain`: the evidence for predictions, in decibans, by column or by word with the strongest first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from deciban.cli import options as a
from deciban.cli.command_groups import UsageError
from deciban.cli.files import open_model, print_json
from deciban.cli.inputs import direct_role_hints_to_training, open_table
from deciban.cli.parser import DEBUG, JSON, command, flag, number
from deciban.cli.render import Screen, shorten, to_one_line
from deciban.errors import InputError
from deciban.formatting import format_probability
from deciban.plain_json import to_plain
from deciban.scores.explanation import Reason, format_decibans, format_odds, format_word, in_context
from deciban.sources.row_views import CopyingView, RowRange

if TYPE_CHECKING:
    from deciban.model.model import Model
    from deciban.model.posterior_arithmetic import PosteriorArithmetic
    from deciban.scores import Explanation
    from deciban.scores.explanation import EvidenceEntry, UnseenValue, WordEvidence
    from deciban.sources.source import Source

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
            raise InputError(f"{table.name} has no row {start + 1}. Hint: --row counts from 1, without the header")
        if json:
            print_json([each.to_dict() for each in explained])
        else:
            show(explained, most)


@dataclass(frozen=True)
class RowExplanation:
    """The prediction of a row, and the evidence of its columns for one class against another."""

    row: int
    prediction: Any
    probability: float
    truth: Any
    favoured: Any
    against: Any
    entries: list[tuple[str, float]]
    total: float
    name: str | None = None
    words: RowWords | None = None
    unseen: Sequence[UnseenValue] = ()
    details: Sequence[EvidenceEntry] = ()
    work: PosteriorArithmetic | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation for JSON: infinite evidence is None."""
        result: dict[str, Any] = to_plain(
            {
                "row": self.row,
                "prediction": self.prediction,
                "probability": self.probability,
                "truth": self.truth,
                "for": self.favoured,
                "against": self.against,
                "evidence": [entry._asdict() for entry in self.details],
                "total": self.total,
                "unseen": [value.to_dict() for value in self.unseen],
            }
        )
        result |= {} if self.name is None else {"file": self.name}
        if self.words is not None:  # positions are characters of the text
            result["words"] = to_plain([word._asdict() for word in self.words.words])
        return result | ({} if self.work is None else {"work": self.work.to_dict()})


def explain_table_rows(
    model: Model, source: Source, start: int, count: int, pair: tuple[str, str] | None, allow: bool,
    name_column: str | None = None, most_factors: int | None = None,
) -> list[RowExplanation]:  # fmt: skip
    """Explain `count` rows from row `start`, named by `name_column`; an empty list if the table is shorter.

    With `most_factors`, the arithmetic of each row has at most so many factors of its own.
    """
    from deciban.model.posterior_arithmetic import compute_by_hand
    from deciban.model.table_explanations import explain_rows

    part = RowRange(source, start, count)
    view = CopyingView(
        part, [name for name in (model.target, name_column) if name is not None and name in source.columns]
    )
    copied: dict[str, list[Any]] = {name: [] for name in view.copied}
    p: list[Any] = []
    for batches, parts in model._read_blocks(view, allow, model._make_unseen_monitor()):
        p += model._score(parts, "posterior").tolist()
        for name, values in zip(view.copied, view.copied_columns(batches)):
            copied[name] += view.trim(values).to_pylist()
    if not p:
        return []
    explanation = explain_rows(model, part, pair, count, allow)
    truths, names = (copied.get(name or "", [None] * len(p)) for name in (model.target, name_column))
    work = [None] * len(p) if most_factors is None else compute_by_hand(model, part, count, allow, most_factors)
    found, labels = [], {str(label): label for label in model.classes}
    for i, (posterior, truth, name) in enumerate(zip(p, truths, names)):
        k = max(range(len(posterior)), key=posterior.__getitem__)
        winner, other = (labels[i : i + 1].tolist()[0] for labels in (explanation.winner, explanation.runner_up))
        row = RowExplanation(
            start + i + 1, model.classes[k], posterior[k], labels.get(truth, truth), winner, other,
            explanation.entries(i), float(explanation.total[i]), name, words_of_row(explanation, i),
            explanation.unseen_values(i), explanation.detailed_entries(i), work[i],
        )  # fmt: skip
        found.append(row)
    return found


def show(rows: list[RowExplanation], most: int) -> None:
    """Print the explanations one below the other, of each the `most` strongest columns or words."""
    out = Screen()
    for row in rows:
        _show_row(out, row, most)
    if any(row.work is not None for row in rows):
        return
    out.print()
    out.print_line("dB is decibans: +10 is ten to one for, +3 two to one, −10 ten to one against.")


def _show_row(out: Screen, row: RowExplanation, most: int) -> None:
    width = 20 if row.name is None else 30
    truth = "" if row.truth is None else f"; in truth {shorten(str(row.truth), width)}"
    probability = format_probability(row.probability, is_certain=math.isinf(row.total))
    chance = f"{shorten(str(row.prediction), width)}, probability {probability}{truth}"
    out.print_heading(f"Row {row.row}", chance if row.name is None else shorten(row.name, out.width - 20))
    if row.name is not None:
        out.print_line(chance)
    _show_reasons(out, row, most)
    for value in row.unseen:
        out.print_line(str(value))


def _show_reasons(out: Screen, row: RowExplanation, most: int) -> None:
    """Print the arithmetic of a row, or else its evidence for one class against another."""
    if row.work is not None:
        from deciban.cli.arithmetic_screen import show_arithmetic

        show_arithmetic(out, row.work)
        return
    out.print_line(f"why {shorten(str(row.favoured), 30)} rather than {shorten(str(row.against), 30)}:")
    if row.words is None:
        _show_columns(out, row, most)
    else:
        _show_words(out, row.words, row.total, most)


def _show_columns(out: Screen, row: RowExplanation, most: int) -> None:
    shown, hidden = row.entries[:most], row.entries[most:]
    if hidden:
        shown = [*shown, (f"{len(hidden)} more", sum(value for _, value in hidden))]
    largest = max([abs(v) for _, v in shown if math.isfinite(v)] + [1e-9])
    widest = max(cell_len(to_one_line(name)) for name, _ in [*shown, ("total", 0.0)])
    width = min(widest, out.width - 2 * BAR_WIDTH - 19)
    for name, value in shown:
        padded = set_cell_size(shorten(name, width), width)
        bar = f"  {padded}  {format_decibans(value, DECIBANS_WIDTH)}  {draw_bar(value, largest)}"
        out.print(bar.rstrip(), soft_wrap=True)
    total = f"  {'total':<{width}}  {format_decibans(row.total, DECIBANS_WIDTH)}  {format_odds(row.total)}"
    out.print(total.rstrip(), soft_wrap=True)


def draw_bar(value: float, largest: float) -> str:
    """Draw evidence as a bar: to the right for the class, to the left against it."""
    if math.isnan(value):
        return ""
    length = BAR_WIDTH if math.isinf(value) else round(BAR_WIDTH * min(1.0, abs(value) / largest))
    return " " * BAR_WIDTH + "│" + "█" * length if value >= 0 else " " * (BAR_WIDTH - length) + "█" * length + "│"


@dataclass(frozen=True)
class RowWords:
    """The words of a row's texts with the evidence of each, the texts, and the evidence of other columns."""

    words: Sequence[WordEvidence]
    texts: Mapping[str, str]
    others: Sequence[Reason]


def words_of_row(explanation: Explanation, row: int) -> RowWords | None:
    """Return the words of a row with their evidence; None if the model reads no texts."""
    from deciban.model.table_explanations import TableExplanation

    if not isinstance(explanation, TableExplanation):
        return None
    texts = {column: documents.texts[row] for column, documents in explanation.documents.items()}
    others = [reason for reason in explanation.reasons(row) if reason.behind is None]
    return RowWords(explanation.words(row), texts, others)


def _show_words(out: Screen, row: RowWords, total: float, most: int) -> None:
    """Print the strongest words and columns, each word with its context."""
    named = [(f"{w.column}: " if len(row.texts) > 1 else "") + format_word(w.word) for w in row.words]
    found = [*row.others, *(Reason(name, w.decibans, w) for name, w in zip(named, row.words))]
    found.sort(key=lambda reason: -abs(reason.decibans))
    shown, hidden = found[:most], found[most:]
    body = [[shorten(n, MAX_WORD_WIDTH), f"{w.times}×" if w else "", format_decibans(v).strip()] for n, v, w in shown]
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
