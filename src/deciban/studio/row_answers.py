"""Answers about a row: its posterior, the evidence, the difference to another row, and what would flip it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from deciban import engines
from deciban.formatting import format_number, format_probability, format_signed, format_word
from deciban.html_fragments import Markup, draw_posterior, element, join, make_notes, make_table
from deciban.model.description import describe_model
from deciban.model.model import Model
from deciban.model.row_explanations import find_row_words
from deciban.model.single_changes import SingleChange, find_single_changes
from deciban.model.table_explanations import explain_rows
from deciban.scores import Explanation
from deciban.scores.explanation import Reason
from deciban.scores.explanation_html import draw_reasons, show_texts
from deciban.sources.source import Source
from deciban.studio.row_fields import format_cell

MAX_SHOWN_BARS = 14
"""Bars of a waterfall; the columns that are weakest in the model share one more."""

MAX_ANSWER_CLASSES = 8
"""Classes whose probabilities are shown, the most probable ones."""

MAX_SHOWN_CHANGES = 6
"""Single changes that are listed."""


@dataclass(frozen=True)
class RowAnswer:
    """The posterior of a row, its most probable class with its probability, and the evidence for one of two."""

    posterior: list[tuple[Any, float]]
    explanation: Explanation
    prediction: Any
    probability: float

    @property
    def total(self) -> float:
        """The sum of all evidence, in decibans."""
        return float(self.explanation.total[0])


def answer_row(model: Model, row: Source, favoured: str | None = None) -> RowAnswer:
    """Return the answer for a row, with the evidence for one class against the most probable of the others.

    It is the class of the name `favoured`, or else the most probable one.
    """
    (_, parts), *_ = model._read_blocks(row, True, model._make_unseen_monitor())
    p = model._score(parts, "posterior", engines.thread_count(1))[0].tolist()
    order = sorted(range(len(p)), key=lambda k: -p[k])
    labels = model.classes
    first = next((k for k in order if str(labels[k]) == favoured), order[0])
    pair = None
    if len(labels) > 1:
        pair = labels[first], labels[next(k for k in order if k != first)]
    explanation = explain_rows(model, row, pair, 1, True)
    return RowAnswer([(labels[k], p[k]) for k in range(len(p))], explanation, labels[order[0]], p[order[0]])


def rank_columns(model: Model) -> list[str]:
    """Return the names of all features, the strongest in the model first, an order independent of the row."""
    return [strength.feature for strength in describe_model(model).strongest]


def show_answer(answer: RowAnswer, order: Sequence[str] | None) -> Markup:
    """Return the posterior, the waterfall in a fixed order of columns, texts with their words, and unseen values.

    Without an order, texts come first, and the bars are words and columns, the strongest first.
    """
    classes = sorted(answer.posterior, key=lambda each: -each[1])[:MAX_ANSWER_CLASSES]
    shown = [each for each in answer.posterior if each in classes]
    verdict = element(
        "p", element("strong", answer.prediction), f" with probability {format_probability(answer.probability)}",
        class_="verdict",
    )  # fmt: skip
    explanation = answer.explanation
    caption = f"Evidence for {explanation.winner[0]} rather than {explanation.runner_up[0]}"
    reasons = list_word_reasons(explanation) if order is None else arrange_reasons(explanation, order)
    waterfall = draw_reasons(reasons, answer.total, caption, MAX_SHOWN_BARS)
    texts = [element("div", text, class_="highlighted") for text in show_texts(explanation, 0)]
    unseen = make_notes(str(value) for value in explanation.unseen_values(0))
    parts = [*texts, waterfall] if order is None else [waterfall, *texts]
    return element("div", verdict, draw_posterior(shown), *parts, unseen, class_="db")


def arrange_reasons(explanation: Explanation, order: Sequence[str]) -> list[Reason]:
    """Return the reasons of a row in a fixed order: the prior, the features in this order, then all others."""
    place = {name: i for i, name in enumerate(order)}
    entries = {entry.what: entry.column for entry in explanation.detailed_entries(0)}
    last = len(place)

    def rank(reason: Reason) -> tuple[int, str]:
        column = entries.get(reason.name)
        return (-1 if reason.name == "prior" else place.get(column or "", last), reason.name)

    return sorted(explanation.reasons(0), key=rank)


def list_word_reasons(explanation: Explanation) -> list[Reason]:
    """Return the reasons of a row, the words of its texts one by one, the strongest first."""
    found = find_row_words(explanation, 0)
    if found is None:
        return explanation.reasons(0)
    words = [
        Reason(word.shown + (f" ({word.times}×)" if word.times > 1 else ""), word.decibans) for word in found.words
    ]
    return sorted([*words, *found.others], key=lambda reason: -abs(reason.decibans))


def show_comparison(one: RowAnswer, other: RowAnswer, rows: Sequence[dict[str, Any]]) -> Markup:
    """Return two rows side by side: predictions, and cells and evidence of columns whose evidence differs."""
    evidence = [_sum_evidence_by_column(answer) for answer in (one, other)]
    names = dict.fromkeys([*evidence[0], *evidence[1]])
    lines = []
    for name in names:
        a, b = (each.get(name, 0.0) for each in evidence)
        cells = [format_cell(row.get(name)) if name in row else "" for row in rows]
        lines.append((abs(b - a), [name, *cells, format_signed(a), format_signed(b), format_signed(b - a)]))
    ranked = [line for size, line in sorted(lines, key=lambda each: -each[0]) if size > 0][:MAX_SHOWN_BARS]
    totals = ["total", "", "", *(format_signed(v) for v in (one.total, other.total, other.total - one.total))]
    heads = ["column", "kept row", "this row", "kept, dB", "this, dB", "difference"]
    caption = f"Evidence for {one.explanation.winner[0]} rather than {one.explanation.runner_up[0]}"
    table = make_table(heads, [*ranked, totals], caption, left=(0, 1, 2), strong=[len(ranked)])
    p = [f"{answer.prediction} ({format_probability(answer.probability)})" for answer in (one, other)]
    return element("div", element("p", f"Kept row: {p[0]}. This row: {p[1]}."), table, class_="db")


def _sum_evidence_by_column(answer: RowAnswer) -> dict[str, float]:
    """Return the evidence of each column in decibans, and that of the terms of no column by their names."""
    found: dict[str, float] = {}
    for entry in answer.explanation.detailed_entries(0):
        name = entry.what if entry.column is None else entry.column
        found[name] = found.get(name, 0.0) + entry.decibans
    return found


def answer_pair(model: Model, kept: Source, present: Source) -> tuple[RowAnswer, RowAnswer]:
    """Return the answers for two rows, both for the class that is most probable in the first, and the same other."""
    one = answer_row(model, kept)
    pair = one.explanation.winner[0], one.explanation.runner_up[0]
    return one, replace(answer_row(model, present), explanation=explain_rows(model, present, pair, 1, True))


def show_changes(model: Model, row: Source) -> Markup:
    """Return a sentence for each single change that flips the prediction, at most `MAX_SHOWN_CHANGES`."""
    changes = find_single_changes(model, row)[:MAX_SHOWN_CHANGES]
    if not changes:
        return element("p", "No single change of a value within what was learned gives another answer.")
    return element("ul", *(element("li", _describe_change(change)) for change in changes), class_="changes")


def _describe_change(change: SingleChange) -> Markup:
    """Return a change and its result in words, with a button that makes it."""
    before, after = format_cell(change.before) or "missing", format_cell(change.after)
    if change.word is not None:
        what = join(element("b", change.column), f" without “{format_word(change.word)}”")
    else:
        what = join(element("b", change.column), f" {before} → ", element("b", after))
    size = f", a change of {format_number(100 * change.size, 1)} % of its range" if change.size < 1 else ""
    result = f"then {change.prediction} with probability {format_probability(change.probability)}{size}"
    button = element(
        "button", "Try it", type="button", class_="button quiet small", data_set=change.column, data_value=after,
        aria_label=f"Try it: {change.column} = {after[:80]}",
    )  # fmt: skip
    return join(element("span", what, element("small", result)), button)
