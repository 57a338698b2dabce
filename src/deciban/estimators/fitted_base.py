"""The base class of estimators with fitted weights: logistic and evidence regression."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from deciban._typing import Array
from deciban.errors import DecibanWarning, InputError
from deciban.estimators.classifier_base import Classifier
from deciban.linear.fitted_model import FittedModel
from deciban.linear.solvers.logistic_objective import as_scores


class FittedClassifier(Classifier):
    """A linear classifier with fitted weights: its weights, intercepts, scores and penalty."""

    max_iter: int
    tol: float
    _scorer: FittedModel

    _method: str
    """The name of the method in error messages."""

    _sought: str
    """The name of the parameters in error messages."""

    _instead: str
    """The estimators that can be fitted to rows of one class."""

    if TYPE_CHECKING:

        def _check_fitted(self) -> FittedModel: ...

    def _require_two_classes(self, codes: NDArray[np.int32]) -> None:
        present = np.unique(codes)
        if len(present) == 0:
            raise InputError(
                "every row has weight zero (sample_weight, class_weight), so there is nothing to learn from. "
                "Hint: weights above 0 for rows of two classes or more"
            )
        if len(present) < 2:
            raise InputError(
                f"{self._method} separates classes and needs rows of at least 2 classes; the data contains "
                f"only one class: {self.classes_.tolist()[present[0]]!r}. Hint: {self._instead} can learn one"
            )

    def _warn_if_not_converged(self) -> None:
        """Warn the caller of `fit` if the optimum is at infinity, or was not reached."""
        account = self._scorer.account
        if account.separable:
            warnings.warn(
                "the classes can be separated without error, so without a penalty the best weights are infinite; "
                "the search was stopped at finite ones, and the probabilities are close to 0 and 1. "
                "Hint: C=1.0, or C='auto', penalises the weights",
                DecibanWarning,
                stacklevel=3,
            )
        elif not account.converged:
            warnings.warn(
                f"the search for {self._sought} was stopped after {account.n_iter} steps, before it had converged. "
                f"Hint: a larger max_iter than {self.max_iter}, or a larger tol than {self.tol:g}",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def coef_(self) -> Array:
        """w, K×d; for two classes 1×d, the weights of the log-odds of the second."""
        form: Any = self._check_fitted().solved.forms[0]
        weights = as_scores(form.weights)[:]
        weights.flags.writeable = False  # the model scores by these very numbers, and by values derived from them
        return weights

    @property
    def intercept_(self) -> Array:
        """b, one for each row of `coef_`: the score where every feature is 0."""
        solved = self._check_fitted().solved
        form: Any = solved.forms[0]
        return as_scores(solved.start(solved.log_prior) + form.whole_bias)

    @property
    def C_(self) -> float:
        """The C that was used: as given, or as chosen by C="auto"."""
        return float(self._check_fitted().account.settings["C"])  # type: ignore[arg-type]

    @property
    def n_iter_(self) -> NDArray[np.int32]:
        """The number of iterations, as an array of one."""
        return np.array([self._check_fitted().account.n_iter], dtype=np.int32)

    @property
    def objective_(self) -> float:
        """The minimum of the objective: the loss and the penalty."""
        return self._check_fitted().account.objective

    @property
    def loss_(self) -> float:
        """−Σ w ln p(y|x) over the training rows."""
        return self._check_fitted().account.loss

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, w_k·x + b_k; for two classes the log-odds of the second alone."""
        scores = as_scores(self._score(X, "joint"), axis=1)
        return scores[:, 0] if scores.shape[1] == 1 else scores
