"""Explanations: the evidence of each feature for one class against another, in decibans.

A deciban is ten times the base-10 logarithm of an odds ratio: +10 is ten to one, +3 about two to one. Explanations of
texts have the evidence of words and their positions in the text.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.formatting import clip_text, format_count, format_signed, format_thousands, format_word, to_printable
from deciban.result import FrameKind, make_frame

DECIBAN = 10 / math.log(10)
"""Decibans in a nat: 10 / ln 10."""

MAX_VALUE_WIDTH = 40
"""Largest number of characters of an unseen value that are shown."""

REMAINDER = "everything else"
"""The name of the line that sums the reasons which a table omits."""


class Pieces(NamedTuple):
    """A difference of scores as a sum: n×d by feature (dense or CSR), and by name the terms of no feature."""

    features: Any
    extras: Mapping[str, Array] = {}


class Reason(NamedTuple):
    """A line in a table of reasons: its name, its evidence in decibans, and the details of a word or text, if any."""

    name: str
    decibans: float
    behind: Any = None


class UnseenValue(NamedTuple):
    """A value that was not learned: its column, the value as text, and the reason; for a number the learned range.

    >>> str(UnseenValue("cough", "Dry", "never seen"))
    'cough = Dry: never seen'
    """

    column: str
    value: str
    reason: str
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        return f"{self.column} = {clip_text(to_printable(self.value), MAX_VALUE_WIDTH)}: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; the range only if there is one."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class EvidenceEntry(NamedTuple):
    """Evidence in one row: text to show, feature and value as read (None for prior and extras), decibans."""

    what: str
    column: str | None
    value: Any
    decibans: float


@document()
@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The evidence for one class rather than another in each row, in decibans; `explain` returns it.

    The evidence of all features, the prior and the extras of a row add up to its total, ten times the base-10
    logarithm of the odds of its two classes. `str` prints it, indexing gives single rows.

    Parameters
    ----------
    evidence : array or sparse matrix, rows × features
        The evidence of each feature.
    prior : array
        The evidence of the class prior in each row.
    total : array
        The sum of all evidence in each row.
    winner, runner_up : array
        The class that the evidence is for, and the one that it is against, in each row.
    features : sequence of str
        The names of the features.
    extras : mapping of str to array
        Terms of no feature, by name.
    values : array of str, rows × features, or None
        The value of each feature in each row as text to show, if known.
    unseen : sequence of sequences of UnseenValue
        The values of each row that were not learned: levels never seen, numbers outside the learned range, texts
        without a known word. Empty where it is not known what was learned.
    cells : array, rows × features, or None
        The value of each feature in each row as it was read, if known; of a text as much as is shown.

    Examples
    --------
    >>> from deciban import BernoulliNB
    >>> why = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"]).explain([[1, 0]])
    >>> why.winner.tolist(), why.total.round(2).tolist()
    (['ill'], [6.02])
    """

    evidence: Any
    prior: Array
    total: Array
    winner: NDArray[Any]
    runner_up: NDArray[Any]
    features: Sequence[str]
    extras: Mapping[str, Array] = field(default_factory=dict)
    values: NDArray[Any] | None = None
    unseen: Sequence[Sequence[UnseenValue]] = ()
    cells: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.prior)

    def __getitem__(self, rows: int | slice) -> Self:
        """Return the explanation of these rows alone."""
        rows = self._slice(rows)
        arrays = {name: getattr(self, name)[rows] for name in ("evidence", "prior", "total", "winner", "runner_up")}
        extras = {name: values[rows] for name, values in self.extras.items()}
        for name, cells in (("values", self.values), ("cells", self.cells)):
            arrays[name] = None if cells is None else cells[rows]
        return replace(self, **arrays, extras=extras, unseen=self.unseen[rows])

    def _slice(self, rows: int | slice) -> slice:
        """Return the rows as a slice; refuse a number out of range."""
        if isinstance(rows, slice):
            return rows
        i = range(len(self))[rows]
        return slice(i, i + 1)

    def entries(self, row: int = 0) -> list[tuple[str, float]]:
        """Return (text to show, decibans) of all evidence in a row, strongest first; these add up to its total."""
        return [(entry.what, entry.decibans) for entry in self.detailed_entries(row)]

    def detailed_entries(self, row: int = 0) -> list[EvidenceEntry]:
        """Return all evidence in a row, strongest first: of each feature with its value, the prior and the extras."""
        row = range(len(self))[row]
        columns, decibans = self.nonzero_evidence(row)
        values = [None] * len(columns) if self.cells is None else self.cells[row, columns].tolist()
        found = zip(self._feature_labels(row, columns), self._feature_names(row, columns), values, decibans.tolist())
        others = (EvidenceEntry(name, None, None, value) for name, value, _ in self._add_prior(row, ()))
        return sorted([*others, *(EvidenceEntry(*entry) for entry in found)], key=lambda entry: -abs(entry.decibans))

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for each entry: its row, the two classes, feature, value as text, evidence."""
        each = [(row, entry) for row in range(len(self)) for entry in self.detailed_entries(row)]
        rows = [row for row, _ in each]
        columns = {
            "row": rows, "for": self.winner[rows].tolist(), "against": self.runner_up[rows].tolist(),
            "feature": [entry.what if entry.column is None else entry.column for _, entry in each],
            "value": [None if entry.value is None else str(entry.value) for _, entry in each],
            "decibans": [entry.decibans for _, entry in each],
        }  # fmt: skip
        return make_frame(columns, kind)

    def reasons(self, row: int = 0) -> list[Reason]:
        """Return the lines of a row's table, strongest first; like the entries, they add up to its total."""
        row = range(len(self))[row]
        columns, values = self.nonzero_evidence(row)
        details = map(self._find_details, columns.tolist())
        return self._add_prior(row, list(map(Reason, self._feature_labels(row, columns), values.tolist(), details)))

    def unseen_values(self, row: int = 0) -> Sequence[UnseenValue]:
        """Return the values of a row that were not learned."""
        return self.unseen[range(len(self))[row]] if self.unseen else ()

    def _find_details(self, j: int) -> Any:
        """Return the details of feature j for `Reason.behind`; only subclasses have any."""
        return None

    def _add_prior(self, row: int, features: Sequence[Reason]) -> list[Reason]:
        """Return the reasons of features with those of the prior and the extras of a row, strongest first."""
        others = {"prior": self.prior, **self.extras}
        every = [*(Reason(name, float(values[row])) for name, values in others.items()), *features]
        return sorted(every, key=lambda reason: -abs(reason.decibans))

    def nonzero_evidence(self, row: int) -> tuple[NDArray[np.intp], Array]:
        """Return the numbers of the features with nonzero evidence in a row ≥ 0, and their evidence."""
        one = self.evidence[row : row + 1]
        if hasattr(one, "indices"):
            return one.indices[one.data != 0], one.data[one.data != 0]
        values = (one.toarray() if hasattr(one, "toarray") else np.asarray(one)).reshape(-1)
        columns = np.flatnonzero(values)
        return columns, values[columns]

    def _feature_names(self, row: int, columns: NDArray[np.intp]) -> list[str]:
        """Return the names of these features; in a subclass they may depend on the row."""
        return [self.features[j] for j in columns.tolist()]

    def _feature_labels(self, row: int, columns: NDArray[np.intp]) -> list[str]:
        """Return the names of these features, as "name = value" where the values are known."""
        values = [None if self.values is None else self.values[row, j] for j in columns]
        names = self._feature_names(row, columns)
        return [name if value is None else f"{name} = {value}" for name, value in zip(names, values)]

    def text(self, row: int = 0, most: int = 10) -> str:
        """Format a row as a table: the `most` strongest reasons, the sum of the others, the total, unseen values."""
        row = range(len(self))[row]
        reasons = self.reasons(row)
        shown, omitted = reasons[:most], reasons[most:]
        width = max([len(reason.name) for reason in shown] + [len(REMAINDER)])
        lines = [f"{self.winner[row]} rather than {self.runner_up[row]}"]
        for reason in shown:
            lines += self._format_reason(row, reason, width)
        if omitted:
            remainder = Reason(REMAINDER, sum(reason.decibans for reason in omitted))
            lines.append(f"{self._format_line(remainder, width)}  ({len(omitted)} more)")
        total = float(self.total[row])
        lines.append(f"{self._format_line(Reason('total', total), width)}  ({format_odds(total)})")
        return "\n".join([*lines, *(f"  {value}" for value in self.unseen_values(row))])

    def _format_reason(self, row: int, reason: Reason, width: int) -> list[str]:
        """Format a reason as lines of the table; subclasses add its details after the evidence, or on lines below."""
        return [self._format_line(reason, width)]

    def _format_line(self, reason: Reason, width: int) -> str:
        return f"  {reason.name:<{width}}  {format_decibans(reason.decibans)}"

    def __repr__(self) -> str:
        rows = f"{format_count(len(self), 'row')}, {format_count(len(self.features), 'feature')}"
        for winner, other, total in zip(self.winner[:1], self.runner_up, self.total):
            rows += f"; {winner} rather than {other}: {format_decibans(total).strip()}{', …' * (len(self) > 1)}"
        return f"<{type(self).__name__}: {rows}>"

    def _repr_html_(self) -> str:
        """Return the evidence waterfalls of the first rows, for notebooks."""
        from deciban.scores.explanation_html import show_in_notebook

        return show_in_notebook(self)

    def __str__(self) -> str:
        shown = [self.text(row) for row in range(min(len(self), 5))]
        if len(self) > 5:
            shown.append(f"… and {format_count(len(self) - 5, 'more row')}")
        return "\n\n".join(shown)


def format_decibans(value: float, width: int = 8) -> str:
    """Format evidence with its sign and two decimals in `width` characters, then the unit; NaN as "undefined"."""
    return f"{'undefined':<{width + 3}}" if math.isnan(value) else f"{format_signed(value):>{width}} dB"


def format_odds(total: float) -> str:
    """Format a total as betting odds in three digits, up to a million to 1; NaN means impossible under both classes.

    >>> format_odds(43.28), format_odds(-10.0)
    ('21 300 to 1', '10 to 1 against')
    """
    if math.isnan(total):
        return "impossible under both classes"
    against = "" if total >= 0 else " against"
    if abs(total) > 60:
        return f"over a million to 1{against}"
    ratio = float(f"{10 ** (abs(total) / 10):.3g}")
    return f"{format_thousands(ratio, '.6g')} to 1{against}"


LINE_WIDTH = 80
"""Characters in a line of a table."""

TABLE_WORD_WIDTH = 28
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
        """The word as a table shows it: printable, and shortened to `TABLE_WORD_WIDTH` characters."""
        return clip_text(format_word(self.word), TABLE_WORD_WIDTH)


@dataclass(frozen=True, eq=False, repr=False)
class TextExplanation(Explanation):
    """An explanation whose features are words with their positions.

    `texts` are the documents, `find` returns the known words of one. Features are named by the words of the document
    itself; where two of them are one feature (they have one hash), by both.
    """

    texts: Sequence[str] = ()
    find: Callable[[str], Sequence[FoundWord]] = lambda text: ()
    column: str = ""
    """The name of the documents' column, if they are part of a table."""

    def __getitem__(self, rows: int | slice) -> Self:
        """Return the explanation of these documents alone."""
        return replace(super().__getitem__(rows), texts=self.texts[self._slice(rows)])

    def places(self, row: int = 0) -> list[Passage]:
        """Return every occurrence of a word that has evidence, in the order of the text, with its share of that."""
        row = range(len(self))[row]
        evidence, found = self._find_evident_words(row)
        times = Counter(one.column for one in found)
        passages = [Passage(f.start, f.end, f.word, evidence[f.column] / times[f.column]) for f in found]
        return sorted(passages, key=lambda passage: (passage.start, passage.end))

    def _find_evident_words(self, row: int) -> tuple[dict[int, float], list[FoundWord]]:
        """Return the evidence of each feature that has any, and the words of these features."""
        evidence = dict(zip(*(values.tolist() for values in self.nonzero_evidence(row))))
        return evidence, [one for one in self.find(self.texts[row]) if one.column in evidence]

    def _feature_names(self, row: int, columns: NDArray[np.intp]) -> list[str]:
        """Return the words of each feature, as the text has them."""
        words: dict[int, dict[str, None]] = {}
        for one in self.find(self.texts[row]):
            words.setdefault(one.column, {})[one.word] = None
        return [" / ".join(words.get(j, ())) for j in columns.tolist()]

    def words(self, row: int = 0) -> list[WordEvidence]:
        """Return every word that has evidence, strongest first; words of one hash share it by their occurrences."""
        row = range(len(self))[row]
        evidence, found = self._find_evident_words(row)
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
        return self._add_prior(row, [Reason(word.shown, word.decibans, word) for word in self.words(row)])

    def _format_reason(self, row: int, reason: Reason, width: int) -> list[str]:
        line, word = self._format_line(reason, width), reason.behind
        return [line if word is None else f"{line}  {in_context(self.texts[row], word, LINE_WIDTH - len(line) - 2)}"]

    def _format_line(self, reason: Reason, width: int) -> str:
        times = "" if reason.behind is None else f"{reason.behind.times}×"
        return f"  {reason.name:<{width}}  {times:>5}  {format_decibans(reason.decibans)}"


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
