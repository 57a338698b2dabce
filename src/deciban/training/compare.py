"""`compare`: cross-validation of learners on the same folds of a table, and learning curves on the same draws."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.engines.threads import limit_products_to_one_core
from deciban.errors import InputError, did_you_mean
from deciban.families.gaussian import Covariance
from deciban.ledger import Block, Schema
from deciban.metrics.comparison import CandidateScores, Comparison, compare_candidates
from deciban.metrics.comparison_advice import DEFAULT_LEARNER, DISCRIMINATIVE_PARTNER
from deciban.metrics.intervals import bounded_losses
from deciban.metrics.learning_curves import LearningCurves
from deciban.model.columns import Layout
from deciban.model.model_options import JOINT_COVARIANCES
from deciban.model.summarise_table import Progress, Rows
from deciban.training.evaluate import Split
from deciban.training.table_diagnostics import HELD_OUT_SHARE, MIN_CURVE_ROWS
from deciban.training.table_folds import FoldModel, count_rows, learn, score_out_of_fold
from deciban.training.task import (
    NUMBER_ROLES,
    PENALISED_LEARNERS,
    TABLE_PARAMETERS,
    Task,
    check_fold_settings,
    check_learner,
)
from deciban.training.train import Trained, train_task
from deciban.validation.splits import check_n_folds, is_integer_above_one

DEFAULT_DRAWS = 10
"""The default number of draws of rows for the learning curves."""

MAX_CURVE_ROWS = 5_120
"""The number of rows at which learning curves end: by then the differences of the learners have shown."""

MAX_HELD_OUT_ROWS = 10_000
"""The number of rows that are held out of a draw, at most."""

COVARIANCES: tuple[str, ...] = get_args(Covariance)
DISCRIMINATIVE_NAMES = {"logistic": DISCRIMINATIVE_PARTNER, "evidence": "evidence", "boosted": "boosted"}
"""The discriminative learners: their names in `train`, and on the screen."""

CANDIDATE_NAMES = ("bayes", *COVARIANCES, *DISCRIMINATIVE_NAMES)
"""The names of the candidates, in this order; "gaussian" stands for every covariance."""

MAX_PAIR_COMOMENTS = 1 << 22
"""The number of co-moments of all classes up to which joined numbers are tried."""


@document(TABLE_PARAMETERS)
def compare(
    source: Any = None,
    *,
    target: str | int,
    learners: Sequence[str] | str | None = None,
    folds: int = 10,
    groups: str | None = None,
    curve: bool = True,
    draws: int = DEFAULT_DRAWS,
    sizes: Sequence[int] | None = None,
    C: float | str = "auto",
    sql: str | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Comparison:
    """Compare learners on a table: naive Bayes, Gaussian Bayes, logistic, evidence regression and boosted.

    Every learner learns all folds but one and is evaluated on that one, the same folds for all; differences are
    paired, row by row. All rows are used, of more than 100 000 a sample of that size, in memory.

    Parameters
    ----------
    learners : sequence of str, str or None
        Some of 'bayes', 'gaussian' (numbers with each covariance; or one by its name, 'full', 'tied' …), 'logistic',
        'evidence' and 'boosted'; None: all of them.
    folds : int
        The number of folds.
    curve : bool
        Whether learning curves are measured: a fifth of the rows (at most 10 000) is held out, and more and more of
        the others are learned.
    draws : int
        How often rows are drawn for the learning curves.
    sizes : sequence of int or None
        The numbers of rows learned; None: 10, 20, 40 … up to 5 120.
    **settings
        Further arguments of `train`, except `learner`, `covariance` and `calibrate`.

    Returns
    -------
    Comparison
        The learners with their figures, and which to use.

    Examples
    --------
    >>> import deciban
    >>> points = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> found = deciban.compare(points, target="odd", learners=["bayes", "tied_diagonal"], curve=False)
    >>> found.names, found.best.name
    (['naive Bayes', 'Gaussian tied diagonal'], 'naive Bayes')
    """
    names, split = check_candidates(learners), Split(check_n_folds(folds), groups)
    check_learner("logistic", C)
    if curve and not is_integer_above_one(draws):
        raise InputError(f"draws must be a whole number of at least 2, not {draws!r}. Hint: curve=False draws none")
    wanted_sizes = None if sizes is None else _check_sizes(sizes)
    for name in ("learner", "covariance"):
        if settings.get(name) is not None:
            raise InputError(f"compare tries every learner: {name} cannot be given. Hint: learners=['bayes', 'tied']")
    options = check_fold_settings("compare", settings)
    task = split.plan(source, target=target, sql=sql, weights=weights, **options)
    task = replace(task, learner="bayes", C="auto")
    assignment = split.assign(task)
    trained = train_task(task, assignment.n_folds, progress, assignment)
    notes: list[str] = []
    candidates = list(make_candidates(trained, names, C, settings, notes))
    if not candidates:
        raise InputError(f"none of these learners has a column to learn from ({'; '.join(notes)})")
    comparison = LearnerComparison(trained, candidates, progress)
    drawn = Draws.of(comparison.rows, int(draws), wanted_sizes) if curve else None
    import scipy.optimize  # noqa: F401  it has a thread pool of its own, which can be limited once it is loaded

    # Thousands of small searches: products on two cores wait for each other longer than they compute.
    with limit_products_to_one_core(True):
        return comparison.run(assignment.n_folds, drawn, notes)


def _check_sizes(sizes: Any) -> list[int]:
    """Check that sizes (or one size) are whole numbers of 2 rows or more; return them in order, each once."""
    listed = sizes if isinstance(sizes, (list, tuple, range, np.ndarray)) else [sizes]
    for size in listed:
        if not is_integer_above_one(size):
            raise InputError(f"sizes are whole numbers of rows, 2 or more, not {size!r}")
    if not len(listed):
        raise InputError("sizes is empty. Hint: leave it out for the usual ones")
    return sorted({int(size) for size in listed})


class LearnerComparison:
    """A comparison of candidates that learn and are evaluated on the same rows."""

    def __init__(self, trained: Trained, candidates: "Sequence[Candidate]", progress: Progress | None) -> None:
        assert trained.sample is not None
        self.trained, self.candidates, self.progress = trained, candidates, progress
        self.rows, self.layout = trained.sample, trained.task.layout
        self.candidate_rows = [candidate.rearrange(self.layout, self.rows) for candidate in candidates]
        self.todo = self.done = 0

    def run(self, n_folds: int, draws: "Draws | None", notes: Sequence[str]) -> Comparison:
        """Compare all candidates in folds, then on draws."""
        self.todo = len(self.candidates) * (n_folds + (draws.n_draws * len(draws.sizes) if draws else 0))
        which = self.trained.describe_sample(len(self.rows.codes))
        measured = f"{n_folds}-fold: {which}, each scored by models without its fold, the same folds for all"
        scored, known = zip(*(self._score_candidate(i, n_folds) for i in range(len(self.candidates))))
        found = compare_candidates(
            self.trained.task.target, scored, self.rows.codes, self.rows.weight, known[0],
            self.trained.model.classes, measured,
        )  # fmt: skip
        growth = self._learning_curves(draws, found.names) if draws and draws.sizes else None
        more = [] if growth or not draws else ["there are too few rows for learning curves"]
        return replace(found, growth=growth, notes=(*notes, *found.notes, *more))

    def _score_candidate(self, i: int, n_folds: int) -> tuple[CandidateScores, NDArray[np.bool_]]:
        """Return the scores of all rows by candidate i, fold by fold, and the classes each row's model knows, n×K."""
        candidate, rows = self.candidates[i], self.candidate_rows[i]
        seconds, parameters = [], []

        def learn_folds() -> Iterator[FoldModel]:
            for f in range(n_folds):
                model, took = candidate.learn(rows[np.flatnonzero(rows.fold != f)])
                seconds.append(took)
                parameters.append(model.scorer.n_parameters)
                self._tick()
                yield model

        scored = score_out_of_fold(learn_folds(), rows, "log_posterior")
        costs = float(np.mean(seconds)), float(np.median(parameters))
        return CandidateScores(candidate.name, candidate.arguments, scored.scores, *costs), scored.known

    def _learning_curves(self, draws: "Draws", names: Sequence[str]) -> LearningCurves:
        """Return the learning curves of the learners of these names, from every draw and size."""
        chosen = [i for i, candidate in enumerate(self.candidates) if candidate.name in names]
        figures = np.zeros((2, len(chosen), draws.n_draws, len(draws.sizes)))
        for r, (held, order) in enumerate(draws):
            for s, size in enumerate(draws.sizes):
                for place, i in enumerate(chosen):
                    figures[:, place, r, s] = self._score_draw(i, np.sort(order[:size]), held)
                    self._tick()
        held_out = len(next(iter(draws))[0])
        return LearningCurves(tuple(names), tuple(draws.sizes), figures[0], figures[1], held_out)

    def _score_draw(self, i: int, learned: NDArray[np.intp], held: NDArray[np.intp]) -> tuple[float, float]:
        """Return accuracy and bounded log-loss of candidate i on held-out rows; the loss of learned classes only."""
        rows = self.candidate_rows[i]
        model, _ = self.candidates[i].learn(rows[learned])
        scores, truth = model.scores(rows[held], "log_posterior"), rows.codes[held]
        weight = np.ones(len(held)) if rows.weight is None else rows.weight[held]
        met = np.isin(truth, rows.codes[learned])
        hits = met & (scores.argmax(axis=1) == truth)
        losses: Array = bounded_losses(scores[met], truth[met])
        loss = np.average(losses, weights=weight[met]) if met.any() else np.nan
        return float(np.average(hits, weights=weight)), float(loss)

    def _tick(self) -> None:
        """Count one more model as done, and report progress as a number of rows."""
        self.done += 1
        if self.progress is not None:
            self.progress(int(self.trained.n_learned * self.done / max(self.todo, self.done)))


@dataclass(frozen=True)
class Draws:
    """Repeated random splits of rows: those held out, and the order in which the others are learned.

    Both are stratified by class, as far as possible, so that few rows are not of one class alone. `codes` are the
    classes of the rows, `sizes` the numbers of rows that are learned.
    """

    codes: NDArray[np.int32]
    n_draws: int
    n_held: int
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, rows: Rows, n_draws: int, wanted_sizes: Sequence[int] | None) -> "Draws":
        """Plan draws of these or `doubling_sizes`; refuse too large ones, omit those before a draw's second class."""
        n = len(rows.codes)
        n_held = min(round(HELD_OUT_SHARE * n), MAX_HELD_OUT_ROWS)
        if wanted_sizes is not None and wanted_sizes[-1] > n - n_held:
            raise InputError(
                f"sizes asks for {wanted_sizes[-1]} rows, and there are {n - n_held} to learn from (a fifth is held "
                f"out). Hint: smaller sizes"
            )
        draws = cls(rows.codes, n_draws, n_held, ())
        sizes = doubling_sizes(min(n - n_held, MAX_CURVE_ROWS)) if wanted_sizes is None else wanted_sizes
        classes = (rows.codes[order] for _, order in draws)
        until_two_classes = (int(np.argmax(codes != codes[0])) + 1 for codes in classes)
        fewest = max(until_two_classes, default=0) if n_held else n
        return replace(draws, sizes=tuple(size for size in sizes if size >= fewest))

    def __iter__(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows held out, and the others in the order in which they are learned."""
        for seed in range(self.n_draws):
            order = _interleave_classes(self.codes, np.random.default_rng(seed))
            yield np.sort(order[: self.n_held]), order[self.n_held :]


def doubling_sizes(n_rows: int) -> list[int]:
    """Return the sizes 10, 20, 40 … and all rows; the last but one is at most 1/1.4 of all.

    >>> doubling_sizes(100), doubling_sizes(88), doubling_sizes(9)
    ([10, 20, 40, 100], [10, 20, 40, 88], [])
    """
    smaller = [MIN_CURVE_ROWS << i for i in range(20) if (MIN_CURVE_ROWS << i) * 1.4 <= n_rows]
    return [*smaller, n_rows] if n_rows >= MIN_CURVE_ROWS else []


def _interleave_classes(codes: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a random order in which every range has about the class shares of all rows."""
    mixed = rng.permutation(len(codes))
    grouped = mixed[np.argsort(codes[mixed], kind="stable")]
    counts = np.bincount(codes)
    first = np.cumsum(counts) - counts
    each = codes[grouped]
    place = (np.arange(len(codes)) - first[each] + rng.random(len(counts))[each]) / counts[each]
    return grouped[np.argsort(place, kind="stable")]


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
        by_name = dict(zip((feature.name for feature in layout.features_by_block()), every))
        blocks = self.task.layout.blocks
        return replace(rows, columns=[[by_name[feature.name] for feature in group.features] for group in blocks])

    def learn(self, rows: Rows) -> tuple[FoldModel, float]:
        """Learn a model from these rows alone; also return the seconds, counting included."""
        start = time.perf_counter()
        learned = learn(self.task, count_rows(self.task, self.schema, rows), rows)
        learned.scorer.solved  # noqa: B018  solving is a part of learning
        return learned, time.perf_counter() - start


def check_candidates(learners: Any) -> list[str]:
    """Check learners; return their `CANDIDATE_NAMES`, in that order: each covariance for "gaussian", all for None."""
    if learners is None:
        return list(CANDIDATE_NAMES)
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
    trained: Trained, names: Sequence[str], C: float | str, settings: Mapping[str, Any], notes: list[str]
) -> Iterator[Candidate]:
    """Yield the candidates of these names that the table has columns for; append to `notes` why others are not."""
    base, schema = trained.task, trained.total.schema
    numbers = gaussian_columns(base, settings)
    shapes = _covariances(numbers, len(schema.classes), notes) if set(names) & set(COVARIANCES) else ()
    for name in names:
        if name == "bayes":
            yield Candidate(DEFAULT_LEARNER, {}, base, schema)
        elif name in DISCRIMINATIVE_NAMES:
            penalty = C if name in PENALISED_LEARNERS else "auto"
            arguments = {"learner": name, **({} if penalty == "auto" else {"C": penalty})}
            yield Candidate(DISCRIMINATIVE_NAMES[name], arguments, replace(base, learner=name, C=penalty), schema)
        elif name in shapes:
            yield _gaussian_candidate(base, schema, tuple(numbers or ()), name)


def gaussian_columns(task: Task, settings: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the columns that can be Gaussian, sorted.

    None where numbers may not be Gaussian: blocks, bins or another model were requested.
    """
    if settings.get("blocks") or settings.get("like") is not None or settings.get("numbers") == "binned":
        return None
    roles = settings.get("roles") or {}
    numbers = (column.name for column in task.columns if column.role in NUMBER_ROLES)
    return sorted(name for name in numbers if roles.get(name, "number") == "number")


def _covariances(numbers: Sequence[str] | None, n_classes: int, notes: list[str]) -> Sequence[str]:
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


def _gaussian_candidate(base: Task, schema: Schema, numbers: tuple[str, ...], shape: str) -> Candidate:
    """Return the candidate of Gaussian numbers with this covariance, joined if full or tied; other columns stay."""
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
