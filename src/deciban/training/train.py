"""`train`: one pass over a table, the numbers solve_ledger, the model, and how good it is on rows it had not learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Ledger
from deciban.metrics.calibration_fit import check_method
from deciban.metrics.report import Report
from deciban.model.columns import Column
from deciban.model.model import Model
from deciban.model.model_algebra import Origin
from deciban.model.model_options import MAX_DISTINCT_LEVELS, parse_class_prior
from deciban.model.summarise_table import FoldAssigner, Progress, Rows, TableSummariser
from deciban.scorer import vocabularies
from deciban.sources.document_folders import FOLDS
from deciban.text import matrix
from deciban.training.calibrate_model import settle
from deciban.training.learners import learn_excluding_each, make_learner
from deciban.training.number_roles import decide
from deciban.training.reservoir import LEARNED, Reservoir
from deciban.training.table_folds import FoldModel, TableFoldScores, score_out_of_fold
from deciban.training.task import Task, plan
from deciban.validation.splits import FoldAssignment


def train(
    source: Any = None,
    *,
    target: str,
    roles: Mapping[str, str] | None = None,
    blocks: Sequence[Sequence[str]] | str | None = None,
    like: Model | None = None,
    numbers: str | None = None,
    weights: str | None = None,
    classes: Sequence[str] | None = None,
    prior: Any = None,
    sql: str | None = None,
    learner: str | None = None,
    C: float | str = "auto",
    judge: bool = True,
    calibrate: str | None = None,
    progress: Progress | None = None,
    alpha: float | str = 1.0,
    parameter_prior: float = 1.0,
    covariance: str | None = None,
    unseen: str = "ignore",
    most_levels: int = MAX_DISTINCT_LEVELS,
    words: Any = None,
    format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    missing: Sequence[str] | str = (),
    hive: bool = False,
) -> Model:
    """Learn to tell a table's `target` from its other columns.

    The source is a path or glob (CSV, TSV, JSON lines, Parquet, Arrow), a DuckDB relation, a query (`sql`), a frame
    that speaks Arrow (pandas, polars, pyarrow, …), or a mapping of names to arrays. Roles are inferred from the first
    rows; `roles` overrides them, `numbers` says how all numbers are taken ("number", "binned" or "auto"); `blocks`
    joins columns that are not independent given the class, `[["height", "weight"], …]`: numbers under one bell with
    all covariances, flags and categories as one category of their combinations; `blocks="numbers"` joins all numbers.
    `covariance` is the shape of bells, "full" or "tied" for numbers that are joined, one of the others of
    `GaussianBayes` for those that are not. `like` takes everything from another model, so that the two can be added.
    `words` says how texts are read, by `deciban.Words` or a mapping of its arguments. `alpha` is added to every count
    of a level, bin, rate and word; "auto" adds as much as what was counted asks for (`Model.pseudo_counts`).
    `calibrate` mends the probabilities by what came true of them in rows held out: "temperature", "platt",
    "isotonic", or "auto", the simplest that is as good as any (`Model.calibration`). The model's `held_out` says how
    good it is.

    `learner` is naive Bayes, "bayes", or one of its partners, who look at the rows themselves in memory (of very many
    a sample): "logistic" regression, "evidence" regression, which learns how far to trust each column, or "boosted"
    naive Bayes; unless given, that of `like`. `C` is one over the weight of the penalty of the first two, "auto" by
    cross-validation (`Model.account`).

    `format`, `encoding`, `errors` and `missing` say how a file is read. With `hive` its folders that are named
    KEY=VALUE give it columns; otherwise the names of files and folders change nothing.

    >>> import deciban
    >>> taste = {"sour": ["no", "yes", "no", "yes"] * 9, "again": ["no", "yes", "no", "yes"] * 9}
    >>> taste["fruit"] = ["plum", "lemon", "plum", "lemon"] * 8 + ["plum"] * 4
    >>> model = deciban.train(taste, target="fruit", learner="evidence", C=1.0, judge=False)
    >>> {column: round(trust, 2) for column, trust in model.account.trust.items()}
    {'sour': 0.56, 'again': 0.56}
    """
    method = check_method(calibrate)
    task = plan(
        source, target=target, roles=roles, blocks=blocks, like=like, numbers=numbers, weights=weights,
        classes=classes, prior=prior, sql=sql, learner=learner, C=C, alpha=alpha, parameter_prior=parameter_prior,
        covariance=covariance, unseen=unseen, most_levels=most_levels, words=words, format=format,
        encoding=encoding, errors=errors, missing=missing, hive=hive,
    )  # fmt: skip
    trained = learned(task, FOLDS if judge or method else 1, progress)
    settle(trained, method, judge)
    return trained.model


@dataclass(frozen=True)
class Trained:
    """A model, and what it was made of: the ledgers of all rows and of the folds, open columns and all; a sample."""

    task: Task
    model: Model
    total: Ledger
    folds: Sequence[Ledger]
    sample: Rows | None
    n_learned: int
    decided: Mapping[str, Column]
    """Open columns that no fold could turn the scale of, if every fold is like the others."""

    def learn_excluding_each(self) -> Iterator[FoldModel]:
        """What would have been learned without each fold, one after the other."""
        return learn_excluding_each(self.task, self.model.options, self.folds, self.sample, self.decided)

    @cached_property
    def sample_scores(self) -> TableFoldScores | None:
        """ln p(x, k) of each row of the sample by the model without its fold; None where no folds were kept."""
        if self.sample is None or len(self.folds) < 2:
            return None
        model, n = self.model, len(self.sample.codes)
        with engines.part_of_work(n * len(model.labels) * len(model.layout.all_features())):
            return score_out_of_fold(self.learn_excluding_each(), self.sample, "joint", count_cells=True)

    def check_folds(self, n: int, noun: str = "folds", hint: str = "") -> None:
        """Refuse to go on where the ledgers of so many folds were given up."""
        if len(self.folds) < n:
            raise InputError(
                f"the ledgers of so many {noun}, classes and levels would take too much memory. "
                f"Hint: fewer {noun}{hint}"
            )

    def which_rows(self, n: int) -> str:
        """Which of the rows learned were judged, if they were so many."""
        return f"all {n} rows" if n >= self.n_learned else f"{n} of {self.n_learned} rows, drawn at random"

    def report(self, log_posterior: Array, calibrated: str = "", dealt: str = "") -> Report:
        """The rows of the sample judged by these posteriors; the words say what else was done to them, and how."""
        scored = self.sample_scores
        assert scored is not None
        which = self.which_rows(len(scored.rows.codes))
        words = f"{len(self.folds)}-fold{dealt}: {which}, each judged by the model without its fold{calibrated}"
        return scored.scorecard(log_posterior).report(self.model.classes, words)


def learned(task: Task, n_folds: int, progress: Progress | None, deal: FoldAssigner | None = None) -> Trained:
    """One pass over the rows, then everything that was open is solve_ledger; every fold has its share of each class."""
    learner = make_learner(task)
    gathering = task.summariser(n_folds, deal or (FoldAssignment(n_folds) if n_folds > 1 else None))
    times = LEARNED if learner.needs_rows else 1
    sample = Reservoir(len(task.layout.all_features()), task.source.n_rows, times)
    for rows in gathering.read(task.source, progress):
        if n_folds > 1 or learner.needs_rows:
            sample.offer(rows)
    total, folds = gathering.total_and_folds
    _check_classes(total, task.target, gathering)
    columns, _, decided = decide(task.layout, total, task.options)
    wished = task.options.prior if task.prior is None else parse_class_prior(task.prior, total.schema.classes)
    options = replace(task.options, prior=wished)
    drawn = by_names(gathering, total, sample.rows(len(total.schema.classes)))
    known = learner.learn(task, options, total, drawn, {column.name: column for column in columns})
    model = Model(
        task.target, columns, options, scorer=known.scorer,
        target_type=task.target_type, weights=task.weights, origin=_origin(task, gathering),
    )  # fmt: skip
    model.scorer.solved  # noqa: B018  what cannot be solved is refused here
    return Trained(task, model, total, folds, drawn, gathering.n_learned, decided if deal is None else {})


def _origin(task: Task, gathering: TableSummariser) -> Origin:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Origin(gathering.n_read, gathering.n_without_class, now, task.source.name)


def _check_classes(total: Ledger, target: str, gathering: TableSummariser) -> None:
    seen = [str(label) for label, weight in zip(total.schema.classes, total.rows) if weight > 0]
    if len(total.schema.classes) < 2:
        raise InputError(
            f"column {target!r} has one class only, {seen[0]!r}, in all {gathering.n_learned} rows; telling "
            f"classes apart takes two. "
            f"Hint: another target, or name those that are to come, --classes a,b (classes=['a', 'b'])"
        )


def by_names(gathering: TableSummariser, total: Ledger, sample: Rows | None) -> Rows | None:
    """The sample by the order of names that the ledgers have; its texts by their words."""
    if sample is None:
        return None
    place = {label: k for k, label in enumerate(total.schema.classes)}
    codes = np.array([place.get(label, -1) for label in gathering.classes.list], dtype=np.int32)[sample.codes]
    columns = list(sample.columns)
    levels = gathering.layout.block_index("levels")
    if levels is not None:
        columns[levels] = [np.append(where, -1)[v] for where, v in zip(gathering.level_ranks(), columns[levels])]
    known = vocabularies(total.schema)
    for i, words in enumerate(known, len(columns) - len(known)):
        columns[i] = [matrix(gathering.words, words, columns[i][0], engines.thread_count(gathering.n_jobs))]
    return replace(sample, columns=columns, codes=codes)
