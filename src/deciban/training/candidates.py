"""Candidates of a comparison: the learners that a table has columns for, and how they learn the same rows."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from deciban.errors import InputError, did_you_mean
from deciban.families.gaussian import Covariance
from deciban.ledger import Block, Ledger, Schema
from deciban.metrics.comparison_advice import DEFAULT_LEARNER, DISCRIMINATIVE_PARTNER
from deciban.model.columns import Layout
from deciban.model.model_options import JOINT_COVARIANCES
from deciban.model.summarise_table import Rows
from deciban.training.discriminative_learners import SharedParts, TrainingRows, fit_learner
from deciban.training.joined_columns import NUMBER_ROLES
from deciban.training.structure import without_cells
from deciban.training.table_folds import FoldModel, count_rows, solve_ledger
from deciban.training.task import PENALISED_LEARNERS, Task

COVARIANCES: tuple[str, ...] = tuple(shape for shape in get_args(Covariance) if shape != "mixed")
DISCRIMINATIVE_NAMES = {"logistic": DISCRIMINATIVE_PARTNER, "evidence": "evidence", "boosted": "boosted"}
"""The discriminative learners: their names in `train`, and on the screen."""

DEPENDENT_NAMES = {"tan": "tree (TAN)", "aode": "AODE"}
"""The learners that count pairs of columns: their names, and on the screen."""

CANDIDATE_NAMES = ("bayes", *DEPENDENT_NAMES, *COVARIANCES, *DISCRIMINATIVE_NAMES)
"""The names of the candidates, in this order; "gaussian" stands for every covariance."""

QUICK_COVARIANCES = ("tied", "tied_diagonal")
"""The covariances of which a quick comparison has the first that the table allows: it needs the fewest rows."""

MAX_PAIR_COMOMENTS = 1 << 22
"""The number of co-moments of all classes up to which joined numbers are tried."""


@dataclass(frozen=True)
class Candidate:
    """A learner of a comparison: its name, its arguments for `train`, its task and the schema of its ledgers."""

    name: str
    arguments: Mapping[str, Any]
    task: Task
    schema: Schema

    @property
    def ledger_key(self) -> str:
        """The statistics that it learns from: candidates with the same key have the same ledger of the same rows."""
        if "covariance" not in self.arguments:
            return "pairs" if self.task.layout.cells else "naive"
        return "joint" if "blocks" in self.arguments else "separate"

    def rearrange(self, layout: Layout, rows: Rows) -> Rows:
        """Rearrange rows of another layout of the same columns to the layout of this candidate."""
        by_name = {
            (group.kind == "pairs", feature.name): column
            for group, block in zip(layout.blocks, rows.columns)
            for feature, column in zip(group.features, block)
        }
        blocks = self.task.layout.blocks
        columns = [[by_name[group.kind == "pairs", feature.name] for feature in group.features] for group in blocks]
        return replace(rows, columns=columns)


class CandidateTrainer:
    """Trains several candidates on the same rows; what they have in common is computed once.

    These are the ledgers, the naive Bayes model that decides roles and bins, and those without each inner fold, by
    which logistic and evidence regression choose C.
    """

    def __init__(self, layout: Layout, rows: Rows) -> None:
        self._layout, self._rows, self._shared = layout, rows, SharedParts()

    def learn(self, candidate: Candidate) -> tuple[FoldModel, float]:
        """Learn a model from these rows alone; also return the seconds that it takes on its own."""
        start = time.perf_counter() + self._shared.reused_seconds
        model = self._learn(candidate)
        model.scorer.solved  # noqa: B018  solving is a part of learning
        return model, time.perf_counter() + self._shared.reused_seconds - start

    def _learn(self, candidate: Candidate) -> FoldModel:
        """Return the candidate's model of these rows; ledgers and naive Bayes are reused from other candidates."""
        task, key, shared = candidate.task, candidate.ledger_key, self._shared
        rows = candidate.rearrange(self._layout, self._rows)
        ledger = shared.get(key, lambda: count_rows(task, candidate.schema, rows))
        if key != "naive":
            return solve_ledger(task, ledger)
        data = shared.get("basis", lambda: TrainingRows(task, _solve(task, ledger), rows, shared))
        return fit_learner(data, task) if task.needs_rows else data.model


def _solve(task: Task, ledger: Ledger) -> FoldModel:
    """Return the naive Bayes model of a ledger, solved."""
    model = solve_ledger(task, ledger)
    model.scorer.solved  # noqa: B018  every learner needs it
    return model


def check_candidates(learners: Any, full: bool) -> list[str] | None:
    """Check the names of candidates and return them in the order of `CANDIDATE_NAMES`.

    Without names these are all of them for a full comparison, and None for a quick one.
    """
    if learners is None:
        return list(CANDIDATE_NAMES) if full else None
    names = [learners] if isinstance(learners, str) else list(learners)
    for name in names:
        if name not in (*CANDIDATE_NAMES, "gaussian"):
            hint = f". Hint: {', '.join(CANDIDATE_NAMES)}, or gaussian for each covariance"
            raise InputError(f"there is no learner {name!r}{did_you_mean(str(name), CANDIDATE_NAMES) or hint}")
    if not names:
        raise InputError("learners is empty: there is nothing to compare. Hint: leave it out for all of them")
    chosen = {*names, *(COVARIANCES if "gaussian" in names else ())}
    return [name for name in CANDIDATE_NAMES if name in chosen]


def make_candidates(
    task: Task, every: Schema, names: Sequence[str] | None, C: float | str, numbers: Sequence[str] | None,
    notes: list[str],
) -> Iterator[Candidate]:  # fmt: skip
    """Yield the candidates of these names that the table has columns for; append to `notes` why others are not.

    `every` is the schema of the task's blocks, `numbers` are the columns that can be Gaussian. Without names these
    are five: naive Bayes, one Gaussian, and the discriminative learners.
    """
    task = replace(task, source=None, learner="bayes", C="auto")  # type: ignore[arg-type]
    base = replace(task, columns=without_cells(task.columns), structure="naive")
    schema = Schema(every.classes, tuple(block for block in every.blocks if block.kind != "pairs"))
    shapes: Sequence[str] = ()
    if names is None or set(names) & set(COVARIANCES):
        shapes = _list_covariances(numbers, len(schema.classes), notes)
    if names is None:
        names = ["bayes", *[shape for shape in QUICK_COVARIANCES if shape in shapes][:1], *DISCRIMINATIVE_NAMES]
    for name in names:
        if name == "bayes":
            yield Candidate(DEFAULT_LEARNER, {}, base, schema)
        elif name in DEPENDENT_NAMES and task.layout.block_index("pairs") is not None:
            yield _make_dependent_candidate(task, every, name)
        elif name in DISCRIMINATIVE_NAMES:
            penalty = C if name in PENALISED_LEARNERS else "auto"
            arguments = {"learner": name, **({} if penalty == "auto" else {"C": penalty})}
            yield Candidate(DISCRIMINATIVE_NAMES[name], arguments, replace(base, learner=name, C=penalty), schema)
        elif name in shapes:
            yield _make_gaussian_candidate(base, schema, tuple(numbers or ()), name)


def list_gaussian_columns(task: Task, settings: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the columns that can be Gaussian, sorted.

    None where numbers may not be Gaussian: blocks, bins or another model were requested.
    """
    if settings.get("blocks") or settings.get("like") is not None or settings.get("numbers") == "binned":
        return None
    roles = settings.get("roles") or {}
    numbers = (column.name for column in task.columns if column.role in NUMBER_ROLES)
    return sorted(name for name in numbers if roles.get(name, "number") == "number")


def _list_covariances(numbers: Sequence[str] | None, n_classes: int, notes: list[str]) -> Sequence[str]:
    """Return the covariances that numbers allow; append to `notes` why others are not, except for one column."""
    d = len(numbers or ())
    if numbers is None:
        notes.append("Gaussian Bayes is left out: the roles of the columns are given")
    elif not d:
        notes.append("Gaussian Bayes is left out: there are no columns of numbers")
    if d < 2:
        return [shape for shape in ("diagonal", "tied_diagonal") if d]
    if d * d * n_classes > MAX_PAIR_COMOMENTS:
        notes.append(f"full and tied covariances are left out: {d} columns have too many pairs")
        return [shape for shape in COVARIANCES if shape not in JOINT_COVARIANCES]
    return COVARIANCES


def _make_dependent_candidate(task: Task, schema: Schema, name: str) -> Candidate:
    """Return the candidate of columns that depend on each other, in a tree or averaged over parents."""
    is_tree = name == "tan"
    arguments = {"structure": "tan"} if is_tree else {"learner": "aode"}
    options = replace(task.options, dependence="forest" if is_tree else "averaged")
    own = replace(task, options=options, structure="tan", learner="bayes" if is_tree else "aode")
    return Candidate(DEPENDENT_NAMES[name], arguments, own, schema)


def _make_gaussian_candidate(base: Task, schema: Schema, numbers: tuple[str, ...], shape: str) -> Candidate:
    """Return the candidate of Gaussian numbers with this covariance, joined if it has any; other columns stay."""
    block = numbers if shape in JOINT_COVARIANCES else ()
    columns = [replace(c, role="number", block=block) if c.name in numbers else c for c in base.columns]
    options: Any = replace(base.options, covariance=shape)  # type: ignore[arg-type]
    task = replace(base, columns=columns, options=options)
    named = {kind: iter([b for b in schema.blocks if b.kind == kind]) for kind in ("levels", "bags")}
    blocks = [
        next(named[kind])
        if kind in named
        else Block(kind, len(features), tuple(feature.name for feature in features), None, need.reading)
        for need, (kind, features) in zip(options.assumption(task.layout).needs, task.layout.blocks)
    ]
    arguments = {"blocks": "numbers"} if block else {"numbers": "number"}
    name = f"Gaussian {shape.replace('_', ' ')}"
    return Candidate(name, {**arguments, "covariance": shape}, task, Schema(schema.classes, tuple(blocks)))
