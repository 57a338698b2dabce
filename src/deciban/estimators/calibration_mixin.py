"""Calibration and novelty detection of estimators, by rows scored by models that were fitted without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

from deciban.errors import DecibanWarning, InputError
from deciban.metrics.calibration_fit import METHODS, calibrate, check_method
from deciban.scores.calibration import Calibration
from deciban.scores.novelty import Novelty, density_per_cell, require_novelty
from deciban.scores.posterior import Finish

CALIBRATE_CONSTRAINT: list[Any] = [StrOptions({"auto", *METHODS}), None]
"""The constraint on the argument `calibrate`."""

MAX_LEAVE_ONE_OUT_ROWS = {False: 2000, True: 200}
"""Number of rows up to which novelty is fitted by leave-one-out; beyond it, by ten folds.

The second limit is for features whose levels or words grow with the rows: then leave-one-out has no closed form.
"""

GROWING_KINDS = ("levels", "bags")
"""Kinds of features of which a row may have a level or a word that no other row has."""


class CalibrationMixin:
    """Calibration and novelty detection, by rows scored by models that were fitted without them."""

    if TYPE_CHECKING:  # defined by the estimators
        _scorer: Any
        _check_fitted: Callable[[], Any]
        _score: Callable[[Any, Finish], NDArray[Any]]
        fit: Callable[..., Self]
        get_params: Callable[[], dict[str, Any]]
        set_params: Callable[..., Self]
        calibrate: str | None

    def calibrated(self, X: Any, y: Any, method: str = "auto", folds: Any = 10, sample_weight: Any = None) -> Self:
        """Return a new estimator fitted to these rows, with calibrated probabilities.

        Each row is scored by a model without its fold, and the map is fitted to these scores: "temperature", "platt",
        "isotonic", or "auto", the simplest that is as good as any (perhaps none). No rows need be set aside.

        >>> from deciban import GaussianNB
        >>> X, y = [[float(x % 7)] * 9 for x in range(140)], [int(x % 7 + x % 3 > 4) for x in range(140)]
        >>> model = GaussianNB().calibrated(X, y)
        >>> model.calibration_.method, GaussianNB().fit(X, y).calibration_
        ('temperature', None)
        """
        if check_method(method) is None:
            raise InputError("method=None calibrates nothing. Hint: 'auto', or fit(X, y)")
        new = _clone_uncalibrated(self).fit(X, y, sample_weight)
        new._scorer = new._calibrate(X, y, sample_weight, method, folds)
        return new.set_params(calibrate=method) if "calibrate" in self.get_params() else new

    def _calibrate(self, X: Any, y: Any, sample_weight: Any, method: str, folds: Any = 10) -> Any:
        """Return the model with a calibration that is fitted to out-of-fold scores."""
        from deciban.estimators.cross_validate import out_of_fold

        rows = out_of_fold(_clone_uncalibrated(self), X, y, folds, None, None, sample_weight, "log_posterior")
        is_scored = (rows.fold >= 0) & rows.known[np.arange(len(rows.codes)), rows.codes]
        truth = np.where(is_scored, rows.codes, -1)
        log_prior = self._scorer.solved.log_prior
        found = calibrate(method, rows.scores, truth, rows.weight, rows.fold, log_prior)
        return self._scorer.with_maps(calibration=found.calibration)

    def _warn_not_calibrated(self) -> None:
        """Warn that `partial_fit` does not calibrate: one batch does not suffice to calibrate a model of all rows."""
        if getattr(self, "calibrate", None) is not None and "_scorer" not in vars(self):
            warnings.warn(
                f"calibrate={self.calibrate!r} is for fit(X, y), which sees all rows; partial_fit leaves the "
                f"probabilities as they are. Hint: calibrate=None, or calibrated(X, y)",
                DecibanWarning,
                stacklevel=3,
            )

    @property
    def calibration_(self) -> Calibration | None:
        """The calibration of the probabilities; None where they are not calibrated."""
        return self._check_fitted().calibration

    def fit_novelty(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the novelty detector to the training rows, each scored by a model without it.

        Then `predict(X, reject_novel=0.01)` rejects rows that are less probable, for each of their cells or words,
        than all but one in a hundred of these. Learning more rows discards it.
        """
        from deciban.estimators.cross_validate import out_of_fold_scores

        self._check_fitted().require_density("density p(x)")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)  # `fit` has issued the warnings already
            cells = self._score(X, "observed")
            growing = any(block.kind in GROWING_KINDS for block in self._scorer.outline.blocks)
            folds: Any = "loo" if len(cells) <= MAX_LEAVE_ONE_OUT_ROWS[growing] else 10
            wanted: Finish = "typicality" if growing else "density"
            scores, _, weight, fold = out_of_fold_scores(
                _clone_uncalibrated(self), X, y, folds, sample_weight, wanted
            )
        scored = fold >= 0
        usual = scores[scored] if growing else density_per_cell(scores[scored], cells[scored])
        self._scorer = self._scorer.with_maps(novelty=Novelty.of(usual, None if weight is None else weight[scored]))
        return self

    @property
    def novelty_(self) -> Novelty | None:
        """The quantiles of the log-density of the training rows per cell or word; see `fit_novelty`."""
        return self._check_fitted().novelty

    def _is_novel(self, X: Any, share: float) -> NDArray[np.bool_]:
        """Return which rows are less probable than all but this share of the training rows."""
        model = self._check_fitted()
        model.require_density("density p(x)")
        usual = require_novelty(model.novelty)
        usual.threshold(share)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)  # `predict` has issued the warnings already
            return usual.novel(self._score(X, "typicality"), share)


def _clone_uncalibrated(estimator: Any) -> Any:
    """Return an unfitted clone of the estimator that does not calibrate."""
    new = clone(estimator)
    return new.set_params(calibrate=None) if "calibrate" in new.get_params() else new
