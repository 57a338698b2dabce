"""The candidates of a comparison: naive Bayes, Gaussian Bayes with each covariance, and discriminative learners."""

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
from deciban.training.column_blocks import NUMBER_ROLES
from deciban.training.learners import make_learner
from deciban.training.table_folds import FoldModel, count_rows
from deciban.training.task import PENALISED_LEARNERS, Task
from deciban.training.train import Trained

COVARIANCES: tuple[str, ...] = get_args(Covariance)
DISCRIMINATIVE_NAMES = {"logistic": DISCRIMINATIVE_PARTNER, "evidence": "evidence", "boosted": "boosted"}
"""The discriminative learners: their names in `train`, and on the screen."""

CANDIDATE_NAMES = ("bayes", *COVARIANCES, *DISCRIMINATIVE_NAMES)
"""The names of the candidates, in this order; "gaussian" stands for every covariance."""

MAX_PAIR_COMOMENTS = 1 << 22
"""The number of co-moments of all classes up to which joined numbers are tried."""


@dataclass(frozen=True)
class Candidate:
    """A learner of a comparison: its name, its arguments for `train`, its task and the schema of its ledgers."""

    name: str
    arguments: Mapping[str, Any]
    task: Task
    schema: Schema

    def rearrange(self, layout: Layout, rows: Rows) -> Rows:
        """Rearrange rows of another layout of the same columns to the layout of this candidate."""
        every = [column for block in rows.columns for column in block]
        by_name = dict(zip((feature.name for feature in layout.all_features()), every))
        blocks = self.task.layout.blocks
        return replace(rows, columns=[[by_name[feature.name] for feature in group.features] for group in blocks])

    def learn(self, rows: Rows) -> tuple[FoldModel, float]:
        """Learn a model from these rows alone; also return the seconds, counting included."""
        start = time.perf_counter()
        rest = count_rows(self.task, self.task.options, self.schema, rows)
        learned = make_learner(self.task).learn(self.task, self.task.options, rest, rows)
        learned.scorer.solved  # noqa: B018  solving is a part of learning
        return learned, time.perf_counter() - start


def check_candidates(learners: Any) -> list[str]:
    """Check the names of candidates and return them in the order of `CANDIDATE_NAMES`; all of them for None."""
    if learners is None:
        return list(CANDIDATE_NAMES)
    names = [learners] if isinstance(learners, str) else list(learners)
    for name in names:
        if name not in (*CANDIDATE_NAMES, "gaussian"):
            near = (
                did_you_mean(str(name), CANDIDATE_NAMES)
                or f". Hint: {', '.join(CANDIDATE_NAMES)}, or gaussian for each covariance"
            )
            raise InputError(f"there is no learner {name!r}{near}")
    if not names:
        raise InputError("learners is empty: there is nothing to compare. Hint: leave it out for all of them")
    chosen = {*names, *(COVARIANCES if "gaussian" in names else ())}
    return [name for name in CANDIDATE_NAMES if name in chosen]


@dataclass(frozen=True)
class CandidateFactory:
    """The naive task and its schema, from which all candidates are made."""

    task: Task
    schema: Schema
    given_roles: Mapping[str, str]
    """Roles that the user has given."""
    is_free: bool
    """Whether numbers may be Gaussian: no blocks, no bins, and no other model was requested."""

    @classmethod
    def of(cls, trained: Trained, settings: Mapping[str, Any]) -> CandidateFactory:
        """Build the factory from a table that has been read."""
        task = replace(trained.task, options=trained.model.options)
        is_free = not settings.get("blocks") and settings.get("like") is None and settings.get("numbers") != "binned"
        return cls(task, trained.total.schema, settings.get("roles") or {}, is_free)

    @property
    def numbers(self) -> list[str]:
        """The names of the columns that can be Gaussian, in order."""
        return sorted(column.name for column in self.task.columns if self._can_be_gaussian(column))

    def _can_be_gaussian(self, column: Column) -> bool:
        return (
            self.is_free and column.role in NUMBER_ROLES and self.given_roles.get(column.name, "number") == "number"
        )

    def candidates(self, names: Sequence[str], C: float | str, notes: list[str]) -> Iterator[Candidate]:
        """Yield the candidates of these names that the table has columns for; `notes` explain the missing ones."""
        shapes = self._covariances(notes) if set(names) & set(COVARIANCES) else ()
        for name in names:
            if name == "bayes":
                yield Candidate(DEFAULT_LEARNER, {}, self.task, self.schema)
            elif name in DISCRIMINATIVE_NAMES:
                penalty = C if name in PENALISED_LEARNERS else "auto"
                arguments = {"learner": name, **({} if penalty == "auto" else {"C": penalty})}
                yield Candidate(
                    DISCRIMINATIVE_NAMES[name], arguments, replace(self.task, learner=name, C=penalty), self.schema
                )
            elif name in shapes:
                yield self._gaussian(name)

    def _covariances(self, notes: list[str]) -> Sequence[str]:
        """Return the covariances that the table has columns for."""
        d, K = len(self.numbers), len(self.schema.classes)
        if not self.is_free:
            notes.append("Gaussian Bayes is left out: the roles of the columns are given")
        elif not d:
            notes.append("Gaussian Bayes is left out: there are no columns of numbers")
        if d < 2:
            return [shape for shape in ("diagonal", "tied_diagonal") if d]
        if d * d * K > MAX_PAIR_COMOMENTS:
            notes.append(f"full and tied covariances are left out: {d} columns have too many pairs")
            return [shape for shape in COVARIANCES if shape not in JOINT_COVARIANCES]
        return COVARIANCES

    def _gaussian(self, shape: str) -> Candidate:
        """Return the candidate of Gaussian numbers with this covariance, joined if it has any; other columns stay."""
        names = tuple(self.numbers)
        block = names if shape in JOINT_COVARIANCES else ()
        columns = [replace(c, role="number", block=block) if c.name in names else c for c in self.task.columns]
        options: Any = replace(self.task.options, covariance=shape)  # type: ignore[arg-type]
        task = replace(self.task, columns=columns, options=options)
        arguments = {"blocks": "numbers"} if block else {"numbers": "number"}
        name = f"Gaussian {shape.replace('_', ' ')}"
        return Candidate(name, {**arguments, "covariance": shape}, task, self._schema(task))

    def _schema(self, task: Task) -> Schema:
        """Return the schema with the names of the naive schema and the blocks of this task."""
        kept = {kind: iter([b for b in self.schema.blocks if b.kind == kind]) for kind in ("levels", "bags")}
        blocks = []
        for need, (kind, features) in zip(task.options.assumption(task.layout).needs, task.layout.blocks):
            if kind in kept:
                blocks.append(next(kept[kind]))
            else:
                blocks.append(Block(kind, len(features), tuple(f.name for f in features), None, need.reading))
        return Schema(self.schema.classes, tuple(blocks))
