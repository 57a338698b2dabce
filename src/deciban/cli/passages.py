"""Reasons that are words: how often each is there, what that says, and where it stands first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from deciban.cli.sheet import line, one_line, short, table
from deciban.cli.weights import decibans, odds

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.model.table_explanation import WordEvidence
    from deciban.scores import Explanation

LONGEST = 22
"""Characters of a word that are shown beside its passage."""


@dataclass(frozen=True)
class Passages:
    """The words of a row's texts with what each says, the texts, and the reasons that are no words."""

    words: Sequence[WordEvidence]
    texts: Mapping[str, str]
    others: Sequence[tuple[str, float]]

    def to_list(self) -> list[dict[str, Any]]:
        """As JSON knows them; places are characters of the text."""
        return [word._asdict() for word in self.words]


def passages(told: Explanation, row: int) -> Passages | None:
    """The words of a row; None where the model reads no texts."""
    from deciban.model.table_explanation import TableExplanation

    if not isinstance(told, TableExplanation):
        return None
    evidence = told.evidence.copy()
    evidence[:, [j for j, name in enumerate(told.features) if name in told.documents]] = 0
    texts = {column: explained.texts[row] for column, explained in told.documents.items()}
    return Passages(told.words(row), texts, replace(told, evidence=evidence).entries(row))


def show_passages(out: Console, told: Passages, total: float, most: int) -> None:
    """The strongest words, and columns among them, each word between its neighbours."""
    if not told.words and any(told.texts.values()):
        line(out, "(the model knows none of the words)")
    found: list[tuple[str, float, WordEvidence | None]] = [(name, value, None) for name, value in told.others]
    found += [(_name(word, len(told.texts) > 1), word.decibans, word) for word in told.words]
    found.sort(key=lambda entry: -abs(entry[1]))
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
    return f"{word.column}: {word.word}" if several else word.word


def context(text: str, word: WordEvidence, room: int) -> str:
    """A word between its neighbours, in so many columns of the screen; some letters take two."""
    from deciban.scores.passages import Found, in_context

    found = Found(word.word, word.start, word.end, 0)
    words = one_line(in_context(text, found, room))
    return words if cell_len(words) <= room else one_line(in_context(text, found, room // 2))
