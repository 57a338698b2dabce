"""`compare`: cross-validation of learners on the same folds of a table, and learning curves on the same draws."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deciban.docstrings import document
from deciban.engines.threads import thread_count
from deciban.errors import InputError
from deciban.metrics.calibration_fit import check_method
from deciban.metrics.comparison import Comparison, compare_candidates
from deciban.metrics.comparison_advice import list_or_count
from deciban.model.summarise_table import Progress
from deciban.training.candidate_evaluation import CandidateEvaluation, CandidateRows, TimeBudget, start_evaluation
from deciban.training.candidates import DEPENDENT_NAMES, check_candidates, list_gaussian_columns, make_candidates
from deciban.training.evaluate import Split
from deciban.training.row_draws import RowDraws
from deciban.training.table_folds import calibrate_rows
from deciban.training.task import TABLE_PARAMETERS, check_fold_settings, check_learner
from deciban.training.train import Trained, train_task
from deciban.validation.splits import check_n_folds, is_integer_above_one

DEFAULT_DRAWS = 10
"""The default number of draws of rows for the learning curves."""

QUICK_NOTE = "a quick comparison: --full (full=True) adds trees, AODE, the other covariances, and learning curves"


@document(TABLE_PARAMETERS)
def compare(
    source: Any = None,
    *,
    target: str | int,
    learners: Sequence[str] | str | None = None,
    full: bool = False,
    folds: int = 10,
    groups: str | None = None,
    curve: bool | None = None,
    draws: int | None = None,
    sizes: Sequence[int] | None = None,
    seconds: float | None = None,
    n_jobs: int | None = None,
    C: float | str = "auto",
    calibrate: str | None = None,
    sql: str | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Comparison:
    """Compare learners on a table: naive Bayes, Gaussian Bayes, logistic, evidence regression and boosted.

    Every learner learns all folds but one and is evaluated on that one, the same folds for all; differences are
    paired, row by row. All rows are used, of more than 100 000 a sample of that size, in memory. Probabilities are
    calibrated as by `train`, those of a fold without its outcomes; in learning curves they are not calibrated.

    Parameters
    ----------
    learners : sequence of str, str or None
        Some of 'bayes', 'tan', 'aode', 'gaussian' (numbers with each covariance; or one by its name, 'full',
        'tied' …), 'logistic', 'evidence' and 'boosted'; None: naive Bayes, one Gaussian and the last three, or with
        `full` all of them.
    full : bool
        Whether all learners are compared, with every covariance, and learning curves are measured.
    folds : int
        The number of folds.
    curve : bool or None
        Whether learning curves are measured: a fifth of the rows (at most 10 000) is held out, and more and more of
        the others are learned. None: with `full`, or where `draws` or `sizes` are given.
    draws : int or None
        How often rows are drawn for the learning curves; None: 10 times.
    sizes : sequence of int or None
        The numbers of rows learned; None: 10, 20, 40 … up to 5 120.
    seconds : float or None
        Learners and draws that would take longer are left out, which `notes` say; the calibration is not counted.
    n_jobs : int or None
        The number of processes, which changes no figure but times; None: as many as there are cores.
    calibrate : 'auto', 'temperature', 'platt', 'isotonic', 'none' or None
        How the probabilities of each learner are corrected, see `train`; None: 'auto'.
    **settings
        Further arguments of `train`, except `learner` and `covariance`.

    Returns
    -------
    Comparison
        The learners with their figures, and which to use.

    Examples
    --------
    >>> import deciban
    >>> points = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> found = deciban.compare(points, target="odd", learners=["bayes", "tied_diagonal"])
    >>> found.names, found.best.name
    (['naive Bayes', 'Gaussian tied diagonal'], 'naive Bayes')
    """
    budget = TimeBudget.start(seconds)
    names, split = check_candidates(learners, full), Split(check_n_folds(folds), groups)
    check_learner("logistic", C)
    method = check_method(calibrate, "auto")
    curves, jobs = CurvePlan.of(full, curve, draws, sizes), thread_count(n_jobs)
    for name in ("learner", "covariance"):
        if settings.get(name) is not None:
            raise InputError(f"compare tries every learner: {name} cannot be given. Hint: learners=['bayes', 'tied']")
    options = check_fold_settings("compare", settings)
    structure = "tan" if names is not None and set(names) & set(DEPENDENT_NAMES) else "naive"
    task = split.plan(source, target=target, sql=sql, weights=weights, structure=structure, **options)
    task = replace(task, learner="bayes", C="auto")
    assignment = split.assign(task)
    trained = train_task(task, assignment.n_folds, progress, assignment)
    notes: list[str] = []
    numbers = list_gaussian_columns(trained.task, settings)
    candidates = list(make_candidates(trained.task, trained.total.schema, names, C, numbers, notes))
    if not candidates:
        why = f" ({'; '.join(notes)})" if notes else ""
        raise InputError(
            f"none of these learners has a column to learn from{why}. Hint: --learners bayes (learners=['bayes'])"
        )
    assert trained.sample is not None
    draws_of_rows = None if curves is None else RowDraws.of(trained.sample, *curves)
    rows = CandidateRows(trained.task.layout, trained.sample, candidates)
    with start_evaluation(rows, jobs, budget, progress) as evaluation:
        found = _compare_in_folds(trained, evaluation, assignment.n_folds, draws_of_rows, method)
        growth = evaluation.measure_curves(draws_of_rows, found.names) if draws_of_rows else None
    more = (*found.notes, *evaluation.notes, *([QUICK_NOTE] if names is None else []))
    return replace(found, growth=growth, notes=(*notes, *more))


def _compare_in_folds(
    trained: Trained, evaluation: CandidateEvaluation, n_folds: int, draws: RowDraws | None, method: str | None
) -> Comparison:
    """Compare candidates by the scores of all rows, of models and calibrations without each row's fold.

    The rows of `draws` are not scored here.
    """
    scored, known = evaluation.score_folds(n_folds, draws)
    rows = trained.sample
    assert rows is not None
    results = [calibrate_rows(method, each.log_posterior, rows, known, trained.task.options.prior) for each in scored]
    calibrated = [replace(each, log_posterior=result.log_posterior) for each, result in zip(scored, results)]
    which = trained.describe_sample(len(rows.codes))
    words = f"{n_folds}-fold: {which}, each scored by models without its fold, the same folds for all"
    is_calibrated = any(result.calibration is not None for result in results)
    words += f"; probabilities calibrated ({method}) without that fold" if is_calibrated else "; not calibrated"
    found = compare_candidates(
        trained.task.target, calibrated, rows.codes, rows.weight, known, trained.model.classes, words
    )
    guesses = [each.name for each, (by, *_) in zip(scored, results) if by is not None and by.is_constant]
    if not guesses:
        return found
    note = f"no better than guessing, so their probabilities are the class shares: {list_or_count(guesses)}"
    return replace(found, notes=(*found.notes, note))


class CurvePlan(NamedTuple):
    """The number of draws of the learning curves, and the sizes that are wanted; None: the usual ones."""

    n_draws: int
    sizes: list[int] | None

    @classmethod
    def of(cls, full: bool, curve: bool | None, draws: Any, sizes: Any) -> "CurvePlan | None":
        """Check the arguments of `compare`; return None where no curves are asked for."""
        wanted_sizes = None if sizes is None else _check_sizes(sizes)
        has_curves = (full or draws is not None or sizes is not None) if curve is None else curve
        if not has_curves:
            return None
        n_draws = DEFAULT_DRAWS if draws is None else draws
        if not is_integer_above_one(n_draws):
            raise InputError(
                f"draws must be a whole number of at least 2, not {draws!r}. Hint: curve=False draws none"
            )
        return cls(int(n_draws), wanted_sizes)


def _check_sizes(sizes: Any) -> list[int]:
    """Check that sizes (or one size) are whole numbers of 2 rows or more; return them in order, each once."""
    listed = sizes if isinstance(sizes, (list, tuple, range, np.ndarray)) else [sizes]
    for size in listed:
        if not is_integer_above_one(size):
            raise InputError(f"sizes are whole numbers of rows, 2 or more, not {size!r}")
    if not len(listed):
        raise InputError("sizes is empty. Hint: leave it out for the usual ones")
    return sorted({int(size) for size in listed})
