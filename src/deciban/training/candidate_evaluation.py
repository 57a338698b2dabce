"""The evaluation of candidates on the same folds and the same draws of rows, within a time budget."""

import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines.threads import limit_products_to_one_core, limit_threads
from deciban.errors import InputError
from deciban.metrics.comparison import CandidateScores
from deciban.metrics.comparison_advice import list_or_count
from deciban.metrics.intervals import bounded_losses
from deciban.metrics.learning_curves import LearningCurves
from deciban.model.columns import Layout
from deciban.model.summarise_table import Progress, Rows
from deciban.training.candidates import Candidate, CandidateTrainer
from deciban.training.row_draws import RowDraws
from deciban.training.worker_processes import TaskRunner, WorkerTask
from deciban.validation.fold_models import RowIndex, scatter_rows

MIN_PARALLEL_SECONDS = 3.0
"""The time that the remaining models would take from which on they are learned in several processes: to start one
takes about a second."""

MIN_SIZE_COST = 0.2
"""The least time of a model of few rows, as a fraction of that of a model of all rows."""

TRIALS = ((64, 60_000), (16, 1_600), (4, 1_600))
"""A learner is timed on the rows of a fold divided by the first numbers, if a fold has as many rows as the second."""

MAX_DECISIVE_DIVISOR = 16
"""Fewer rows than these do not show that there is time. In proportion, a 16th of the rows took 0.9 (logistic) to 3
times (boosted) as long as all rows of letter (26 classes, 18 000 rows a fold), a fourth 0.5 to 2.5 times as long; of
3 600 rows of noise, a 16th 6 times (logistic) to 60 times (boosted) as long, a fourth 1 to 6 times."""

QUICK_SHARE = 0.1
"""The share of the time budget that the quickest learners may take together where no time is left."""


@dataclass(frozen=True)
class TimeBudget:
    """The seconds that a comparison may take, since its start; infinity where there is no limit."""

    seconds: float
    began: float

    @classmethod
    def start(cls, seconds: Any) -> "TimeBudget":
        """Check the argument `seconds`, and start."""
        is_number = isinstance(seconds, (int, float, np.integer, np.floating)) and not isinstance(seconds, bool)
        if seconds is not None and not (is_number and seconds > 0):
            raise InputError(f"seconds must be a number above 0, not {seconds!r}. Hint: leave it out for no limit")
        return cls(math.inf if seconds is None else float(seconds), time.perf_counter())

    @property
    def left(self) -> float:
        """The seconds that are left; below 0 where more have passed."""
        return self.seconds - (time.perf_counter() - self.began)


class SplitScores(NamedTuple):
    """A candidate's ln p(k|x) of rows that it has not learned, the classes that it knows, seconds and parameters."""

    log_posterior: Array
    known: NDArray[np.bool_]
    seconds: float
    n_parameters: float


@dataclass(frozen=True)
class CandidateRows:
    """The rows that candidates learn and are evaluated on: all that a process needs to run a task."""

    layout: Layout
    rows: Rows
    candidates: Sequence[Candidate]

    def iterate_split(self, learned: RowIndex, scored: RowIndex, active: Iterable[int]) -> Iterator[SplitScores]:
        """Yield the scores of some rows by each of these candidates, which learns other rows."""
        trainer, own = CandidateTrainer(self.layout, self.rows[learned]), self.rows[scored]
        for i in active:
            model, seconds = trainer.learn(self.candidates[i])
            scores = model.scores(self.candidates[i].rearrange(self.layout, own), "log_posterior")
            yield SplitScores(scores, model.ledger.rows > 0, seconds, model.scorer.n_parameters)

    def iterate_fold(self, f: int, active: Iterable[int]) -> Iterator[SplitScores]:
        """Return an iterator over the scores of a fold by each of these candidates, which learns the other rows."""
        fold = self.rows.fold
        return self.iterate_split(np.flatnonzero(fold != f), np.flatnonzero(fold == f), active)

    def score_fold(self, f: int, active: Sequence[int]) -> list[SplitScores]:
        """Return the scores of `iterate_fold`."""
        return list(self.iterate_fold(f, active))

    def list_trials(self, i: int) -> list[int]:
        """Return the divisors of the rows by which candidate i is timed, fewest rows first.

        There are none for a candidate that only solves a ledger, and where rows are few.
        """
        n = np.count_nonzero(self.rows.fold != 0)
        return [divisor for divisor, least in TRIALS if n >= least and self.candidates[i].task.needs_rows]

    def time_trial(self, i: int, divisor: int) -> float:
        """Return the seconds that candidate i takes to learn the rows of a fold divided by this number."""
        learned = np.flatnonzero(self.rows.fold != 0)
        drawn = np.sort(np.random.default_rng(0).choice(learned, len(learned) // divisor, replace=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CandidateTrainer(self.layout, self.rows[drawn]).learn(self.candidates[i])[1]

    def score_draw(self, learned: RowIndex, held: RowIndex, active: Sequence[int]) -> Array:
        """Return accuracy and bounded log-loss of each of these candidates on held-out rows, 2×L.

        A row whose class was not learned counts as misclassified, and not in the log-loss.
        """
        truth = self.rows.codes[held]
        weight = np.ones(len(held)) if self.rows.weight is None else self.rows.weight[held]
        met = np.isin(truth, self.rows.codes[learned])
        figures = []
        for scores, *_ in self.iterate_split(learned, held, active):
            hits = met & (scores.argmax(axis=1) == truth)
            losses: Array = bounded_losses(scores[met], truth[met])
            loss = np.average(losses, weights=weight[met]) if met.any() else np.nan
            figures.append((np.average(hits, weights=weight), loss))
        return np.array(figures).T


@contextmanager
def start_evaluation(
    rows: CandidateRows, jobs: int, budget: TimeBudget, progress: Progress | None
) -> "Iterator[CandidateEvaluation]":
    """Yield an evaluation of candidates by up to `jobs` processes, which end with the context."""
    import scipy.optimize  # noqa: F401  it has a thread pool of its own, which can be limited once it is loaded

    # Thousands of small searches: products on two cores wait for each other longer than they compute.
    with limit_products_to_one_core(True), limit_threads(jobs), TaskRunner(rows, jobs) as runner:
        yield CandidateEvaluation(rows, runner, budget, progress)


class CandidateEvaluation:
    """The evaluation of candidates that learn the same rows; `notes` say what the time did not suffice for."""

    def __init__(
        self, rows: CandidateRows, runner: TaskRunner, budget: TimeBudget, progress: Progress | None
    ) -> None:
        self.notes: list[str] = []
        self._rows, self._runner, self._budget, self._progress = rows, runner, budget, progress
        self._active = list(range(len(rows.candidates)))
        self._costs: dict[int, float] = {}  # the seconds of the last model of each candidate
        self._done = 0

    def score_folds(self, n_folds: int, draws: RowDraws | None) -> tuple[list[CandidateScores], NDArray[np.bool_]]:
        """Score all rows by each candidate, without their fold; also return the classes each row's model knows, n×K.

        The first fold shows how long each candidate takes: those that the time does not suffice for are left out.
        """
        n_curve_models = draws.n_draws * len(draws.sizes) if draws else 0
        self._expect(n_folds + n_curve_models)
        found = [self._score_first_fold(n_folds)]
        if self._expected_seconds * (n_folds - 1 + n_curve_models) >= MIN_PARALLEL_SECONDS:
            self._runner.start_processes()
        chosen: list[tuple[int, ...]] = []

        def plan_folds() -> Iterator[WorkerTask]:
            for f in range(1, n_folds):
                if self._drop_slow_candidates(n_folds - f):
                    self._expect(n_folds - f + n_curve_models)
                chosen.append(tuple(self._active))
                yield CandidateRows.score_fold, (f, chosen[-1])

        for f, scores in enumerate(self._runner.run(plan_folds())):
            found.append(dict(zip(chosen[f], scores)))
            self._costs |= {i: each.seconds for i, each in found[-1].items()}
            self._count(len(scores))
        dropped = [each.name for i, each in enumerate(self._rows.candidates) if i not in self._active]
        if dropped:
            self.notes.append(f"left out, for lack of time ({self._budget.seconds:g} s): {list_or_count(dropped)}")
        return self._combine_folds(found)

    def _score_first_fold(self, n_folds: int) -> dict[int, SplitScores]:
        """Score the first fold by one candidate after the other, the first and those for which there is time."""
        found, tried = {}, list[int]()

        def plan_models() -> Iterator[int]:
            for i in self._active:
                if not tried or self._has_time_for(i, n_folds):
                    tried.append(i)
                    yield i

        for scores in self._rows.iterate_fold(0, plan_models()):
            found[tried[-1]], self._costs[tried[-1]] = scores, scores.seconds
            self._count(1)
        self._active = tried
        return found

    def _has_time_for(self, i: int, n_folds: int) -> bool:
        """Return whether a candidate that has not learned yet would end in time.

        That is one fold if it took twice as long as in trials, and all folds if it took half as long. It is timed on
        more and more rows, while four times as many would be learned in time even if that grew with their square.
        """
        trials = self._rows.list_trials(i) if 0 < self._budget.left < math.inf else []
        n_models = max(2, n_folds / 2 / self._runner.jobs)
        for divisor in trials:
            seconds = self._rows.time_trial(i, divisor)
            if divisor <= MAX_DECISIVE_DIVISOR and n_models * divisor * seconds <= self._budget.left:
                return True
            if 4**2 * seconds > self._budget.left:
                return False
        return not trials and self._budget.left > 0

    @property
    def _expected_seconds(self) -> float:
        """The seconds of a model of each active candidate, together."""
        return sum(self._costs[i] for i in self._active)

    def _drop_slow_candidates(self, models_left: int) -> bool:
        """Leave out the slowest candidates, but not the first, until the others are expected to end in time.

        Return whether any was left out.
        """
        before = len(self._active)
        available = max(self._budget.left * self._runner.jobs, self._budget.seconds * QUICK_SHARE)
        while len(self._active) > 1 and self._expected_seconds * models_left > available:
            self._active.remove(max(self._active[1:], key=lambda i: self._costs[i]))
        return len(self._active) < before

    def _combine_folds(
        self, found: Sequence[dict[int, SplitScores]]
    ) -> tuple[list[CandidateScores], NDArray[np.bool_]]:
        """Return the scores of all rows by the active candidates, and the classes that each row's model knows."""
        fold, n = self._rows.rows.fold, len(self._rows.rows.codes)
        indices = [np.flatnonzero(fold == f) for f in range(len(found))]
        scored = []
        for i in self._active:
            each, candidate = [scores[i] for scores in found], self._rows.candidates[i]
            posterior = scatter_rows(indices, [scores.log_posterior for scores in each], n)
            costs = np.mean([scores.seconds for scores in each]), np.median([scores.n_parameters for scores in each])
            scored.append(CandidateScores(candidate.name, candidate.arguments, posterior, *map(float, costs)))
        first = [scores[self._active[0]].known for scores in found]
        known = [np.broadcast_to(known, (len(index), len(known))) for known, index in zip(first, indices)]
        return scored, scatter_rows(indices, known, n)

    def measure_curves(self, draws: RowDraws, names: Sequence[str]) -> LearningCurves | None:
        """Return the learning curves of the learners of these names; None where rows or time are too few."""
        if not draws.sizes:
            self.notes.append("there are too few rows for learning curves")
            return None
        active = tuple(i for i in self._active if self._rows.candidates[i].name in names)
        n = len(self._rows.rows.codes)
        cost = self._expected_seconds * sum(max(size / n, MIN_SIZE_COST) for size in draws.sizes) / self._runner.jobs
        taken = 0

        def plan_draws() -> Iterator[WorkerTask]:
            nonlocal taken
            for held, order in draws:
                if cost * max(1, 2 - taken) > self._budget.left:
                    return
                taken += 1
                for size in draws.sizes:
                    yield CandidateRows.score_draw, (np.sort(order[:size]), held, active)

        figures = []
        for figure in self._runner.run(plan_draws()):
            figures.append(figure)
            self._count(len(active))
        if taken < draws.n_draws:
            number = f"{taken} draws, not {draws.n_draws}" if taken > 1 else "no learning curves"
            self.notes.append(f"{number}, for lack of time ({self._budget.seconds:g} s)")
        if taken < 2:
            return None
        accuracy, loss = np.array(figures).reshape(taken, len(draws.sizes), 2, len(active)).transpose(2, 3, 0, 1)
        held_out = len(next(iter(draws))[0])
        return LearningCurves(tuple(names), tuple(draws.sizes), accuracy, loss, held_out)

    def _expect(self, models: int) -> None:
        """Begin to report models learned, or report on: there will be so many more of each active candidate.

        A progress function without a method `begin` is not called: it would take their number for one of rows.
        """
        begin = getattr(self._progress, "begin", None)
        self._counter = None if begin is None else self._progress
        if begin is not None:
            begin("comparing", "models", self._done + len(self._active) * models)
        self._count(0)

    def _count(self, models: int) -> None:
        """Count models as learned, and report their number."""
        self._done += models
        if self._counter is not None:
            self._counter(self._done)
