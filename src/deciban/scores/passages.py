"""Passages: the evidence of words, where they stand in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban.scores.evidence import Explanation, decibans, odds

WIDTH = 80
"""Characters in a line of a table."""

LONGEST_NAME = 28
"""Characters of a word, or of several that share a column, that a table shows."""


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


class Line(NamedTuple):
    """What stands in a table of reasons."""

    name: str
    decibans: float
    times: str = ""
    first: Found | None = None


@dataclass(frozen=True, eq=False)
class TextExplanation(Explanation):
    """An explanation whose features are words, and which knows where they stand.

    `texts` are the documents, `find` the words of one that the model knows. Features go by the words of the document
    itself; where two of them are counted as one feature (a hash stands for both), by both.
    """

    texts: Sequence[str] = ()
    find: Callable[[str], Sequence[Found]] | None = None

    def __getitem__(self, rows: int | slice) -> Self:
        """The explanation of these documents alone."""
        return replace(super().__getitem__(rows), texts=self.texts[self._slice(rows)])

    def places(self, row: int = 0) -> list[Passage]:
        """Every occurrence of a word that counts, in the order of the text, each with its share of the evidence."""
        row = range(len(self))[row]
        columns, values = self.told(row)
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

    def text(self, row: int = 0, most: int = 10) -> str:
        """One document's reasons as a small table: how often each word is there, and where first."""
        row = range(len(self))[row]
        entries = self._lines(row)
        shown, rest = entries[:most], entries[most:]
        width = max([len(name) for name, *_ in shown] + [len("everything else")])
        lines = [f"{self.winner[row]} rather than {self.runner_up[row]}"]
        for name, value, times, first in shown:
            line = f"  {name:<{width}}  {times:>5}  {decibans(value)}"
            room = WIDTH - len(line) - 2
            lines.append(line if first is None else f"{line}  {in_context(self.texts[row], first, room)}")
        if rest:
            left = decibans(sum(value for _, value, *_ in rest))
            lines.append(f"  {'everything else':<{width}}         {left}  ({len(rest)} more)")
        total = float(self.total[row])
        lines.append(f"  {'total':<{width}}         {decibans(total)}  {odds(total)}")
        return "\n".join(lines)

    def _lines(self, row: int) -> list[Line]:
        """Everything that counted, strongest first."""
        columns, values = self.told(row)
        found = self._found(row)
        first = {one.column: one for one in sorted(found, key=lambda one: -one.start)}
        times, names = Counter(one.column for one in found), _names(found)
        lines = [Line("prior", float(self.prior[row]))]
        lines += [Line(name, float(value[row])) for name, value in self.extras.items()]
        for j, value in zip(columns.tolist(), values.tolist()):
            name = clipped(visible(names.get(j, "")), LONGEST_NAME)
            lines.append(Line(name, value, f"{times[j]}×", first.get(j)))
        return sorted(lines, key=lambda line: -abs(line.decibans))


def _names(found: Sequence[Found]) -> dict[int, str]:
    """The words of each column, as the text has them."""
    names: dict[int, dict[str, None]] = {}
    for one in found:
        names.setdefault(one.column, {})[one.word] = None
    return {column: " / ".join(words) for column, words in names.items()}


def in_context(text: str, found: Found, room: int) -> str:
    """A word between its neighbours, in so many characters.

    >>> in_context("a very fast graphics card\\nfor all", Found("graphics", 12, 20, 0), 30)
    '…ery fast [graphics] card for…'
    """
    word = clipped(visible(text[found.start : found.end]), max(room - 4, 1))
    side = max(room - len(word) - 2, 0)
    before = visible(text[max(found.start - 4 * WIDTH, 0) : found.start]).lstrip()
    after = visible(text[found.end : found.end + 4 * WIDTH]).rstrip()
    left = min(len(before), max(side // 2, side - len(after)))
    right = min(len(after), side - left)
    head = before if left == len(before) else f"…{before[len(before) - left + 1 :]}" if left else ""
    tail = after if right == len(after) else f"{after[: right - 1]}…" if right else ""
    return f"{head}[{word}]{tail}"


def visible(text: str) -> str:
    """What can be printed on a line; anything else, and any run of spaces, as one space."""
    return re.sub(" +", " ", "".join(char if char.isprintable() else " " for char in text))


def clipped(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
