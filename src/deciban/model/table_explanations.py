"""Explanations of table rows: the evidence of each column in the order of the table, with the values of the row.

A text is one feature among others; its words are listed below it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.errors import InputError, unknown_class_error
from deciban.formatting import format_count
from deciban.ledger.schema import NumberedNames
from deciban.model.cell_values import format_cell_value, read_cells
from deciban.model.matrices import read_documents, stack_rows
from deciban.model.unseen_values import UnseenValueMonitor
from deciban.scorer import vocabularies
from deciban.scores import Explanation
from deciban.scores.explanation import (
    LINE_WIDTH,
    Reason,
    TextExplanation,
    UnseenValue,
    WordEvidence,
    format_decibans,
    in_context,
)
from deciban.sources.arrow_cells import format_label
from deciban.sources.source import Source
from deciban.spellings import find_level
from deciban.text import Finder

if TYPE_CHECKING:
    from deciban.model.model import Model

SHOWN_WORDS = 5
"""Number of words that are listed below a text."""

INDENT = 6
"""Spaces before a word below a text."""


@dataclass(frozen=True, eq=False, repr=False)
class TableExplanation(Explanation):
    """An explanation in which each text is one feature; `documents` explains the texts of a column by their words."""

    documents: Mapping[str, TextExplanation] = field(default_factory=dict)

    def __getitem__(self, rows: int | slice) -> Self:
        """Return the explanation of these rows alone."""
        documents = {column: explanation[rows] for column, explanation in self.documents.items()}
        return replace(super().__getitem__(rows), documents=documents)

    def words(self, row: int = 0) -> list[WordEvidence]:
        """Return every word that has evidence in a row, in whichever text it is, the strongest first."""
        row = range(len(self))[row]
        found = [word for documents in self.documents.values() for word in documents.words(row)]
        return sorted(found, key=lambda word: -abs(word.decibans))

    def _find_details(self, j: int) -> TextExplanation | None:
        """Return the explanation of feature j by its words, if it is a text."""
        return self.documents.get(self.features[j])

    def _format_reason(self, row: int, reason: Reason, width: int) -> list[str]:
        """Return the line of a feature; below a text its strongest words, each where it occurs first."""
        line = self._format_line(reason, width)
        return [line] if reason.behind is None else [line, *_format_words(reason.behind, row)]


def _format_words(documents: TextExplanation, row: int) -> list[str]:
    """Return the lines of the strongest words of a text, each with the text around it."""
    words = documents.words(row)
    shown = words[:SHOWN_WORDS]
    width = max([len(word.shown) for word in shown], default=0)
    lines = []
    for word in shown:
        line = f"{'':{INDENT}}{word.shown:<{width}}  {word.times:>3}×  {format_decibans(word.decibans)}  "
        lines.append(line + in_context(documents.texts[row], word, LINE_WIDTH - len(line)))
    left = len(words) - len(shown)
    return lines + ([f"{'':{INDENT}}… and {format_count(left, 'more word')}"] if left else [])


def explain_rows(
    model: Model, source: Source, classes: tuple[Any, Any] | None, rows: int | None, allow_missing: bool
) -> Explanation:
    """Explain all rows, or the first `rows` of them, with the values of their cells; raise an InputError for none."""
    pair = None if classes is None else find_class_pair(model, classes)
    monitor = model._make_unseen_monitor(numbers=True)
    kept = read_rows(model, source, rows, allow_missing, monitor)
    batches, parts = concatenate_blocks(kept)
    result = model._scorer.explain(parts, pair, model._labels, engines.thread_count(None))
    if model._layout.texts:
        result = _sum_words(model, result, [part.shape[1] for part in parts], batches)
    evidence, order = _sum_by_column(model, result.evidence)
    features, cells = [result.features[i] for i in order], read_table_cells(model, batches, len(result))
    values = np.array([[format_cell_value(cell) for cell in row] for row in cells], dtype=object).reshape(cells.shape)
    return replace(
        result, evidence=evidence, features=features, values=_name_parents(model, features, values), cells=cells,
        unseen=_list_unseen(monitor, kept, features, values),
    )  # fmt: skip


def _sum_by_column(model: Model, evidence: NDArray[Any]) -> tuple[NDArray[Any], list[int]]:
    """Return the evidence of each feature in the order of the table, and its place among the features of all blocks.

    The evidence of a column given another is added to that of the column alone.
    """
    places = [(kind, feature) for kind, features in model._layout.blocks for feature in features]
    own = {feature.name: i for i, (kind, feature) in enumerate(places) if kind != "pairs"}
    order = [own[feature.name] for feature in model._layout.features_in_table_order()]
    summed = evidence[:, order]
    for i, feature in ((i, feature) for i, (kind, feature) in enumerate(places) if kind == "pairs"):
        summed[:, order.index(own[feature.name])] += evidence[:, i]
    return summed, order


def _name_parents(model: Model, features: Sequence[str], values: NDArray[Any]) -> NDArray[Any]:
    """Return the values of dependent columns with those of the columns that they depend on, where both are there."""
    place, named = {name: i for i, name in enumerate(features)}, values.copy()
    for name, parent in model.structure.items():
        for row, (value, given) in enumerate(values[:, [place[name], place[parent]]]):
            if value is not None and given is not None:
                named[row, place[name]] = f"{value}, given {parent} = {given}"
    return named


def read_rows(
    model: Model, source: Source, rows: int | None, allow_missing: bool, monitor: UnseenValueMonitor | None = None
) -> list[tuple[list[Any], list[Any]]]:
    """Return the blocks of all rows, or of the first `rows`, as Arrow batches and matrices; InputError for none.

    The matrices end with row `rows`; the last batches may have more rows.
    """
    if rows is not None and rows < 1:
        raise InputError(f"rows must be at least 1, not {rows!r}")
    kept: list[tuple[list[Any], list[Any]]] = []
    remaining = sys.maxsize if rows is None else rows
    for batches, parts in model._read_blocks(source, allow_missing, monitor):
        kept.append((batches, [part[:remaining] for part in parts]))
        remaining -= sum(batch.num_rows for batch in batches)
        if remaining <= 0:
            break
    if not kept:
        raise InputError(f"{source.name} has no rows to explain")
    return kept


def concatenate_blocks(blocks: list[tuple[list[Any], list[Any]]]) -> tuple[list[Any], list[Any]]:
    """Return the batches of all blocks of rows, and one matrix for each block of features."""
    parts = [stack_rows(part) for part in zip(*(parts for _, parts in blocks))]
    return [batch for batches, _ in blocks for batch in batches], parts


def read_table_cells(model: Model, batches: list[Any], n: int) -> NDArray[Any]:
    """Return the cells that each feature was read from, rows × features in the order of the table."""
    features = model._layout.features_in_table_order()
    out = np.empty((n, len(features)), dtype=object)
    for j, feature in enumerate(features):
        out[:, j] = read_cells(batches, feature, n)
    return out


def _list_unseen(
    monitor: UnseenValueMonitor, blocks: list[tuple[list[Any], list[Any]]], features: list[str], values: NDArray[Any]
) -> list[tuple[UnseenValue, ...]]:
    """Return the values of each row that were not learned, in the order of the table."""
    place = {name: j for j, name in enumerate(features)}
    unseen: list[list[UnseenValue]] = [[] for _ in values]
    first = 0
    for batches, parts in blocks:
        cells = sorted(monitor.find(batches, parts), key=lambda found: place[found.feature.name])
        for found in cells:
            for row in (first + found.rows).tolist():
                unseen[row].append(found.describe(values[row, place[found.feature.name]]))
        first += parts[0].shape[0]
    return [tuple(found) for found in unseen]


def _sum_words(model: Model, result: Explanation, widths: list[int], batches: list[Any]) -> TableExplanation:
    """Return the explanation with one feature for each text, whose evidence is the sum over its words."""
    texts, n = model._layout.texts, len(result)
    ends = np.cumsum([0, *widths])[len(widths) - len(texts) :].tolist()
    word_evidence = {text.column: result.evidence[:, a:b] for text, a, b in zip(texts, ends, ends[1:])}
    with np.errstate(invalid="ignore"):  # impossible under both classes: the total is undefined
        totals = {column: np.asarray(words.sum(axis=1)).reshape(-1) for column, words in word_evidence.items()}
    dense = result.evidence[:, : ends[0]]
    evidence = np.column_stack([dense.toarray(), *totals.values()])
    documents = {}
    for (column, words), vocabulary in zip(word_evidence.items(), vocabularies(model._scorer.outline)):
        read = [read_documents(column, batch) for batch in batches]
        documents[column] = TextExplanation(
            words, np.zeros(n), totals[column], result.winner, result.runner_up,
            vocabulary or NumberedNames(words.shape[1]),
            texts=[part.text(i) or "" for part in read for i in range(len(part))][:n],  # empty where it is missing
            find=Finder(model.options.words, vocabulary), column=column,
        )  # fmt: skip
    features = [feature.name for feature in model._layout.features_by_block()]
    return TableExplanation(**{**vars(result), "evidence": evidence, "features": features}, documents=documents)


def find_class_pair(model: Model, classes: tuple[Any, Any]) -> tuple[int, int]:
    """Return the indices of two classes given by name; refuse unknown and equal ones."""
    known = {str(label): k for k, label in enumerate(model._scorer.outline.classes)}
    try:
        first, second = (find_level(format_label(label), known) for label in classes)
    except (TypeError, ValueError):
        raise InputError(f"classes must name two classes, (for, against), not {classes!r}") from None
    for label in (first, second):
        if label not in known:
            raise unknown_class_error(label, list(known))
    if first == second:
        raise InputError(f"classes must name two different classes, not {first!r} twice")
    return known[first], known[second]
