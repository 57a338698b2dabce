"""Explanations of single rows of a table: prediction, evidence, words, and the arithmetic, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deciban.model.posterior_arithmetic import compute_by_hand
from deciban.model.table_explanations import TableExplanation, explain_rows
from deciban.plain_json import to_plain
from deciban.scores.explanation import Reason
from deciban.sources.row_views import CopyingView, RowRange

if TYPE_CHECKING:
    from deciban.model.model import Model
    from deciban.model.posterior_arithmetic import PosteriorArithmetic
    from deciban.scores import Explanation
    from deciban.scores.explanation import EvidenceEntry, UnseenValue, WordEvidence
    from deciban.sources.source import Source


@dataclass(frozen=True)
class RowExplanation:
    """The prediction of a row, numbered from 1, and the evidence of its columns for one class against another."""

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
        winner, other = (side[i : i + 1].tolist()[0] for side in (explanation.winner, explanation.runner_up))
        row = RowExplanation(
            start + i + 1, model.classes[k], posterior[k], labels.get(truth, truth), winner, other,
            explanation.entries(i), float(explanation.total[i]), name, find_row_words(explanation, i),
            explanation.unseen_values(i), explanation.detailed_entries(i), work[i],
        )  # fmt: skip
        found.append(row)
    return found


@dataclass(frozen=True)
class RowWords:
    """The words of a row's texts with the evidence of each, the texts, and the evidence of other columns."""

    words: Sequence[WordEvidence]
    texts: Mapping[str, str]
    others: Sequence[Reason]


def find_row_words(explanation: Explanation, row: int) -> RowWords | None:
    """Return the words of a row with their evidence; None if the model reads no texts."""
    if not isinstance(explanation, TableExplanation):
        return None
    texts = {column: documents.texts[row] for column, documents in explanation.documents.items()}
    others = [reason for reason in explanation.reasons(row) if reason.behind is None]
    return RowWords(explanation.words(row), texts, others)
