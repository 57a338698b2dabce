"""Passages: the evidence of words, where they stand in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban.scores.explanation import Explanation, Reason, decibans

WIDTH = 80
"""Characters in a line of a table."""

LONGEST_NAME = 28
"""Characters of a word that a table shows."""


class Found(NamedTuple):
    """A word, from which to which character it stands in a text, and the feature that it is counted as."""

    word: str
    start: int
    end: int
    column: int


class Passage(NamedTuple):
    """From which to which character a word stands, the word, and what it says there in decibans."""

    start: int
    end: int
    word: str
    decibans: float


class WordEvidence(NamedTuple):
    """A word of a text: how often it is there, what that says in decibans, and where it stands first.

    `column` names the texts where they are a column of a table.
    """

    column: str
    word: str
    times: int
    decibans: float
    start: int
    end: int

    @property
    def shown(self) -> str:
        """The word as a table shows it."""
        return clip_text(format_word(self.word), LONGEST_NAME)


@dataclass(frozen=True, eq=False)
class TextExplanation(Explanation):
    """An explanation whose features are words, and which knows where they stand.

    `texts` are the documents, `find` the words of one that the model knows. Features go by the words of the document
    itself; where two of them are counted as one feature (a hash stands for both), by both.
    """

    texts: Sequence[str] = ()
    find: Callable[[str], Sequence[Found]] | None = None
    column: str = ""
    """The column of a table that the documents are, if they are one."""

    def __getitem__(self, rows: int | slice) -> Self:
        """The explanation of these documents alone."""
        return replace(super().__getitem__(rows), texts=self.texts[self._slice(rows)])

    def places(self, row: int = 0) -> list[Passage]:
        """Every occurrence of a word that counts, in the order of the text, each with its share of the evidence."""
        row = range(len(self))[row]
        columns, values = self.nonzero_evidence(row)
        said = dict(zip(columns.tolist(), values.tolist()))
        found = [one for one in self._found(row) if one.column in said]
        times = Counter(one.column for one in found)
        passages = [Passage(f.start, f.end, f.word, said[f.column] / times[f.column]) for f in found]
        return sorted(passages, key=lambda passage: (passage.start, passage.end))

    def _found(self, row: int) -> Sequence[Found]:
        assert self.find is not None
        return self.find(self.texts[row])

    def _shown(self, row: int, columns: NDArray[np.intp]) -> list[str]:
        names = _names(self._found(row))
        return [names.get(j, "") for j in columns.tolist()]

    def words(self, row: int = 0) -> list[WordEvidence]:
        """Every word that counts, strongest first; where a hash stands for several, each has its share."""
        row = range(len(self))[row]
        said = dict(zip(*(values.tolist() for values in self.nonzero_evidence(row))))
        found = [one for one in self._found(row) if one.column in said]
        times, together = Counter(one.word for one in found), Counter(one.column for one in found)
        first = {one.word: one for one in sorted(found, key=lambda one: -one.start)}
        words = []
        for word, start, end, column in first.values():
            share = said[column] * times[word] / together[column]
            words.append(WordEvidence(self.column, word, times[word], share, start, end))
        return sorted(words, key=lambda word: (-abs(word.decibans), word.start))

    def reasons(self, row: int = 0) -> list[Reason]:
        """See `Explanation.reasons`; behind a word is its `WordEvidence`."""
        row = range(len(self))[row]
        return self._with_prior(row, [Reason(word.shown, word.decibans, word) for word in self.words(row)])

    def _lines(self, row: int, reason: Reason, width: int) -> list[str]:
        line, word = self._line(reason, width), reason.behind
        return [line if word is None else f"{line}  {in_context(self.texts[row], word, WIDTH - len(line) - 2)}"]

    def _line(self, reason: Reason, width: int) -> str:
        times = "" if reason.behind is None else f"{reason.behind.times}×"
        return f"  {reason.name:<{width}}  {times:>5}  {decibans(reason.decibans)}"


def _names(found: Sequence[Found]) -> dict[int, str]:
    """The words of each column, as the text has them."""
    names: dict[int, dict[str, None]] = {}
    for one in found:
        names.setdefault(one.column, {})[one.word] = None
    return {column: " / ".join(words) for column, words in names.items()}


def in_context(text: str, found: Found | WordEvidence, room: int) -> str:
    """A word between its neighbours, in so many characters.

    >>> in_context("a very fast graphics card\\nfor all", Found("graphics", 12, 20, 0), 30)
    '…ery fast [graphics] card for…'
    """
    word = clip_text(to_printable(text[found.start : found.end]), max(room - 4, 1))
    side = max(room - len(word) - 2, 0)
    before = to_printable(text[max(found.start - 4 * WIDTH, 0) : found.start]).lstrip()
    after = to_printable(text[found.end : found.end + 4 * WIDTH]).rstrip()
    left = min(len(before), max(side // 2, side - len(after)))
    right = min(len(after), side - left)
    head = before if left == len(before) else f"…{before[len(before) - left + 1 :]}" if left else ""
    tail = after if right == len(after) else f"{after[: right - 1]}…" if right else ""
    return f"{head}[{word}]{tail}"


def to_printable(text: str) -> str:
    """What can be printed on a line; anything else, and any run of spaces, as one space."""
    return re.sub(" +", " ", "".join(char if char.isprintable() else " " for char in text))


def format_word(word: str) -> str:
    """A word as people see it: spaces at its ends, which only pieces of texts have, by their sign."""
    told = to_printable(word)
    inner = told.strip(" ")
    if not inner:
        return "␣" * max(1, len(word))
    before, behind = told.index(inner), len(told) - told.index(inner) - len(inner)
    return f"{'␣' * before}{inner}{'␣' * behind}"


def clip_text(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
