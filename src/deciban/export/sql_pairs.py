"""Terms of dependent features in SQL: a join by the cells of a feature and of the feature that it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deciban.export import sql_expressions as e
from deciban.export.portable import Document, Term
from deciban.export.sql_expressions import Branch, Expression, Terms, exp
from deciban.export.sql_levels import LevelTerm
from deciban.export.sql_numbers import NumberTerms
from deciban.export.sql_steps import QuerySteps


@dataclass(frozen=True)
class PairTerm:
    """Writes the term of a feature given another: a table of literals has the scores of all pairs of cells."""

    numbers: NumberTerms
    document: Document
    term: Term

    def join(self, steps: QuerySteps, number: int) -> Terms:
        """Join the table in the first step; return the term of each class, 0 where a cell is missing."""
        name, r = f"deciban_pair_{number}", self.numbers.reference
        scores, width = self.term["scores"], len(self.term["cells"]) + 1
        gaps = [[[s - b for s, b in zip(*rows)] for rows in zip(own, scores[r])] for own in scores]
        flat = [[value for row in own for value in row] for own in gaps]
        written = [k for k, values in enumerate(flat) if any(values)]
        if not written:
            return [None] * self.numbers.K
        rows = [[e.integer(v), *(e.number(flat[k][v]) for k in written)] for v in range(len(flat[0]))]
        steps.add_table(name, [f"{name}_v", *(f"{name}_s{k}" for k in written)], rows)
        parent = self._find_cell(self.term["parent"], self.term["parent_cells"])
        own = self._find_cell(self.term["feature"], self.term["cells"])
        both = e.sum_of([e.multiply(parent, e.integer(width)), own])
        steps.join(exp.to_table(name), e.compare(both, exp.EQ, e.column(f"{name}_v")))
        found = {k: exp.Coalesce(this=e.column(f"{name}_s{k}"), expressions=[e.number(0.0)]) for k in written}
        return [found.get(k) for k in range(self.numbers.K)]

    def _find_cell(self, name: str, cells: Sequence[Any]) -> Expression:
        """Return the number of the cell of a feature; NULL where it is missing, the last for other levels."""
        feature: Mapping[str, Any] = next(each for each in self.document["features"] if each["name"] == name)
        numbers = [e.integer(v) for v in range(len(cells) + 1)]
        if feature["kind"] == "number":
            own = dict(feature)
            return e.when((self.numbers.is_valid(own), e.choose_bin(self.numbers.column(own), cells, numbers)))
        term = next(t for t in self.document["terms"] if t["kind"] == "levels" and t["feature"] == name)
        levels = LevelTerm.of(term, self.document, self.numbers.speller, self.numbers.reference)
        branches: list[Branch] = [(levels.is_missing(), exp.Null())]
        branches += [(levels.match([cell]), n) for cell, n in zip(cells, numbers) if cell in levels.known]
        return e.when(*branches, otherwise=numbers[-1])
