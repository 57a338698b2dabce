"""Explanations of texts: the evidence of words and their positions in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban.scores.explanation import Explanation, Reason, format_decibans

LINE_WIDTH = 80
"""Characters in a line of a table."""

MAX_WORD_WIDTH = 28
"""Largest number of characters of a word that a table shows."""


class FoundWord(NamedTuple):
    """A word, its first and end position in a text, and the number of its feature."""

    word: str
    start: int
    end: int
    column: int


class Passage(NamedTuple):
    """An occurrence of a word: its first and end position, the word, and its evidence there in decibans."""

    start: int
    end: int
    word: str
    decibans: float


class WordEvidence(NamedTuple):
    """A word of a text: how often it occurs, its evidence in decibans, and the position of its first occurrence.

    `column` is the name of the texts' column where they are part of a table.
    """

    column: str
    word: str
    times: int
    decibans: float
    start: int
    end: int

    @property
    def shown(self) -> str:
        """The word as shown in a table."""
        return clip_text(format_word(self.word), MAX_WORD_WIDTH)


@dataclass(frozen=True, eq=False)
class TextExplanation(Explanation):
    """An explanation whose features are words with their positions.

    `texts` are the documents, `find` returns the known words of one. Features are named by the words of the document
    itself; where two of them are one feature (they have one hash), by both.
    """

    texts: Sequence[str] = ()
    find: Callable[[str], Sequence[FoundWord]] | None = None
    column: str = ""
    """The name of the documents' column, if they are part of a table."""

    def __getitem__(self, rows: int | slice) -> Self:
        """Return the explanation of these documents alone."""
        return replace(super().__getitem__(rows), texts=self.texts[self._slice(rows)])

    def places(self, row: int = 0) -> list[Passage]:
        """Return every occurrence of a word with evidence, in the order of the text, with its share of it."""
        row = range(len(self))[row]
        columns, values = self.nonzero_evidence(row)
        evidence = dict(zip(columns.tolist(), values.tolist()))
        found = [one for one in self._find_words(row) if one.column in evidence]
        times = Counter(one.column for one in found)
        passages = [Passage(f.start, f.end, f.word, evidence[f.column] / times[f.column]) for f in found]
        return sorted(passages, key=lambda passage: (passage.start, passage.end))

    def _find_words(self, row: int) -> Sequence[FoundWord]:
        assert self.find is not None
        return self.find(self.texts[row])

    def _feature_labels(self, row: int, columns: NDArray[np.intp]) -> list[str]:
        names = _names_by_feature(self._find_words(row))
        return [names.get(j, "") for j in columns.tolist()]

    def words(self, row: int = 0) -> list[WordEvidence]:
        """Return every word with evidence, strongest first; words of one hash share its evidence."""
        row = range(len(self))[row]
        evidence = dict(zip(*(values.tolist() for values in self.nonzero_evidence(row))))
        found = [one for one in self._find_words(row) if one.column in evidence]
        times, together = Counter(one.word for one in found), Counter(one.column for one in found)
        first = {one.word: one for one in sorted(found, key=lambda one: -one.start)}
        words = []
        for word, start, end, column in first.values():
            share = evidence[column] * times[word] / together[column]
            words.append(WordEvidence(self.column, word, times[word], share, start, end))
        return sorted(words, key=lambda word: (-abs(word.decibans), word.start))

    def reasons(self, row: int = 0) -> list[Reason]:
        """See `Explanation.reasons`; the details of a word are its `WordEvidence`."""
        row = range(len(self))[row]
        return self._with_prior(row, [Reason(word.shown, word.decibans, word) for word in self.words(row)])

    def _lines(self, row: int, reason: Reason, width: int) -> list[str]:
        line, word = self._line(reason, width), reason.behind
        return [line if word is None else f"{line}  {in_context(self.texts[row], word, LINE_WIDTH - len(line) - 2)}"]

    def _line(self, reason: Reason, width: int) -> str:
        times = "" if reason.behind is None else f"{reason.behind.times}×"
        return f"  {reason.name:<{width}}  {times:>5}  {format_decibans(reason.decibans)}"


def _names_by_feature(found: Sequence[FoundWord]) -> dict[int, str]:
    """Return the words of each feature, as the text has them."""
    names: dict[int, dict[str, None]] = {}
    for one in found:
        names.setdefault(one.column, {})[one.word] = None
    return {column: " / ".join(words) for column, words in names.items()}


def in_context(text: str, found: FoundWord | WordEvidence, width: int) -> str:
    """Return a word between its neighbours, in at most `width` characters.

    >>> in_context("a very fast graphics card\\nfor all", FoundWord("graphics", 12, 20, 0), 30)
    '…ery fast [graphics] card for…'
    """
    word = clip_text(to_printable(text[found.start : found.end]), max(width - 4, 1))
    side = max(width - len(word) - 2, 0)
    before = to_printable(text[max(found.start - 4 * LINE_WIDTH, 0) : found.start]).lstrip()
    after = to_printable(text[found.end : found.end + 4 * LINE_WIDTH]).rstrip()
    left = min(len(before), max(side // 2, side - len(after)))
    right = min(len(after), side - left)
    head = before if left == len(before) else f"…{before[len(before) - left + 1 :]}" if left else ""
    tail = after if right == len(after) else f"{after[: right - 1]}…" if right else ""
    return f"{head}[{word}]{tail}"


def to_printable(text: str) -> str:
    """Replace characters that cannot be printed on a line, and runs of spaces, by one space."""
    return re.sub(" +", " ", "".join(char if char.isprintable() else " " for char in text))


def format_word(word: str) -> str:
    """Format a word for display: spaces at its ends, which only character n-grams have, are shown as ␣."""
    printable = to_printable(word)
    inner = printable.strip(" ")
    if not inner:
        return "␣" * max(1, len(word))
    before = printable.index(inner)
    after = len(printable) - before - len(inner)
    return f"{'␣' * before}{inner}{'␣' * after}"


def clip_text(text: str, most: int) -> str:
    """Shorten a text to at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
