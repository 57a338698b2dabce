"""Explanations of rows that have texts: a text is one reason among others, and below it stand its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from deciban.scores import Explanation
from deciban.scores.explanation import Reason, decibans
from deciban.scores.passages import WIDTH, TextExplanation, WordEvidence, in_context

SHOWN_WORDS = 5
"""Words that are shown below a text."""

INDENT = 6


@dataclass(frozen=True, eq=False)
class TableExplanation(Explanation):
    """An explanation in which each text is one feature; `documents` explains the texts of a column by their words."""

    documents: Mapping[str, TextExplanation] = field(default_factory=dict)

    def __getitem__(self, rows: int | slice) -> Self:
        """The explanation of these rows alone."""
        documents = {column: told[rows] for column, told in self.documents.items()}
        return replace(super().__getitem__(rows), documents=documents)

    def words(self, row: int = 0) -> list[WordEvidence]:
        """Every word that counted in a row, whichever text it stands in, strongest first."""
        row = range(len(self))[row]
        found = [word for documents in self.documents.values() for word in documents.words(row)]
        return sorted(found, key=lambda word: -abs(word.decibans))

    def _behind(self, j: int) -> TextExplanation | None:
        """A text's words."""
        return self.documents.get(self.features[j])

    def _lines(self, row: int, reason: Reason, width: int) -> list[str]:
        """Below a text its strongest words, each where it stands first."""
        above = self._line(reason, width)
        return [above] if reason.behind is None else [above, *_word_lines(reason.behind, row)]


def _word_lines(documents: TextExplanation, row: int) -> list[str]:
    """The strongest words of a text, between their neighbours."""
    words = documents.words(row)
    shown = words[:SHOWN_WORDS]
    width = max([len(word.shown) for word in shown], default=0)
    lines = []
    for word in shown:
        line = f"{'':{INDENT}}{word.shown:<{width}}  {word.times:>3}×  {decibans(word.decibans)}  "
        lines.append(line + in_context(documents.texts[row], word, WIDTH - len(line)))
    left = len(words) - len(shown)
    return lines + ([f"{'':{INDENT}}… and {left} words more"] if left else [])
