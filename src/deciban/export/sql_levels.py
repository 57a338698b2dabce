"""Terms of levels in SQL: by a CASE where they are few, else by a join with a table of levels and scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deciban.export import sql_expressions as e
from deciban.export.portable import Term
from deciban.export.sql_expressions import MAX_CASE_BRANCHES, Branch, Expression, Speller, Terms, exp
from deciban.export.sql_numbers import contrast_scores
from deciban.export.sql_steps import QuerySteps
from deciban.model.columns import split_levels
from deciban.sources.arrow_cells import DATE_PARTS
from deciban.spellings import spell_level

MAX_LISTED_SPELLINGS = 2
"""The number of texts of a level up to which combinations are listed by each of them."""


@dataclass(frozen=True)
class LevelTerm:
    """The scores of the levels of a feature: a text, a number, a part of a date, or a combination of several.

    `scores` are K×V less those of a reference class, and `dead` are impossible; the last is for unseen levels.
    """

    speller: Speller
    feature: Mapping[str, Any]
    levels: Sequence[str]
    markers: Sequence[str]
    scores: Sequence[Sequence[float]]
    dead: Sequence[Sequence[bool]]
    refuses_unseen: bool

    @classmethod
    def of(cls, term: Term, document: Mapping[str, Any], speller: Speller, reference: int) -> LevelTerm:
        """Return the levels of a term of a document."""
        feature = next(each for each in document["features"] if each["name"] == term["feature"])
        with_unseen = [[*scores, unseen] for scores, unseen in zip(term["scores"], term["unseen"])]
        contrasts = contrast_scores(with_unseen, reference)
        refuses = document["unseen"] == "error"
        return cls(speller, feature, term["levels"], document["markers"], *contrasts, refuses)

    @property
    def is_large(self) -> bool:
        """Whether a join is faster than a CASE."""
        n_groups = [len(set(row)) for row in (*self.scores, *self.dead) if any(row)]
        return len(self.levels) > 1 and sum(n_groups) > MAX_CASE_BRANCHES

    @property
    def values(self) -> list[Expression]:
        """The columns as they are compared."""
        columns = [e.column(name) for name in self.feature["columns"]]
        if "part" in self.feature:
            return [self.speller.date_part(columns[0], self.feature["part"])]
        return [self._read(column, i) for i, column in enumerate(columns)]

    def _read(self, column: Expression, i: int) -> Expression:
        """Return a column as text or double, with one spelling of each truth value where they would be too many."""
        numeric, texts = self.feature["numeric"][i], exp.cast(column, "text")
        branches: list[Branch] = []
        for level, spellings in (self._spellings_by_column[i] if self.levels else {}).items():
            if len(spellings) > MAX_LISTED_SPELLINGS and (numeric or len(self.feature["numeric"]) > 1):
                literal = e.number(float(level)) if numeric else e.text(level)
                branches.append((e.is_in(texts, [e.text(text) for text in spellings]), literal))
        if not branches:
            return self.speller.to_double(column) if numeric else texts
        is_typed = self.speller.dialect != "sqlite"  # PostgreSQL casts no Boolean to a number
        other = self.speller.to_double(texts if is_typed else column) if numeric else texts
        return e.when(*branches, otherwise=other)

    def _spell(self, level: str) -> list[list[Expression]]:
        """Return the spellings of a level as literals, each a list with one literal per column."""
        if "part" in self.feature:
            part = self.feature["part"]
            return [[e.integer(DATE_PARTS[part].index(level) + (part == "month"))]]
        numeric = self.feature["numeric"]
        spellings = [
            [part] if is_number or (len(numeric) > 1 and len(known[part]) > MAX_LISTED_SPELLINGS) else known[part]
            for part, known, is_number in zip(self._split(level), self._spellings_by_column, numeric)
        ]
        return [
            [e.number(float(p)) if is_number else e.text(p) for p, is_number in zip(parts, numeric)]
            for parts in itertools.product(*spellings)
        ]

    def _split(self, level: str) -> list[str]:
        """Return the level of each column."""
        return split_levels(level) if len(self.feature["numeric"]) > 1 else [level]

    @cached_property
    def _spellings_by_column(self) -> list[dict[str, list[str]]]:
        """The texts of each level of each column."""
        columns = [dict.fromkeys(column) for column in zip(*map(self._split, self.levels))]
        return [{level: spell_level(level, known) for level in known} for known in columns]

    def match(self, wanted: Sequence[str]) -> Expression:
        """Return the SQL condition that the level is one of `wanted`."""
        values, spellings = self.values, [each for level in wanted for each in self._spell(level)]
        if len(values) == 1:
            return e.is_in(values[0], [literals[0] for literals in spellings])
        both = [
            e.join_conditions([e.compare(v, exp.EQ, literal) for v, literal in zip(values, literals)], exp.And)
            for literals in spellings
        ]
        return e.join_conditions(both, exp.Or)

    def is_missing(self) -> Expression:
        """Return the SQL condition that a column is NULL, NaN or a marker of missing values."""
        conditions: list[Expression] = []
        for value, numeric in zip(self.values, self.feature.get("numeric", [False])):
            conditions.append(self.speller.is_missing(value) if numeric else e.is_null(value))
            if self.markers and not numeric and "part" not in self.feature:
                conditions.append(e.is_in(value, [e.text(marker) for marker in self.markers]))
        return e.join_conditions(conditions, exp.Or)

    def _fill_missing_and_unseen(self, found: Expression, unseen: float) -> Expression:
        """Return `found`, the score of a known level, completed: 0 if the level is missing, `unseen` if not known.

        If unseen levels are refused, the score of a level that is not known stays NULL.
        """
        if not self.refuses_unseen:
            found = exp.Coalesce(this=found, expressions=[e.number(unseen)])
            if unseen == 0:
                return found
        return e.when((self.is_missing(), e.number(0.0)), otherwise=found)

    @property
    def known(self) -> list[str]:
        """The levels that are not markers of missing values."""
        return [level for level in self.levels if level not in self.markers]

    def _choose(self, row: Sequence[Any]) -> Expression:
        """Return the value of the level in a row of values by a CASE; NULL where it is not known."""
        by_level = dict(zip(self.levels, row))
        groups: dict[float, list[str]] = {}
        for level in self.known:
            groups.setdefault(float(by_level[level]), []).append(level)
        branches = [(self.match(levels), e.number(value)) for value, levels in groups.items()]
        return e.when(*branches) if branches else exp.Null()

    def write(self, joined: Callable[[str, int], Expression | None] | None) -> tuple[Terms, dict[int, Expression]]:
        """Return the term of each class, and the conditions under which classes are impossible, by class.

        `joined` returns a column of scores ("s") or of impossible levels ("i") of a class, where these are joined.
        """
        look_up = joined or (lambda kind, k: None)
        terms: Terms = []
        conditions = {}
        for k, (scores, dead) in enumerate(zip(self.scores, self.dead)):
            is_written = any(scores) or self.refuses_unseen
            found = look_up("s", k) or (self._choose(scores[:-1]) if is_written else None)
            terms.append(
                self._fill_missing_and_unseen(found, scores[-1]) if is_written and found is not None else None
            )
            if any(dead):
                flag = look_up("i", k) or self._choose(dead[:-1])
                conditions[k] = e.is_one(self._fill_missing_and_unseen(flag, float(dead[-1])))
        return terms, conditions

    def join(
        self, steps: QuerySteps, number: int, cells: Sequence[str] | None = None
    ) -> Callable[[str, int], Expression | None]:
        """Define a table of the levels in `steps` and join it in the next step; return the lookup of its columns.

        Where cells are given, its column "c" has the number of each level's cell, len(cells) for other levels.
        """
        name = f"deciban_levels_{number}"
        keys = [f"{name}_v{i}" for i in range(len(self.values))]
        columns = [("s", k, row) for k, row in enumerate(self.scores) if any(row) or self.refuses_unseen]
        columns += [("i", k, [float(flag) for flag in row]) for k, row in enumerate(self.dead) if any(row)]
        if cells is not None:
            places = {cell: n for n, cell in enumerate(cells)}
            columns.append(("c", 0, [places.get(level, len(cells)) for level in self.levels]))
        place = {level: v for v, level in enumerate(self.levels)}
        rows = [
            [*literals, *(e.label(row[place[level]]) for _, _, row in columns)]
            for level in self.known
            for literals in self._spell(level)
        ]
        named = {(kind, k): f"{name}_{kind}{k}" for kind, k, _ in columns}
        steps.add_table(name, [*keys, *named.values()], rows)
        same = [e.compare(value, exp.EQ, e.column(key)) for value, key in zip(self.values, keys)]
        steps.join(exp.to_table(name), e.join_conditions(same, exp.And))
        return lambda kind, k: e.column(named[kind, k]) if (kind, k) in named else None

    def find_cell(self, cells: Sequence[str], joined: Expression | None) -> Expression:
        """Return the SQL expression of the index in `cells`, the levels that a table of pairs counts separately.

        It is read from the joined column, or computed by a CASE: len(cells) for other levels, len(cells) + 1 where
        the level is missing or not known.
        """
        unseen = e.integer(len(cells) + 1)
        if joined is not None:
            return exp.Coalesce(this=joined, expressions=[unseen])
        known = [(self.match([cell]), e.integer(n)) for n, cell in enumerate(cells) if cell in self.known]
        others = [level for level in self.known if level not in cells]
        rest = [(self.match(others), e.integer(len(cells)))] if others else []
        return e.when(*known, *rest, otherwise=unseen) if known or rest else unseen
