"""`choose`: cross-validation of many settings from the same ledgers of folds, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.metrics.choice import Choice, SettingComparison
from deciban.model.summarise_table import Progress
from deciban.training.evaluate import Split
from deciban.training.setting_search import (
    CovarianceSearch,
    HeldOutFold,
    ScoredSettings,
    SettingGrid,
    score_text_events,
)
from deciban.training.table_folds import rescale_texts
from deciban.training.task import check_fold_settings, plan
from deciban.training.train import Trained, train_task
from deciban.validation.fold_models import ledgers_excluding_each
from deciban.validation.splits import check_n_folds

VARIED_SETTINGS = ("alpha", "numbers", "parameter_prior", "prior", "words")
"""The settings that are varied, unless they are given."""


def choose(
    source: Any = None,
    *,
    target: str,
    folds: int = 10,
    groups: str | None = None,
    sql: str | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Choice:
    """Choose the best settings of `train` for a table, by the rows that each fold's model has not learned.

    The search varies pseudo-counts (`alpha`), numbers as Gaussians, in bins or by the better of both (`numbers`),
    prior rows of Gaussians (`parameter_prior`), class priors, of texts counts or presence; for a table of numbers
    only also every covariance of `GaussianBayes`, for one text also the events and idf of `TextClassifier`. Given
    `settings` (those of `train`) are not varied. Nothing is counted again: the ledgers of the folds, from one reading
    (for covariances two), are solved for each setting; `groups` as in `evaluate`. All rows are scored, of more than
    100 000 a sample of that size.

    >>> import deciban
    >>> taste = {"sour": ["no", "yes"] * 20, "fruit": ["plum", "lemon"] * 20}
    >>> choice = deciban.choose(taste, target="fruit", prior="uniform")
    >>> choice.best, choice.estimator, len(choice.results)
    ({'alpha': 'auto'}, 'train', 6)
    """
    if settings.get("learner", "bayes") != "bayes":
        raise InputError(
            f"choose tries the settings of naive Bayes, not of learner={settings['learner']!r}. "
            f"Hint: deciban compare (deciban.compare) tries learners, and chooses their penalties"
        )
    split = Split(check_n_folds(folds), groups)
    unlearned = split.unlearned_columns(settings.get("roles"))
    task = plan(
        source,
        target=target,
        sql=sql,
        weights=weights,
        unlearned=unlearned,
        **check_fold_settings("choose", settings),
    )
    split.check(task)
    assignment = split.assign(task)
    trained = train_task(task, assignment.n_folds, progress, assignment)
    trained.check_folds(assignment.n_folds)
    free = {name for name in VARIED_SETTINGS if settings.get(name) is None}
    if settings.get("like") is not None:
        free &= {"prior"}
    grid = SettingGrid.of(task, trained.model.options, free)
    searches: list[Callable[[HeldOutFold], ScoredSettings]] = [grid.score]
    notes: list[str] = []
    if "numbers" in free and "parameter_prior" in free:
        covariances = CovarianceSearch.of(trained, split.assign(task), progress, notes)
        searches += [covariances.score] if covariances else []
    if "alpha" in free and "words" in free and [c.role for c in task.columns if c.role != "skip"] == ["text"]:
        searches.append(lambda held: score_text_events(held, trained.model.options))
    return _compare_settings(trained, searches, notes)


def _compare_settings(
    trained: Trained, searches: Sequence[Callable[[HeldOutFold], ScoredSettings]], notes: Sequence[str]
) -> Choice:
    sample = trained.sample
    assert sample is not None
    assert sample.fold is not None
    words = trained.model.options.words
    comparison = SettingComparison(trained.model.classes)
    for f, rest in enumerate(ledgers_excluding_each(trained.folds)):
        rows = sample[np.flatnonzero(sample.fold == f)]
        if len(rows.codes):
            held = HeldOutFold(f, rest, rescale_texts(rows, rest, words))
            scored = (setting for search in searches for setting in search(held))
            comparison.add_fold(scored, rows.codes, rows.weight, held.rest.rows > 0)
    which = trained.describe_sample(len(sample.codes))
    return comparison.choice(f"{len(trained.folds)}-fold: {which}, each scored by models without its fold", notes)
