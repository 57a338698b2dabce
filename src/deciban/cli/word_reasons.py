"""Reasons that are words: how often each is there, what that says, and where it stands first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from deciban.cli.render import line, one_line, short, table
from deciban.scores.explanation import Reason, decibans, odds
from deciban.scores.passages import word_shown

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.scores import Explanation
    from deciban.scores.passages import WordEvidence

LONGEST = 22
"""Characters of a word that are shown beside its passage."""


@dataclass(frozen=True)
class Passages:
    """The words of a row's texts with what each says, the texts, and the reasons that are no words."""

    words: Sequence[WordEvidence]
    texts: Mapping[str, str]
    others: Sequence[Reason]

    def to_list(self) -> list[dict[str, Any]]:
        """As JSON knows them; places are characters of the text."""
        return [word._asdict() for word in self.words]


def passages(told: Explanation, row: int) -> Passages | None:
    """The words of a row; None where the model reads no texts."""
    from deciban.model.table_explanations import TableExplanation

    if not isinstance(told, TableExplanation):
        return None
    texts = {column: documents.texts[row] for column, documents in told.documents.items()}
    return Passages(told.words(row), texts, [reason for reason in told.reasons(row) if reason.behind is None])


def show_passages(out: Console, told: Passages, total: float, most: int) -> None:
    """The strongest words, and columns among them, each word between its neighbours."""
    if not told.words and any(told.texts.values()):
        line(out, "(the model knows none of the words)")
    found = [*told.others, *(Reason(_name(w, len(told.texts) > 1), w.decibans, w) for w in told.words)]
    found.sort(key=lambda reason: -abs(reason.decibans))
    shown, rest = found[:most], found[most:]
    body = [[short(n, LONGEST), f"{w.times}×" if w else "", decibans(v).strip()] for n, v, w in shown]
    if rest:
        body.append([f"{len(rest)} more", "", decibans(sum(value for _, value, _ in rest)).strip()])
    body.append(["total", "", decibans(total).strip()])
    head = ["word" if len(told.others) == 1 else "reason", "times", "evidence"]
    room = out.width - sum(max(cell_len(row[i]) for row in [head, *body]) + 2 for i in range(3)) - 2
    contexts = ["" if word is None else context(told.texts[word.column], word, room) for _, _, word in shown]
    contexts += ["", odds(total)] if rest else [odds(total)]
    rows = [[*row, words] for row, words in zip(body, contexts)]
    table(out, [*head, "where it stands first"], rows, right=[1, 2])


def _name(word: WordEvidence, several: bool) -> str:
    shown = word_shown(word.word)
    return f"{word.column}: {shown}" if several else shown


def context(text: str, word: WordEvidence, room: int) -> str:
    """A word between its neighbours, in so many columns of the screen; some letters take two."""
    from deciban.scores.passages import in_context

    words = one_line(in_context(text, word, room))
    return words if cell_len(words) <= room else one_line(in_context(text, word, room // 2))
