"""Explanations of rows that have texts: a text is one reason among others, and below it stand its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from deciban.scores import Explanation
from deciban.scores.evidence import decibans, odds
from deciban.scores.passages import LONGEST_NAME, WIDTH, Found, TextExplanation, clipped, in_context, visible

SHOWN_WORDS = 5
"""Words that are shown below a text."""

INDENT = 6


class WordEvidence(NamedTuple):
    """A word of a text column: how often it is there, what that says in decibans, and where it stands first."""

    column: str
    word: str
    times: int
    decibans: float
    start: int
    end: int


class _Reason(NamedTuple):
    name: str
    decibans: float
    column: str | None = None


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
        found = [word for column in self.documents for word in self._words_of(column, row)]
        return sorted(found, key=lambda word: -abs(word.decibans))

    def _words_of(self, column: str, row: int) -> Iterator[WordEvidence]:
        """The words of one text; where a hash stands for several, each has its share."""
        told = self.documents[column]
        assert told.find is not None
        said = dict(zip(*(values.tolist() for values in told.told(row))))
        found = [one for one in told.find(told.texts[row]) if one.column in said]
        times, together = Counter(one.word for one in found), Counter(one.column for one in found)
        first: dict[str, Found] = {}
        for one in found:
            if one.word not in first or one.start < first[one.word].start:
                first[one.word] = one
        for word, one in first.items():
            share = said[one.column] * times[word] / together[one.column]
            yield WordEvidence(column, word, times[word], share, one.start, one.end)

    def text(self, row: int = 0, most: int = 10) -> str:
        """One row's reasons as a small table; below a text its strongest words, each where it stands first."""
        row = range(len(self))[row]
        reasons = self._reasons(row)
        shown, rest = reasons[:most], reasons[most:]
        width = max([len(reason.name) for reason in shown] + [len("everything else")])
        lines = [f"{self.winner[row]} rather than {self.runner_up[row]}"]
        for name, value, column in shown:
            lines.append(f"  {name:<{width}}  {decibans(value)}")
            lines += [] if column is None else self._word_lines(row, column)
        if rest:
            left = decibans(sum(reason.decibans for reason in rest))
            lines.append(f"  {'everything else':<{width}}  {left}  ({len(rest)} more)")
        total = float(self.total[row])
        return "\n".join([*lines, f"  {'total':<{width}}  {decibans(total)}  {odds(total)}"])

    def _reasons(self, row: int) -> list[_Reason]:
        """Everything that counted, strongest first."""
        columns, values = self.told(row)
        found = [_Reason("prior", float(self.prior[row]))]
        found += [_Reason(name, float(value[row])) for name, value in self.extras.items()]
        for name, j, value in zip(self._shown(row, columns), columns.tolist(), values.tolist()):
            found.append(_Reason(name, value, self.features[j] if self.features[j] in self.documents else None))
        return sorted(found, key=lambda reason: -abs(reason.decibans))

    def _word_lines(self, row: int, column: str) -> list[str]:
        """The strongest words of a text, between their neighbours."""
        words = sorted(self._words_of(column, row), key=lambda word: -abs(word.decibans))
        names = [clipped(visible(word.word), LONGEST_NAME) for word in words[:SHOWN_WORDS]]
        width = max([len(name) for name in names], default=0)
        lines = []
        for name, word in zip(names, words):
            line = f"{'':{INDENT}}{name:<{width}}  {word.times:>3}×  {decibans(word.decibans)}  "
            found = Found(word.word, word.start, word.end, 0)
            lines.append(line + in_context(self.documents[column].texts[row], found, WIDTH - len(line)))
        left = len(words) - len(names)
        return lines + ([f"{'':{INDENT}}… and {left} words more"] if left else [])
