"""What facades learn from rows held out: what comes true of their probabilities, and which rows are usual."""

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
from deciban.scores.novelty import Novelty, known_novelty, standardised
from deciban.scores.posterior import Finish

CALIBRATE_CONSTRAINT: list[Any] = [StrOptions({"auto", *METHODS}), None]
"""What the argument `calibrate` may be."""

EACH_LEFT_OUT = {False: 2000, True: 200}
"""Up to so many rows each is left out alone to tell what is usual; beyond it a tenth of them at a time.

Fewer, where what is known grows with the rows: then no closed form tells what all others would know.
"""

GROWING = ("levels", "bags")
"""Kinds of which a row may hold what no other has: a level, a word."""


class CalibrationMixin:
    """Calibration and novelty, by rows that were scored by models that had not learned them."""

    if TYPE_CHECKING:  # what the facades bring
        _scorer: Any
        _check_fitted: Callable[[], Any]
        _score: Callable[[Any, Finish], NDArray[Any]]
        fit: Callable[..., Self]
        get_params: Callable[[], dict[str, Any]]
        set_params: Callable[..., Self]
        calibrate: str | None

    def calibrated(self, X: Any, y: Any, method: str = "auto", folds: Any = 10, sample_weight: Any = None) -> Self:
        """A new estimator that has learned these rows, its probabilities mended by what came true of them.

        Each row is scored by a model without its fold, and the map is fitted to that: "temperature", "platt",
        "isotonic", or "auto", the simplest that is as good as any (perhaps none). No rows need be kept apart.

        >>> from deciban import GaussianNB
        >>> X, y = [[float(x % 7)] * 9 for x in range(140)], [int(x % 7 + x % 3 > 4) for x in range(140)]
        >>> model = GaussianNB().calibrated(X, y)
        >>> model.calibration_.method, GaussianNB().fit(X, y).calibration_
        ('temperature', None)
        """
        if check_method(method) is None:
            raise InputError("method=None calibrates nothing. Hint: 'auto', or fit(X, y)")
        new = _plain(self).fit(X, y, sample_weight)
        new._scorer = new._calibrate(X, y, sample_weight, method, folds)
        return new.set_params(calibrate=method) if "calibrate" in self.get_params() else new

    def _calibrate(self, X: Any, y: Any, sample_weight: Any, method: str, folds: Any = 10) -> Any:
        """What is believed, with the calibration that the rows out of their folds ask for."""
        from deciban.estimators.cross_validate import out_of_fold

        told = out_of_fold(_plain(self), X, y, folds, None, None, sample_weight, "log_posterior")
        judged = (told.fold >= 0) & told.known[np.arange(len(told.codes)), told.codes]
        truth = np.where(judged, told.codes, -1)
        log_prior = self._scorer.solved.log_prior
        found = calibrate(method, told.scores, truth, told.weight, told.fold, log_prior)
        return self._scorer.with_maps(calibration=found.calibration)

    def _warn_not_calibrated(self) -> None:
        """A batch alone cannot tell what comes true of the probabilities of a model of all rows."""
        if getattr(self, "calibrate", None) is not None and "_scorer" not in vars(self):
            warnings.warn(
                f"calibrate={self.calibrate!r} is for fit(X, y), which sees all rows; partial_fit leaves the "
                f"probabilities as they are. Hint: calibrate=None, or calibrated(X, y)",
                DecibanWarning,
                stacklevel=3,
            )

    @property
    def calibration_(self) -> Calibration | None:
        """What the probabilities are mended by; None where they are as the model claims them."""
        return self._check_fitted().calibration

    def fit_novelty(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn which rows are usual, from the rows that were learned, each scored by a model without it.

        Then `predict(X, reject_novel=0.01)` rejects rows that are less probable, for each of their cells or words,
        than all but one in a hundred of these. Learning more undoes it.
        """
        from deciban.estimators.cross_validate import out_of_fold_scores

        self._check_fitted().require_density("density p(x)")
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DecibanWarning
            )  # rows that say nothing were told of when they were learned
            cells = self._score(X, "observed")
            growing = any(block.kind in GROWING for block in self._scorer.outline.blocks)
            folds: Any = "loo" if len(cells) <= EACH_LEFT_OUT[growing] else 10
            wanted: Finish = "typicality" if growing else "density"
            told, _, weight, fold = out_of_fold_scores(_plain(self), X, y, folds, sample_weight, wanted)
        judged = fold >= 0
        usual = told[judged] if growing else standardised(told[judged], cells[judged])
        self._scorer = self._scorer.with_maps(novelty=Novelty.of(usual, None if weight is None else weight[judged]))
        return self

    @property
    def novelty_(self) -> Novelty | None:
        """How probable the rows are that were learned, for each of their cells or words; see `fit_novelty`."""
        return self._check_fitted().novelty

    def _is_novel(self, X: Any, share: float) -> NDArray[np.bool_]:
        """Which rows are less probable than all but this share of those learned."""
        belief = self._check_fitted()
        belief.require_density("density p(x)")
        usual = known_novelty(belief.novelty)
        usual.threshold(share)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DecibanWarning
            )  # what there is to say is said when the rows are classified
            return usual.novel(self._score(X, "typicality"), share)


def _plain(estimator: Any) -> Any:
    """The same estimator, unfitted, that claims its probabilities as they are."""
    new = clone(estimator)
    return new.set_params(calibrate=None) if "calibrate" in new.get_params() else new
