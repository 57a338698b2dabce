"""`choose`: the same ledgers of all folds under many settings, and which of them is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.metrics.choice import Choice, SettingComparison
from deciban.model.summarise_table import Progress
from deciban.training.covariance_candidates import Shapes
from deciban.training.evaluate import Split
from deciban.training.rescoring import Held, Ways
from deciban.training.settings_grid import Grid
from deciban.training.table_folds import rescale_texts
from deciban.training.task import check_fold_settings, plan
from deciban.training.text_candidates import wordings
from deciban.training.train import Trained, train_task
from deciban.validation.fold_models import ledgers_excluding_each
from deciban.validation.splits import check_n_folds

VARIED = ("alpha", "numbers", "parameter_prior", "prior", "words")
"""Settings that are tried, unless they are told."""


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
    """Which settings of `train` are best for a table, by the rows that each fold's model has not learned.

    Tried are pseudo-counts (`alpha`), numbers as bells, in bins or as it comes (`numbers`), imagined rows of bells
    (`parameter_prior`), class priors, of texts counts or presence; for a table of nothing but numbers also every
    shape of `GaussianBayes`, for one text also the events and idf of `TextClassifier`. What is told (`settings` are
    those of `train`) is not varied. Nothing is fitted again: the ledgers of the folds, from one reading (for shapes
    two), are solved anew; `groups` as in `evaluate`. Judged are all rows, of more than 100 000 a sample of so many.

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
    aside = split.aside(settings.get("roles"))
    task = plan(
        source, target=target, sql=sql, weights=weights, aside=aside, **check_fold_settings("choose", settings)
    )
    split.check(task)
    assignment = split.assign(task)
    trained = train_task(task, assignment.n_folds, progress, assignment)
    trained.check_folds(assignment.n_folds)
    free = {name for name in VARIED if settings.get(name) is None}
    if settings.get("like") is not None:
        free &= {"prior"}
    grid = Grid.of(task, trained.model.options, free)
    kinds: list[Callable[[Held], Ways]] = [grid.ways]
    notes: list[str] = []
    if "numbers" in free and "parameter_prior" in free:
        shapes = Shapes.of(trained, split.assign(task), progress, notes)
        kinds += [shapes.ways] if shapes else []
    if "alpha" in free and "words" in free and [c.role for c in task.columns if c.role != "skip"] == ["text"]:
        kinds.append(lambda held: wordings(held, trained.model.options))
    return _compare_settings(trained, kinds, notes)


def _compare_settings(trained: Trained, kinds: Sequence[Callable[[Held], Ways]], notes: Sequence[str]) -> Choice:
    sample = trained.sample
    assert sample is not None
    assert sample.fold is not None
    words = trained.model.options.words
    comparison = SettingComparison(trained.model.classes)
    for f, rest in enumerate(ledgers_excluding_each(trained.folds)):
        rows = sample[np.flatnonzero(sample.fold == f)]
        if len(rows.codes):
            held = Held(f, rest, rescale_texts(rows, rest, words))
            ways = (way for kind in kinds for way in kind(held))
            comparison.add_fold(ways, rows.codes, rows.weight, held.rest.rows > 0)
    which = trained.describe_sample(len(sample.codes))
    return comparison.choice(f"{len(trained.folds)}-fold: {which}, each scored by models without its fold", notes)
