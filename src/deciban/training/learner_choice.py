"""`learner="auto"`: the learner with the lowest log-loss in inner folds of the rows, calibrated by a temperature.

The candidates are those of `compare`, columns that depend on each other, and the shares of the classes. They are
calibrated before the choice, as by `train`: otherwise naive Bayes would lose to learners that rank rows no better.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines.threads import thread_count
from deciban.errors import InputError
from deciban.ledger import Schema
from deciban.model.summarise_table import Rows
from deciban.scores.calibration import Calibration, Temperature
from deciban.training.candidate_evaluation import CandidateRows, TimeBudget, start_evaluation
from deciban.training.candidates import (
    QUICK_COVARIANCES,
    Candidate,
    CandidateTrainer,
    list_gaussian_columns,
    make_candidates,
)
from deciban.training.discriminative_learners import assign_inner_folds
from deciban.training.table_folds import FoldModel, calibrate_rows
from deciban.training.task import Task

INNER_FOLDS = 5
"""The number of folds in which learners are compared."""

AUTO_NAMES = ("bayes", "tan", "aode", *QUICK_COVARIANCES, "logistic", "evidence", "boosted")
"""The candidates among which a learner is chosen."""


CONSTANT_NAME = "the class shares"
"""The name of the candidate that learns nothing: naive Bayes whose probabilities are the shares of the classes."""


@dataclass(frozen=True)
class LearnerChoice:
    """The chosen learner, and the calibrated log-loss in inner folds of all that were tried; `notes` name others.

    >>> str(LearnerChoice("AODE", {"naive Bayes": 0.41, "AODE": 0.375}, {"learner": "aode"}))
    'AODE, chosen in 5 inner folds by log-loss: AODE 0.375, naive Bayes 0.410'
    """

    name: str
    log_loss: Mapping[str, float]
    arguments: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether no learner is better than the shares of the classes."""
        return self.name == CONSTANT_NAME

    def __str__(self) -> str:
        ranked = sorted(self.log_loss.items(), key=lambda item: item[1])
        tried = ", ".join(f"{name} {loss:.3f}" for name, loss in ranked)
        notes = "".join(f"; {note}" for note in self.notes)
        return f"{self.name}, chosen in {INNER_FOLDS} inner folds by log-loss: {tried}{notes}"


def list_candidates(task: Task, schema: Schema) -> list[Candidate]:
    """Return the candidates that a table has columns for; Gaussians are of numbers whose role is open or `number`."""
    joined = any(column.block for column in task.columns)
    given = {column.name: column.role for column in task.columns if column.role in ("binned", "count")}
    numbers = list_gaussian_columns(task, {"roles": given, "blocks": joined})
    found = list(make_candidates(task, schema, AUTO_NAMES, task.C, numbers, notes=[]))
    tied = [each for each in found if "covariance" in each.arguments]
    return [each for each in found if each not in tied[1:]]


def choose_learner(task: Task, schema: Schema, rows: Rows) -> tuple[LearnerChoice, Candidate]:
    """Choose among the candidates by inner folds of the rows, in the task's seconds; InputError if there are none."""
    fold = assign_inner_folds(rows, INNER_FOLDS)
    candidates = list_candidates(task, schema)
    if not (fold >= 0).any():
        raise InputError("learner='auto' compares learners in folds, and no class has rows in two of them")
    folded = CandidateRows(task.layout, replace(rows, fold=fold), candidates)
    with start_evaluation(folded, thread_count(None), TimeBudget.start(task.seconds), None) as evaluation:
        scored, known = evaluation.score_folds(INNER_FOLDS, None)
    losses = {each.name: _compute_calibrated_loss(each.log_posterior, known, folded.rows) for each in scored}
    constant = _compute_calibrated_loss(scored[0].log_posterior, known, folded.rows, "shares")
    losses = {CONSTANT_NAME: constant, **losses}  # the first of the least
    best = min(losses, key=lambda name: losses[name])
    candidate = next((each for each in candidates if each.name == best), candidates[0])
    arguments = candidate.arguments or {"structure": "naive"}
    return LearnerChoice(best, losses, arguments, tuple(evaluation.notes)), candidate


def _compute_calibrated_loss(
    log_posterior: Array, known: NDArray[np.bool_], rows: Rows, method: str = "temperature"
) -> float:
    """Return the log-loss of the rows of inner folds, calibrated by maps fitted without each fold."""
    calibration = calibrate_rows(method, log_posterior, rows, known).calibration
    assert calibration is not None
    return calibration.after


def learn_by_choice(task: Task, schema: Schema, rows: Rows) -> FoldModel:
    """Choose a learner by the rows, and learn them by it; the model scores rows of the task's own layout."""
    choice, candidate = choose_learner(task, schema, rows)
    model, _ = CandidateTrainer(task.layout, rows).learn(candidate)
    if choice.is_constant:
        shares = Calibration(Temperature(0.0), model.scorer.solved.log_prior)
        model = replace(model, scorer=model.scorer.with_maps(calibration=shares))
    return replace(model, rearrange=partial(candidate.rearrange, task.layout), choice=choice.name)
