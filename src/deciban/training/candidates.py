"""Who is compared on a table: naive Bayes, Gaussian Bayes under each covariance, and the discriminative partners."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from deciban.errors import InputError, did_you_mean
from deciban.families.gaussian import Covariance
from deciban.ledger import Block, Schema
from deciban.metrics.comparison_advice import DEFAULT_LEARNER, DISCRIMINATIVE_PARTNER
from deciban.model.columns import Column, Layout
from deciban.model.model_options import JOINT_COVARIANCES
from deciban.model.summarise_table import Rows
from deciban.training.column_blocks import BELLS
from deciban.training.learners import make_learner
from deciban.training.table_folds import FoldModel, count_rows
from deciban.training.task import PENALISED_LEARNERS, Task
from deciban.training.train import Trained

SHAPES: tuple[str, ...] = get_args(Covariance)
PARTNERS = {"logistic": DISCRIMINATIVE_PARTNER, "evidence": "evidence", "boosted": "boosted"}
"""The discriminative learners, by what `train` calls them, and what they are called on the screen."""

LEARNERS = ("bayes", *SHAPES, *PARTNERS)
"""Who may be compared, in this order; "gaussian" stands for every covariance."""

MOST_PAIRS = 1 << 22
"""Co-moments of all classes beyond which joined numbers are not tried."""


@dataclass(frozen=True)
class Contender:
    """A way of learning: what it is called, what `train` is arguments for it, and what it learns."""

    name: str
    arguments: Mapping[str, Any]
    task: Task
    schema: Schema

    def taken(self, layout: Layout, rows: Rows) -> Rows:
        """Rows of another layout of the same columns, as this one has them."""
        every = [column for block in rows.columns for column in block]
        by_name = dict(zip((feature.name for feature in layout.all_features()), every))
        blocks = self.task.layout.blocks
        return replace(rows, columns=[[by_name[feature.name] for feature in group.features] for group in blocks])

    def learn(self, rows: Rows) -> tuple[FoldModel, float]:
        """What is learned of these rows alone, and in how many seconds; counting them is a part of it."""
        start = time.perf_counter()
        rest = count_rows(self.task, self.task.options, self.schema, rows)
        learned = make_learner(self.task).learn(self.task, self.task.options, rest, rows)
        learned.scorer.solved  # noqa: B018  solving is a part of learning
        return learned, time.perf_counter() - start


def checked_names(learners: Any) -> list[str]:
    """Who is to be compared, in the order of `LEARNERS`; all of them unless said otherwise."""
    if learners is None:
        return list(LEARNERS)
    asked = [learners] if isinstance(learners, str) else list(learners)
    for name in asked:
        if name not in (*LEARNERS, "gaussian"):
            near = (
                did_you_mean(str(name), LEARNERS) or f". Hint: {', '.join(LEARNERS)}, or gaussian for each covariance"
            )
            raise InputError(f"there is no learner {name!r}{near}")
    if not asked:
        raise InputError("learners is empty: there is nothing to compare. Hint: leave it out for all of them")
    chosen = {*asked, *(SHAPES if "gaussian" in asked else ())}
    return [name for name in LEARNERS if name in chosen]


@dataclass(frozen=True)
class Field:
    """What all contenders have in common: the naive task and its schema, the penalty, and what was asked for."""

    task: Task
    schema: Schema
    given: Mapping[str, str]
    """Roles that were named."""
    free: bool
    """Whether numbers may be taken as bells: no blocks, no bins, and no other model was asked for."""

    @classmethod
    def of(cls, trained: Trained, settings: Mapping[str, Any]) -> Field:
        """Of a table that has been read."""
        task = replace(trained.task, options=trained.model.options)
        free = not settings.get("blocks") and settings.get("like") is None and settings.get("numbers") != "binned"
        return cls(task, trained.total.schema, settings.get("roles") or {}, free)

    @property
    def numbers(self) -> list[str]:
        """The columns that can be taken as bells, by their names in order."""
        return sorted(column.name for column in self.task.columns if self._bell(column))

    def _bell(self, column: Column) -> bool:
        return self.free and column.role in BELLS and self.given.get(column.name, "number") == "number"

    def contenders(self, names: Sequence[str], C: float | str, notes: list[str]) -> Iterator[Contender]:
        """Those of these names that the table has columns for; `notes` says who is missing."""
        shapes = self._shapes(notes) if set(names) & set(SHAPES) else ()
        for name in names:
            if name == "bayes":
                yield Contender(DEFAULT_LEARNER, {}, self.task, self.schema)
            elif name in PARTNERS:
                penalty = C if name in PENALISED_LEARNERS else "auto"
                arguments = {"learner": name, **({} if penalty == "auto" else {"C": penalty})}
                yield Contender(PARTNERS[name], arguments, replace(self.task, learner=name, C=penalty), self.schema)
            elif name in shapes:
                yield self._gaussian(name)

    def _shapes(self, notes: list[str]) -> Sequence[str]:
        """The shapes of covariance that mean something here."""
        d, K = len(self.numbers), len(self.schema.classes)
        if not self.free:
            notes.append("Gaussian Bayes is left out: columns are taken as they were arguments to be")
        elif not d:
            notes.append("Gaussian Bayes is left out: there are no columns of numbers")
        if d < 2:
            return [shape for shape in ("diagonal", "tied_diagonal") if d]
        if d * d * K > MOST_PAIRS:
            notes.append(f"full and tied covariances are left out: {d} columns have too many pairs")
            return [shape for shape in SHAPES if shape not in JOINT_COVARIANCES]
        return SHAPES

    def _gaussian(self, shape: str) -> Contender:
        """Numbers as bells of this shape, joined where it has covariances; other columns stay naive beside them."""
        names = tuple(self.numbers)
        block = names if shape in JOINT_COVARIANCES else ()
        columns = [replace(c, role="number", block=block) if c.name in names else c for c in self.task.columns]
        options: Any = replace(self.task.options, covariance=shape)  # type: ignore[arg-type]
        task = replace(self.task, columns=columns, options=options)
        arguments = {"blocks": "numbers"} if block else {"numbers": "number"}
        name = f"Gaussian {shape.replace('_', ' ')}"
        return Contender(name, {**arguments, "covariance": shape}, task, self._schema(task))

    def _schema(self, task: Task) -> Schema:
        """The same names as the naive schema has, in the blocks of this task."""
        kept = {kind: iter([b for b in self.schema.blocks if b.kind == kind]) for kind in ("levels", "bags")}
        blocks = []
        for need, (kind, features) in zip(task.options.assumption(task.layout).needs, task.layout.blocks):
            if kind in kept:
                blocks.append(next(kept[kind]))
            else:
                blocks.append(Block(kind, len(features), tuple(f.name for f in features), None, need.reading))
        return Schema(self.schema.classes, tuple(blocks))
