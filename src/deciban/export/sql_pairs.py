"""Terms of dependent features in SQL: a join by the cells of a feature and of the feature that it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deciban.export import sql_expressions as e
from deciban.export.portable import Document, Term
from deciban.export.sql_expressions import Expression, Terms
from deciban.export.sql_steps import QuerySteps


def list_cells(document: Document) -> dict[str, Sequence[Any]]:
    """Return the cells of each feature that is in a pair: cuts of a number, or levels."""
    found: dict[str, Sequence[Any]] = {}
    for term in document["terms"]:
        if term["kind"] == "pair":
            found |= {term["feature"]: term["cells"], term["parent"]: term["parent_cells"]}
    return found


def join_pair(steps: QuerySteps, term: Term, reference: int, cells: Mapping[str, Expression], number: int) -> Terms:
    """Join a table of the scores of all pairs of cells in the next step; return the term of each class.

    `cells` has the number of the cell of each feature, of missing ones the last, for which the term is 0.
    """
    scores, width = term["scores"], len(term["cells"]) + 2
    written: dict[int, list[float]] = {}
    for k, own in enumerate(scores):
        gaps = [[*(s - b for s, b in zip(*rows)), 0.0] for rows in zip(own, scores[reference])]
        flat = [value for row in (*gaps, [0.0] * width) for value in row]
        written |= {k: flat} if any(flat) else {}
    if not written:
        return [None] * len(scores)
    key = e.sum_of([e.multiply(cells[term["parent"]], e.integer(width)), cells[term["feature"]]])
    found = steps.join_rows(f"deciban_pair_{number}", key, {f"s{k}": values for k, values in written.items()})
    return [found.get(f"s{k}") for k in range(len(scores))]
