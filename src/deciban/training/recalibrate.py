"""Fitting the calibration of a table model again: to rows that it has not learned, or to rows that it has."""

from functools import partial
from typing import Any

import numpy as np

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError, list_names, warn_caller
from deciban.generative import GenerativeModel
from deciban.metrics.calibration_fit import calibrate, check_method
from deciban.model.model import Model
from deciban.model.summarise_table import Rows
from deciban.sources.document_files import EVALUATION_FOLDS
from deciban.sources.source import Source
from deciban.training.evaluate import estimate_learned_share, score_table
from deciban.training.table_folds import count_parts
from deciban.training.table_rows import keep_learned_rows
from deciban.validation.fold_models import score_in_closed_form
from deciban.validation.splits import StratifiedAssigner


def recalibrate(model: Model, source: Source, method: str, learned: bool, progress: Any) -> None:
    """Replace the calibration of a model by one that is fitted to the labelled rows of a source.

    Rows that the model has learned are refused, unless `learned` says that it has learned all of them: then each is
    scored by the model without it.
    """
    if check_method(method) is None:
        raise InputError("method='none' calibrates nothing. Hint: 'auto', or train(…, calibrate='none')")
    scorer = model._scorer.with_maps(calibration=None)
    score = partial(_score_without_row, model) if learned else None
    card, hasher = score_table(model, source, model.weights, scorer, False, progress, score)
    if not learned and estimate_learned_share(model, hasher) is not None:
        raise InputError(
            f"the model has learned rows of {source.name}, by which its probabilities look better than they are. "
            f"Hint: other rows, or --learned (learned=True), which scores each row by the model without it"
        )
    if card.score_sample is None or not (card.score_sample.rows.truth >= 0).any():
        raise InputError(f"{source.name} has no row of a known class to calibrate by")
    rows, K = card.score_sample.rows, len(model.classes)
    absent = [str(label) for k, label in enumerate(model.classes) if k not in rows.truth]
    if absent:
        warn_caller(f"no row to calibrate by has the class {list_names(absent)}, which may become improbable")
    fold, shares = StratifiedAssigner(EVALUATION_FOLDS).assign(rows.truth), model.options.prior.fixed_shares(K)
    L = np.asarray(rows.log_posterior, dtype=np.float64)
    found = calibrate(method, L, rows.truth, rows.weight, fold, scorer.solved.log_prior, shares)
    model._scorer = scorer.with_maps(calibration=found.calibration)
    model.held_out, model._quality = None, None


def _score_without_row(model: Model, rows: Rows) -> Array:
    """Return ln p(k|x) of each row by the model without it, in closed form, or else without its tenth."""
    if not isinstance(model._scorer, GenerativeModel) or len(keep_learned_rows(rows).codes) < len(rows.codes):
        raise InputError(
            "this model has not learned all of these rows as counts, so they cannot be left out of it. "
            "Hint: rows that it has not learned, without --learned (learned=False); or train again, which calibrates"
        )
    naive, threads = model._naive.unsolved(), engines.thread_count(None)
    found = score_in_closed_form(naive, rows.parts, rows.codes, rows.weight, "log_posterior", threads)
    if found is not None and not found.needs_refit.any():
        return found.scores
    fold = StratifiedAssigner(EVALUATION_FOLDS).assign(rows.codes)
    scores = np.empty((len(rows.codes), len(model.classes)))
    parts = count_parts(model.options, model._layout, model.ledger.schema, rows, fold, EVALUATION_FOLDS)
    for f in np.unique(fold).tolist():
        own, rest = np.flatnonzero(fold == f), model.ledger - parts[f]
        without = GenerativeModel(model.options.assumption(model._layout), rest)
        scores[own] = without.scores(rows[own].parts, "log_posterior", threads)
    return scores
