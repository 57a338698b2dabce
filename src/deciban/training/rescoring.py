"""Rows of a fold under other settings: the ledger of all other rows solved and scored anew, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deciban import engines
from deciban._typing import Array
from deciban.families.family import Family
from deciban.families.marginal_likelihood import best_alpha, with_alpha
from deciban.ledger import Bags, Ledger
from deciban.ledger.schema import Kind
from deciban.metrics.choice import Setting
from deciban.model.columns import OPEN, Column, Layout
from deciban.model.model_options import Options
from deciban.model.summarise_table import Rows
from deciban.training.number_roles import decide
from deciban.training.table_folds import select_parts
from deciban.training.task import Task

Ways = Iterator[tuple[Setting, Array]]
"""Settings, and ln p(k|x) of a fold's rows under each."""


@dataclass(frozen=True)
class Held:
    """The rows of a fold, and the ledger of all others."""

    fold: int
    rest: Ledger
    rows: Rows


class Taken(NamedTuple):
    """Columns whose roles are solve_ledger: their layout, what was counted of them, and the fold's rows as matrices."""

    roles: tuple[str, ...]
    layout: Layout
    counted: Sequence[Any]
    asked: Sequence[Any]


class Scored:
    """What two settings have in common is solve_ledger, solved and scored once."""

    def __init__(self, task: Task, held: Held) -> None:
        self.task, self.held = task, held
        self._taken: dict[Any, Taken] = {}
        self._blocks: dict[Any, Array] = {}

    def _settled(self, way: str | None, options: Options) -> Taken:
        key = way or (options.pseudo_count, options.parameter_prior)
        if key not in self._taken:
            forced = {} if way is None else self._forced(way)
            columns, kept, _ = decide(self.task.layout, self.held.rest, options, forced)
            counted = self.held.rest.choose(kept).parts
            roles = tuple(column.role for column in columns)
            self._taken[key] = Taken(roles, Layout(tuple(columns)), counted, select_parts(self.held.rows, kept))
        return self._taken[key]

    def _forced(self, way: str) -> Mapping[str, Column]:
        role: Any = way
        return {column.name: replace(column, role=role) for column in self.task.columns if column.role in OPEN}

    def joint(self, way: str | None, options: Options) -> Array:
        """ln p(x|k) of every row, all blocks together; `way`: how open numbers are taken, None as each is best."""
        taken = self._settled(way, options)
        total = np.zeros((len(self.held.rows.codes), len(self.held.rest.rows)))
        families = options.assumption(taken.layout).families
        for b, (group, family) in enumerate(zip(taken.layout.blocks, families)):
            key = (taken.roles, b, _matters(group.kind, options))
            if key not in self._blocks:
                self._blocks[key] = _block(taken.counted[b], taken.asked[b], family, options)
            total += self._blocks[key]
        return total


def _block(counted: Any, asked: Any, family: Family, options: Options) -> Array:
    if isinstance(counted, Bags) and options.words.values == "presence" and not counted.presence:
        counted, asked = Bags(counted.documents, counted.documents), present(asked)
    return scores(family, counted, asked, options.auto)


def _matters(kind: Kind, options: Options) -> Any:
    """What of the options changes the score of a block."""
    if kind in ("moments", "scatter"):
        return options.parameter_prior
    return (options.alpha, options.words.values) if kind == "bags" else options.alpha


def present(X: Any) -> Any:
    """The same sparse rows with each word once."""
    once = X.copy()
    once.data = np.ones_like(once.data)
    return once


def scores(family: Family, counted: Any, asked: Any, auto: bool = False) -> Array:
    """ln p(x|k) of rows under what was counted of others; `auto`: with the pseudo-count that it asks for."""
    solved = with_alpha(family, best_alpha(family, counted)) if auto else family
    form, nothing = solved.solve(counted), np.zeros(counted.n_classes)
    return engines.apply((form,), (asked,), (solved.needs(),), nothing, "joint", engines.thread_count(None))
