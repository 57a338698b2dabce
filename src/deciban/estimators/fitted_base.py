"""What facades have in common whose weights were fitted to tell the classes apart."""

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
    """A linear classifier of fitted weights: its weights, intercepts, scores, penalty, and how the search ended."""

    max_iter: int
    tol: float
    _scorer: FittedModel

    _method: str
    """What it is called where it refuses,"""

    _sought: str
    """and what it looks for."""

    _instead: str
    """Who can learn rows of one class."""

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
                f"{self._method} tells classes apart and needs rows of at least 2 classes; the data contains "
                f"only one class: {self.classes_.tolist()[present[0]]!r}. Hint: {self._instead} can learn one"
            )

    def _warn_if_not_converged(self) -> None:
        """Warn whoever called `fit` of weights that have no best, or have not been found."""
        account = self._scorer.account
        if account.separable:
            warnings.warn(
                "the classes can be told apart without error, so without a penalty the best weights are infinite; "
                "they were stopped at finite ones, and the probabilities are close to 0 and 1. "
                "Hint: C=1.0, or C='auto', holds the weights back",
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
        """w, K×d; of two classes 1×d, the weights of the log-odds of the second."""
        form: Any = self._check_fitted().solved.forms[0]
        weights = as_scores(form.weights)[:]
        weights.flags.writeable = False  # the model scores by these very numbers, and by what follows from them
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
        """Steps that the search took, as an array of one."""
        return np.array([self._check_fitted().account.n_iter], dtype=np.int32)

    @property
    def objective_(self) -> float:
        """What was made least: the loss and the penalty."""
        return self._check_fitted().account.objective

    @property
    def loss_(self) -> float:
        """−Σ w ln p(y|x) over the rows learned."""
        return self._check_fitted().account.loss

    def decision_function(self, X: Any) -> Array:
        """The score of each class, w_k·x + b_k; of two classes the log-odds of the second alone."""
        scores = as_scores(self._score(X, "joint"), axis=1)
        return scores[:, 0] if scores.shape[1] == 1 else scores
