"""What is to be learned: source, target, roles and options, checked before all is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

from deciban.errors import InputError, did_you_mean, list_names
from deciban.families.family import ClassPrior
from deciban.ledger.schema import sort_classes
from deciban.linear import fitted_model
from deciban.model.columns import Column, Layout
from deciban.model.model import Model, file_options
from deciban.model.model_options import MAX_DISTINCT_LEVELS, Options
from deciban.model.summarise_table import FoldAssigner, TableSummariser
from deciban.sources.arrow_cells import format_label
from deciban.sources.source import Source, open_source, read_first_rows, role_hint
from deciban.text import Words
from deciban.training.column_blocks import Blocks, check_shape, joined
from deciban.training.infer_roles import HEAD, infer

LEARNERS = ("bayes", *fitted_model.LEARNERS)
"""Who may learn: naive Bayes from what was counted, or one of its partners from the rows."""

PENALISED = ("logistic", "evidence")
"""The learners that have a penalty."""

MOST_LABELS = 0.5
"""A column with more different values than this share of its rows is no target."""


@dataclass(frozen=True)
class Task:
    """What is to be learned from which table."""

    source: Source
    target: str
    columns: Sequence[Column]
    options: Options
    weights: str | None = None
    classes: Sequence[str] | None = None
    prior: Any = None
    target_type: str = "string"
    learner: str = "bayes"
    C: float | str = "auto"
    """Of the other learners: one over the weight of their penalty."""

    @cached_property
    def layout(self) -> Layout:
        """Which features stand in which block; undecided numbers in two."""
        return Layout(tuple(self.columns))

    def summariser(self, n_folds: int, assign: FoldAssigner | None = None) -> TableSummariser:
        """Return an empty summariser of the table, ready to read; `assign` returns the folds of rows."""
        needs = self.options.assumption(self.layout).needs
        classes = None if self.classes is None else sort_classes({format_label(label) for label in self.classes})
        words = self.options.words
        return TableSummariser(self.layout, needs, self.target, self.weights, n_folds, assign, classes, words=words)


def plan(
    source: Any = None,
    *,
    target: str,
    roles: Mapping[str, str] | None = None,
    blocks: Blocks | str | None = None,
    like: Model | None = None,
    numbers: str | None = None,
    weights: str | None = None,
    classes: Sequence[str] | None = None,
    prior: Any = None,
    sql: str | None = None,
    learner: str | None = None,
    C: float | str = "auto",
    alpha: float | str = 1.0,
    parameter_prior: float = 1.0,
    covariance: Any = None,
    unseen: Any = "ignore",
    most_levels: int = MAX_DISTINCT_LEVELS,
    words: Any = None,
    format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    missing: Sequence[str] | str = (),
    hive: bool = False,
    aside: Sequence[str] = (),
) -> Task:
    """The task that these arguments describe; see `train`. Columns set `aside` are not learned from."""
    reading = {"format": format, "encoding": encoding, "errors": errors, "missing": missing, "hive": hive}
    opened = open_source(source, sql, file_options(reading))
    options = Options(alpha, parameter_prior, unseen, most_levels, words=Words.given(words), covariance=covariance)
    learner, penalty = _learner(learner, C, like)
    if like is not None:
        options, prior = _options_like(like, prior)
    _check_target(opened, target)
    head = read_first_rows(opened, HEAD)
    _check_labels(head, target)
    if like is not None:
        found = _like(like, target, roles or blocks, numbers, words)
        columns: Sequence[Column] = [column for column in found if column.name not in aside]
    else:
        columns = _inferred(opened, head, [target, *([weights] if weights else []), *aside], roles or {}, numbers)
        columns = joined(columns, blocks, roles)
        check_shape(options.covariance, columns)
    target_type = _target_type(opened, head, target)
    return Task(opened, target, columns, options, weights, classes, prior, target_type, learner, penalty)


def check_settings(function: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check that all settings are arguments of `train` that describe what is learned, and return them."""
    known = set(signature(plan).parameters) - {"aside"}
    for name in settings:
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(
                f"{function}() takes no {name!r}{near or '.'} Hint: its own arguments, or those of train()"
            )
    return settings


def check_fold_settings(function: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check settings as `check_settings` does, for a function that evaluates models without calibration."""
    if settings.get("calibrate") is not None:
        raise InputError(
            "models are evaluated here without a calibration. "
            "Hint: evaluate(…, calibrate='auto') evaluates model and calibration, both without the fold"
        )
    return check_settings(function, {name: value for name, value in settings.items() if name != "calibrate"})


def _learner(learner: Any, C: Any, like: Model | None) -> tuple[str, float | str]:
    """Who learns, and under which penalty: as asked for, else as in the other model, if there is one."""
    account = None if like is None else like.account
    if learner is None and account is not None:
        learner = account.learner
    if account is not None and account.learner == learner and isinstance(C, str) and C == "auto":
        given: Any = account.settings.get("C")
        C = given if learner in PENALISED and not account.settings.get("C_chosen") else C
    who = "bayes" if learner is None else learner
    return who, checked_learner(who, C)


def checked_learner(learner: Any, C: Any) -> float | str:
    """The penalty, if the learner is one and takes it."""
    if learner not in LEARNERS:
        raise InputError(f"learner must be one of {', '.join(map(repr, LEARNERS))}, not {learner!r}")
    if isinstance(C, str) and C == "auto":
        return C
    if isinstance(C, bool) or not isinstance(C, (int, float)) or not C > 0:
        raise InputError(f"C must be a number > 0, or 'auto', not {C!r}. Hint: C=1.0")
    if float("inf") == C and learner == "evidence":
        raise InputError(f"trust that nothing holds back has no bounds: C must be finite, not {C!r}. Hint: C=1e3")
    if learner not in PENALISED:
        raise InputError(
            f"C weighs a penalty, and learner={learner!r} has none. "
            f"Hint: leave C out, or --learner logistic (learner='logistic')"
        )
    return float(C)


def _check_target(source: Source, target: str) -> None:
    if not isinstance(target, str):
        raise InputError(f"target names a column by a text, not by {target!r}")
    if target not in source.columns:
        near = did_you_mean(target, source.columns) or f". Its columns: {list_names(source.columns)}"
        raise InputError(f"{source.name} has no column {target!r} for the target{near}")


def _inferred(
    source: Source, head: Any, leave_out: Sequence[str], roles: Mapping[str, str], numbers: str | None
) -> Sequence[Column]:
    if numbers not in (None, "number", "binned", "auto"):
        raise InputError(f"numbers must be 'number', 'binned' or 'auto', not {numbers!r}")
    columns = infer(source, head, leave_out, roles, numbers)
    if all(column.role == "skip" for column in columns):
        why = (
            "; ".join(f"{list_names([column.name])}: {column.reason}" for column in columns[:5])
            or "the target is the only one"
        )
        raise InputError(
            f"no column is left to learn from ({why}). Hint: give one a role, {role_hint('COLUMN', 'ROLE')}"
        )
    return columns


def _options_like(like: Model, prior: Any) -> tuple[Options, Any]:
    """The options of another model; priors that were given for its classes are given by their names."""
    given = like.options.prior.given
    if given is None:
        return like.options, prior
    named = dict(zip(like.scorer.schema.classes, given))
    return replace(like.options, prior=ClassPrior()), named if prior is None else prior


def _like(like: Model, target: str, given: Any, numbers: str | None, words: Any) -> Sequence[Column]:
    if like.target != target:
        raise InputError(f"the model to be like has the target {like.target!r}, not {target!r}")
    if given or numbers:
        raise InputError("with like= the roles are those of the other model. Hint: leave roles, blocks, numbers out")
    if words is not None:
        raise InputError("with like= texts are read as in the other model. Hint: leave words out")
    return [replace(column, reason="as in the model") for column in like.columns]


def _target_type(source: Source, head: Any, target: str) -> str:
    """The kind of label the user has, where it is more than text."""
    import pyarrow as pa

    if not source.typed:
        return "string"
    kind = head.schema.field(target).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
    return str(kind) if plain else "string"


def _check_labels(head: Any, target: str) -> None:
    """Refuse a target that is a quantity or an identifier, before everything is read."""
    import pyarrow as pa

    if pa.types.is_nested(head.schema.field(target).type):
        raise InputError(f"column {target!r} is of type {head.schema.field(target).type}, which names no classes")
    labels = head.column(target).drop_null()
    distinct = len(labels.unique())
    if len(labels) >= 50 and distinct > MOST_LABELS * len(labels):
        raise InputError(
            f"column {target!r} has {distinct} different values in {len(labels)} rows, so it names no classes. "
            f"Hint: another target; a quantity can be cut into classes first"
        )
