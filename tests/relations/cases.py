"""One table under one setting: what is learned, what it answers, and how two answers are compared."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import deciban
from tests.relations.settings import FITTED, SETTINGS
from tests.relations.tables import TARGET, Task


class NotApplicable(Exception):
    """The table or the setting has nothing that a relation is about."""


@dataclass(frozen=True)
class Outcome:
    """A learned model, and the probabilities of the rows to predict, with the first task's names of the classes."""

    task: Task
    model: Any
    p: pd.DataFrame

    @property
    def log_loss(self) -> float:
        names = self.task.class_names
        own = [str(names.get(label, label)) for label in self.task.test[TARGET]]
        chosen = self.p.to_numpy()[np.arange(len(own)), self.p.columns.get_indexer(own)]
        return float(-np.log(np.maximum(chosen, 1e-300)).mean())


@dataclass(frozen=True)
class Case:
    """A task under a setting."""

    task: Task
    setting: str

    @cached_property
    def base(self) -> Outcome:
        """The task as it was drawn, learned once for all relations."""
        return self.learn(self.task)

    def learn(self, task: Task, **options: Any) -> Outcome:
        """Train on a task's rows, and predict the others."""
        model = self.train(task, **options)
        return Outcome(task, model, probabilities(model, task.as_read(task.test), task))

    def train(self, task: Task, **options: Any) -> Any:
        """Train on a task's rows with the arguments of the setting."""
        return train(task.as_read(task.train), **{**SETTINGS[self.setting], **task.options, **options})

    def need_ledger(self) -> None:
        """Leave out learners that fit rows: their models are not added to."""
        if self.setting in FITTED:
            raise NotApplicable


def train(rows: Any, **options: Any) -> Any:
    """Train without warnings: what they say is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return deciban.train(rows, target=TARGET, **options)


def probabilities(model: Any, rows: Any, task: Task | None = None, **options: Any) -> pd.DataFrame:
    """Return the probabilities of rows, in a frame with the classes of the first task in the order of their names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = model.predict_proba(rows, **options)
        p = p.read_all() if hasattr(p, "read_all") else p
    p = p.to_pandas() if hasattr(p, "to_pandas") else p
    p = p if isinstance(p, pd.DataFrame) else pd.DataFrame(np.asarray(p), columns=list(model.classes))
    names = task.class_names if task else {}
    p.columns = [str(names.get(label, label)) for label in p.columns]
    return p[sorted(p.columns)].reset_index(drop=True)


def difference(first: pd.DataFrame, second: pd.DataFrame) -> float:
    """Return the largest difference of two tables of probabilities; infinity if they are not comparable."""
    if list(first.columns) != list(second.columns) or len(first) != len(second):
        return math.inf
    gaps = np.abs(first.to_numpy(float) - second.to_numpy(float))
    return math.inf if np.isnan(gaps).any() else float(gaps.max(initial=0.0))


Follows = Callable[[Outcome, Outcome], str | None]
"""Compares two outcomes: None, or what is wrong."""


def within(limit: float) -> Follows:
    """Compare all probabilities."""

    def compare(before: Outcome, after: Outcome) -> str | None:
        return _say(before, after, difference(before.p, after.p), limit)

    return compare


EQUAL = within(1e-9)
ROUNDED = within(1e-6)


def same_bins(before: Outcome, after: Outcome) -> str | None:
    """Compare Gaussians and fitted weights up to rounding; with bins, roles, log-loss by 1 %, 99 % of rows by .02.

    A map counts as bins: the models without a fold, on whose scores it is fitted, decide on bins of their own.
    """
    roles = [list(outcome.model.roles.values()) for outcome in (before, after)]
    if roles[0] != roles[1]:
        changed = [f"{name} {a} → {b}" for name, a, b in zip(before.model.roles, *roles, strict=True) if a != b]
        return "roles: " + ", ".join(changed)
    model = before.model
    if "binned" not in roles[0] and not model.structure and model.calibration is None:
        return ROUNDED(before, after)
    gaps = np.sort(np.abs(before.p.to_numpy() - after.p.to_numpy()).max(axis=1))
    losses = before.log_loss, after.log_loss
    if abs(losses[1] - losses[0]) > 0.01 * losses[0] + 1e-6:
        return f"log-loss {losses[0]:.4f} → {losses[1]:.4f}"
    limit = int(np.floor(0.99 * len(gaps))) - 1
    return f"{(gaps > 0.02).sum()} of {len(gaps)} rows move by over .02" if gaps[limit] > 0.02 else None


def not_worse(share: float) -> Follows:
    """Compare the log-losses: the second may exceed the first by this share and a tenth of a nat."""

    def compare(before: Outcome, after: Outcome) -> str | None:
        a, b = before.log_loss, after.log_loss
        return None if b <= a * (1 + share) + 0.1 else f"log-loss {a:.4f} → {b:.4f}"

    return compare


def _say(before: Outcome, after: Outcome, gap: float, limit: float) -> str | None:
    if gap <= limit:
        return None
    if math.isinf(gap):
        return f"not comparable: {before.p.shape} {list(before.p)}, {after.p.shape} {list(after.p)}"
    row = int(np.abs(before.p.to_numpy() - after.p.to_numpy()).max(axis=1).argmax())
    return (
        f"|Δp| {gap:.3g} in row {row}: {before.p.iloc[row].round(6).tolist()}, {after.p.iloc[row].round(6).tolist()}"
    )
