"""`train`: one pass over a table, the decision on roles, the model, its calibration and its held-out report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from deciban import engines
from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError, list_names, warn_caller
from deciban.formatting import format_count
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.metrics.calibration_fit import check_method
from deciban.metrics.report import Report
from deciban.model.columns import Column, Layout
from deciban.model.model import Model
from deciban.model.model_options import MAX_DISTINCT_LEVELS, parse_class_prior
from deciban.model.summarise_table import FoldAssigner, Progress, Rows
from deciban.scores.calibration import Calibration
from deciban.scores.posterior import Novelty, density_per_cell
from deciban.sources.distributed import distributed_base
from deciban.sources.document_files import EVALUATION_FOLDS
from deciban.sources.source import READING_PARAMETERS
from deciban.training import database_rows, table_folds
from deciban.training.column_roles import (
    check_any_used,
    decide,
    decide_date_parts,
    find_negative_columns,
    rule_out_counts,
)
from deciban.training.structure import is_better, refuse_independence
from deciban.training.table_folds import TableFoldScores
from deciban.training.table_pass import TablePass, make_matrices, read_table
from deciban.training.table_rows import read_labelled_rows, to_effective_rows
from deciban.training.task import TABLE_PARAMETERS, Task, plan

MAX_MEAN_COUNT = 50
"""The mean of weights beyond which a warning asks whether they are survey weights."""

MAX_NAMED_SPELLINGS = 3
"""Number of pairs of classes, alike but for case, that a warning names."""


@document(TABLE_PARAMETERS, READING_PARAMETERS)
def train(
    source: Any = None,
    *,
    target: str | int,
    roles: Mapping[str, str] | None = None,
    blocks: Sequence[Sequence[str]] | str | None = None,
    like: Model | None = None,
    numbers: str | None = None,
    weights: str | None = None,
    survey_weights: str | None = None,
    classes: Sequence[str] | None = None,
    prior: Any = None,
    sql: str | None = None,
    spark: Any = None,
    learner: str | None = None,
    C: float | str = "auto",
    structure: str = "auto",
    seconds: float | None = None,
    judge: bool = True,
    calibrate: str | None = None,
    progress: Progress | None = None,
    alpha: float | str = "auto",
    parameter_prior: float = 1.0,
    covariance: str | None = None,
    unseen: str = "ignore",
    most_levels: int = MAX_DISTINCT_LEVELS,
    words: Any = None,
    format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    missing: Sequence[str] | str = (),
    keep_markers: bool = False,
    hive: bool = False,
    table: str | None = None,
    where: str | None = None,
    header: bool | None = None,
    names: Sequence[str] = (),
    quote: str = '"',
    decimal: str | None = None,
    dates: str | None = None,
    bad_cells: str = "error",
) -> Model:
    """Learn to predict a table's `target` from its other columns.

    Naive Bayes learns any number of rows in one pass; a discriminative learner keeps the rows themselves in memory,
    of very many a sample. A DataFrame of Spark is summarised by its executors.

    Parameters
    ----------
    blocks : sequence of sequences of str, 'numbers' or None
        Columns to join, [['height', 'weight'], …], that are not independent given the class: numbers as a Gaussian
        with all covariances, flags and categories as one category of their combinations. 'numbers': all numbers.
        With `structure='blocks'` pairs of columns are chosen from the data instead.
    like : Model or None
        A model whose options are taken, so that the two can be added.
    numbers : 'number', 'binned', 'auto' or None
        The role of all numbers: Gaussian, in bins, or whichever predicts the class better.
    classes : sequence of str or None
        All classes, where some may have no row yet.
    prior : mapping, sequence, 'empirical', 'smoothed', 'uniform' or None
        The class prior: a share for each class, or its name; None: the shares of the rows.
    learner : 'bayes', 'aode', 'logistic', 'evidence', 'boosted', 'auto' or None
        Naive Bayes; averaged one-dependence estimators, each column given each other; logistic regression; evidence
        regression, which learns a weight of the evidence of each column; or boosted naive Bayes. 'auto': whichever
        of these, of a tree and of a tied Gaussian predicts held-out rows best, in inner folds. None: that of `like`,
        else naive Bayes.
    structure : 'auto', 'naive', 'blocks' or 'tan'
        Whether columns are independent given the class ('naive'), joined in pairs ('blocks'), or each may depend on
        one other, in a forest ('tan'); the rows determine pairs and forest (`Model.structure`). 'auto': the
        forest, if it predicts held-out rows better; with `judge` only.
    seconds : float or None
        With 'auto', the time that the choice may take; learners that would take longer are left out.
    judge : bool
        Whether the model is evaluated on rows that were not learned (`Model.held_out`).
    calibrate : 'auto', 'temperature', 'platt', 'isotonic', 'none' or None
        How probabilities are corrected by the outcomes of held-out rows (`Model.calibration`); 'auto': by a
        temperature, unless the class shares or another map are better. None: 'auto' with `judge`, else 'none'.
    alpha : float or 'auto'
        The pseudo-count added to every count of a level, bin, rate and word. 'auto': 1 for rates and words; the
        shares of levels and bins are shrunk to those of all classes together, as far as their counts are alike.
    parameter_prior : float
        The number of pseudo-observations with the pooled variance that each class of a Gaussian gets.
    covariance : str or None
        The shape of Gaussians: 'full', 'tied' or 'mixed' for joined numbers, another of `GaussianBayes` for the
        others. 'mixed': between the two, and shrunk, by leave-one-out (`Model.options.mixing` and `.shrinkage`).
    unseen : 'ignore', 'smooth' or 'error'
        How a level that was never learned is treated: no evidence, one more pseudo-count, or an error.
    most_levels : int
        How many levels of a category are distinguished; the rarer ones are counted as one.
    words : Words, mapping, 'classic', 'modern' or None
        How texts are split into words: `Words`, its arguments in a mapping, or the name of its settings.

    Returns
    -------
    Model
        The model, with a report on rows that were not learned.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sour": ["no", "yes", "no", "yes"] * 9, "again": ["no", "yes", "no", "yes"] * 9}
    >>> taste["fruit"] = ["plum", "lemon", "plum", "lemon"] * 8 + ["plum"] * 4
    >>> model = deciban.train(taste, target="fruit", learner="evidence", C=1.0, judge=False)
    >>> {column: round(weight, 2) for column, weight in model.account.trust.items()}
    {'sour': 0.68, 'again': 0.68}
    """
    given = {name: value for name, value in locals().items() if name not in ("judge", "calibrate", "progress")}
    method = check_method(calibrate, "auto" if judge else None)
    refuse_independence(learner, structure)
    choice = None
    if learner == "auto":
        choice = _choose_learner(plan(**given), progress)
        given |= {"learner": None, "C": "auto", "seconds": None, **choice.arguments}
        structure = given["structure"]
        method = "shares" if choice.is_constant and calibrate in (None, "auto") else method
    has_pairs = like is not None and bool(like._layout.cells)
    task = plan(**{**given, "structure": structure if judge or structure != "auto" or has_pairs else "naive"})
    trained = train_task(task, EVALUATION_FOLDS if judge or method else 1, progress)
    _add_held_out_results(trained, method, judge)
    model = trained.model
    if choice is not None and model.held_out is not None:
        model.held_out = replace(model.held_out, measured=f"{model.held_out.measured}; {choice}")
    return model


def _choose_learner(task: Task, progress: Progress | None) -> Any:
    """Read the rows of a table, or a sample of them, and choose the learner that predicts them best."""
    from deciban.training.learner_choice import choose_learner

    task, read = _complete_task(task, read_table(task, 1, progress))
    if read.sample is None:
        raise InputError(f"{task.source.name} has no rows to choose a learner by")
    return choose_learner(task, read.total.schema, read.sample)[0]


@dataclass(frozen=True)
class Trained:
    """A model with the ledgers of all rows and of the folds, undecided columns included, and a sample of the rows."""

    task: Task
    model: Model
    total: Ledger
    folds: Sequence[Ledger]
    sample: Rows | None
    n_learned: int
    decided: Mapping[str, Column]
    """Undecided columns whose role no fold could change, if every fold is like the others."""
    rest: Ledger | None = None
    """The ledger of the rows that are in no fold, where folds divide a sample; None where they divide all rows."""

    @cached_property
    def sample_scores(self) -> TableFoldScores | None:
        """ln p(x, k) of each row of the sample by the model without its fold; None where no folds were kept."""
        if self.sample is None or len(self.folds) < 2:
            return None
        models = table_folds.learn_excluding_each(self.task, self.folds, self.sample, self.decided, self.rest)
        return self.score_sample(models)

    def score_sample(self, models: Iterable[table_folds.FoldModel | None]) -> TableFoldScores:
        """Return ln p(x, k) of each row of the sample by the model without its fold, of these models."""
        assert self.sample is not None
        model, n = self.model, len(self.sample.codes)
        with engines.part_of_work(n * len(model._labels) * len(model._layout.features_by_block())):
            return table_folds.score_out_of_fold(models, self.sample, "joint", count_cells=True)

    def read_rows(self, progress: Progress | None = None) -> Iterator[tuple[list[Any], Rows]]:
        """Read the table again; yield its batches, each with its rows that have a class."""
        task, matrices = self.task, make_matrices(self.task, self.total)
        labels = [str(label) for label in self.total.schema.classes]
        for batches, rows in read_labelled_rows(task.source, task.target, labels, task.weights, matrices, progress):
            yield batches, to_effective_rows(rows, self.total)

    def check_folds(self, n: int, noun: str = "folds", hint: str = "") -> None:
        """Raise an error if the ledgers of the folds were too large to be kept."""
        if len(self.folds) < n:
            raise InputError(
                f"the ledgers of so many {noun}, classes and levels would take too much memory. "
                f"Hint: fewer {noun}{hint}"
            )

    def describe_sample(self, n: int) -> str:
        """Describe n scored rows as all of the rows learned, or as a sample of them."""
        learned = format_count(self.n_learned, "row")
        return f"all {learned}" if n >= self.n_learned else f"{format_count(n)} of {learned}, drawn at random"

    def report(self, log_posterior: Array, calibrated: str) -> Report:
        """Return the report on the sample with these ln p(k|x); `calibrated` ends its sentence (`describe_map`)."""
        scored = self.sample_scores
        assert scored is not None
        which = self.describe_sample(len(scored.rows.codes))
        words = f"{len(self.folds)}-fold: {which}, each scored by the model without its fold{calibrated}"
        base = distributed_base(self.task.source)
        words += f"; {base.advice}" if base is not None and base.advice else ""
        words += database_rows.describe_limits(self.task)
        return scored.scorecard(log_posterior).report(self.model.classes, words)


def train_task(task: Task, n_folds: int, progress: Progress | None, assign: FoldAssigner | None = None) -> Trained:
    """Train a model in one pass over the rows, with the ledgers of folds; the folds are stratified by default.

    The rows of a database are summarised by itself, unless `assign` needs each of them.
    """
    if assign is None and database_rows.can_push_down(task):
        return _train_in_database(task, n_folds, progress)
    task, read = _complete_task(task, read_table(task, n_folds, progress, assign))
    return _learn(task, read, decides=assign is None)


def _train_in_database(task: Task, n_folds: int, progress: Progress | None) -> Trained:
    """Train a model from the ledger that a database computes; the folds divide a sample of its rows."""
    with database_rows.open_snapshot(task):
        task, summariser = database_rows.summarise(task, progress)
        origin = replace(summariser.origin(), learned=None)  # no row was seen to be hashed
        read = TablePass(summariser.total_and_folds[0], [], None, summariser.n_learned, origin)
        task, read = _complete_task(task, read)
        drawn = database_rows.SampledFolds(None, [], None)
        if n_folds > 1 or task.uses_rows:
            drawn = database_rows.draw_folds(task, read.total, read.n_learned, max(n_folds, 2))
            drawn = drawn if n_folds > 1 else database_rows.SampledFolds(drawn.rows, [], None)
    return replace(_learn(task, replace(read, folds=drawn.folds, sample=drawn.rows)), rest=drawn.rest)


def _complete_task(task: Task, read: TablePass) -> tuple[Task, TablePass]:
    """Return the task with its class prior, and both without what all rows rule out.

    These are the counts of columns with a negative value, and parts of dates (`decide_date_parts`). A table of one
    class is an InputError.
    """
    classes, n = read.total.schema.classes, read.n_learned
    if len(classes) < 2:
        where = "its only row" if n == 1 else f"all {format_count(n, 'row')}"
        raise InputError(
            f"column {task.target!r} has one class only, {str(classes[0])!r}, in {where}; a classifier needs two. "
            f"Hint: another target, or name those that are to come, --classes a,b (classes=['a', 'b'])"
        )
    prior = task.options.prior if task.prior is None else parse_class_prior(task.prior, classes)
    task = replace(task, options=replace(task.options, prior=prior))
    extremes = read.origin.extremes
    columns = decide_date_parts(task.layout, read.total, {} if extremes is None else extremes.ranges())
    columns = rule_out_counts(columns, find_negative_columns(task.layout, read.total))
    check_any_used(columns)
    if extremes is not None:
        read = replace(read, origin=replace(read.origin, extremes=extremes.reorder(task.layout.number_names)))
    names = {(kind, feature.name) for kind, features in Layout(tuple(columns)).blocks for feature in features}
    kept = [
        [j for j, f in enumerate(features) if (kind, f.name) in names] if kind in ("counts", "levels") else None
        for kind, features in task.layout.blocks
    ]
    task, n_before = replace(task, columns=columns), len(task.layout.features_by_block())
    if len(task.layout.features_by_block()) == n_before:
        return task, read
    sample = None if read.sample is None else table_folds.select_columns(read.sample, kept)
    folds = [fold.choose(kept) for fold in read.folds]
    return task, replace(read, total=read.total.choose(kept), folds=folds, sample=sample)


def _learn(task: Task, read: TablePass, decides: bool = True) -> Trained:
    """Decide the open roles, and learn the model of a ledger; `decides`: for the folds too, where that is certain."""
    columns, _, certain = decide(task.layout, read.total, task.options)
    _ask_about_weights(task, read)
    _warn_of_spellings(task.target, list(map(str, read.total.schema.classes)))
    made = replace(read.origin, created=datetime.now(UTC).isoformat(timespec="seconds"), source=task.source.name)

    def learn(structure: str) -> Trained:
        own = replace(task, structure=structure)
        # of learners that each fold chooses by itself the model of all rows is not used
        first = replace(own, learner="bayes", structure="naive") if task.learner == "auto" else own
        learned = table_folds.learn(first, read.total, read.sample, {column.name: column for column in columns})
        model = Model(
            task.target, learned.columns, learned.options or task.options, scorer=learned.scorer,
            target_type=task.target_type, weights=task.weights, origin=made,
        )  # fmt: skip
        model._scorer.solved  # noqa: B018  a model that cannot be solved is an error here
        decided = certain if decides else {}
        return Trained(own, model, read.total, read.folds, read.sample, read.n_learned, decided)

    if task.structure != "auto":
        return learn(task.structure)
    naive = learn("naive")
    if task.layout.block_index("pairs") is None or naive.sample_scores is None:
        return naive
    forest = learn("tan")
    if not forest.model.structure or forest.sample_scores is None:
        return naive
    return forest if is_better(forest.sample_scores, naive.sample_scores) else naive


def _ask_about_weights(task: Task, read: TablePass) -> None:
    """Warn of weights that are probably no counts of rows: all alike, large, or fractions."""
    weight, n = read.total.n_rows, read.n_learned
    are_alike = weight > n and weight % n == 0  # or have such a mean by chance, of one table in n
    are_fractions = weight < n or (read.total.rows % 1).any()
    if task.options.survey_weights or not (are_alike or are_fractions or weight > MAX_MEAN_COUNT * n):
        return
    warn_caller(
        f"weights are counts of rows here: {format_count(n, 'row')} of {task.weights!r} count as "
        f"{format_count(weight, 'row')}. Survey weights? --survey-weights {task.weights} "
        f"(survey_weights={task.weights!r})"
    )


def _warn_of_spellings(target: str, classes: Sequence[str]) -> None:
    """Warn of classes that differ in case only, which are learned as different ones."""
    spellings: dict[str, list[str]] = {}
    for label in classes:
        spellings.setdefault(label.casefold(), []).append(label)
    found = [" and ".join(map(repr, same)) for same in spellings.values() if len(same) > 1]
    if found:
        shown = list_names(found, MAX_NAMED_SPELLINGS)
        warn_caller(f"classes of {target!r} that differ in case only are learned as different ones: {shown}")


def _add_held_out_results(trained: Trained, method: str | None, judge: bool) -> None:
    """Add to the model its calibration, novelty and held-out report, from the sample scored without each row's fold.

    The novelty is the distribution of ln p(x) per cell or word that the row's model knows. The report is that of the
    model as it will be used: with a calibration, of rows calibrated by maps fitted without their folds as well.
    """
    scored, model = trained.sample_scores, trained.model
    if scored is None:
        if method is not None and method != "auto":
            warn_caller(
                "the model is not calibrated: so many classes and levels are too much for the ledgers of ten folds. "
                "Hint: fewer classes, or a smaller most_levels"
            )
        return
    calibration, log_posterior, _ = scored.calibrate(method, model.options.prior, model._scorer.solved.log_prior)
    is_probabilistic = isinstance(model._scorer, GenerativeModel) and model._scorer.assumption.probabilistic
    novelty = None
    if is_probabilistic and scored.cells is not None and (scored.cells > 0).any():  # else no row has a word in common
        novelty = Novelty.of(density_per_cell(scored.finish("density"), scored.cells), scored.rows.weight)
    model._scorer = model._scorer.with_maps(calibration=calibration, novelty=novelty)
    if judge:
        model.held_out = trained.report(log_posterior, describe_map(calibration))


def describe_map(calibration: Calibration | None) -> str:
    """Return the end of the sentence of a report on rows that were calibrated by a map without their folds."""
    return "" if calibration is None else f", calibrated ({calibration.method}) without it too"
