"""What a model knows of itself from rows judged without their folds: calibration, what is usual, held-out quality."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from deciban._typing import Array
from deciban.errors import DecibanWarning
from deciban.generative import GenerativeModel
from deciban.metrics.calibration_fit import calibrate
from deciban.scores.calibration import Calibration
from deciban.scores.novelty import Novelty, density_per_cell
from deciban.training.table_folds import TableFoldScores

if TYPE_CHECKING:
    from deciban.training.train import Trained


def settle(trained: Trained, method: str | None, judge: bool) -> None:
    """Tell the model what the rows of the sample say, each judged by the model without its fold.

    The report is that of a model as it will be used: with a calibration, of rows judged by maps fitted without
    their folds as well.
    """
    scored, model = trained.sample_scores, trained.model
    if scored is None:
        if method is not None:
            warnings.warn(
                "the model is not calibrated: so many classes and levels are too much for the ledgers of ten folds. "
                "Hint: fewer classes, or a smaller most_levels",
                DecibanWarning,
                stacklevel=4,
            )
        return
    calibration, log_posterior = calibrated(trained, scored, method)
    likely = isinstance(model.scorer, GenerativeModel) and model.scorer.assumption.probabilistic
    model.set_calibration(calibration, _usual(scored) if likely else None)
    if judge:
        model.held_out = trained.report(log_posterior, "" if calibration is None else told_map(calibration))


def told_map(calibration: Calibration) -> str:
    """What a report says of rows whose probabilities were mended."""
    return f", calibrated ({calibration.method}) without it too"


def calibrated(trained: Trained, scored: TableFoldScores, method: str | None) -> tuple[Calibration | None, Array]:
    """The map of all rows of the sample, None where none is best; and their ln p(k|x) by maps without their folds."""
    log_posterior: Array = scored.finish("log_posterior")
    if method is None:
        return None, log_posterior
    rows = scored.rows
    known = scored.known[np.arange(len(rows.codes)), rows.codes]
    truth = np.where(known, rows.codes, -1)
    assert rows.fold is not None
    return calibrate(method, log_posterior, truth, rows.weight, rows.fold, trained.model.scorer.solved.log_prior)


def _usual(scored: TableFoldScores) -> Novelty | None:
    """ln p(x) without the row's fold, for each cell or word that says something to the model without it.

    None where no row has any: texts that have no word in common, say.
    """
    assert scored.cells is not None
    if not (scored.cells > 0).any():
        return None
    return Novelty.of(density_per_cell(scored.finish("density"), scored.cells), scored.rows.weight)
