"""Bayes classifiers of categorical features, given as codes 0, 1, 2, …: CategoricalNB and JointBayes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.estimators.check_arguments import AUTO, NON_NEGATIVE, POSITIVE_INTEGER, UNSEEN, allow
from deciban.estimators.discrete_estimators import DiscreteClassifier
from deciban.families.level_families import Categorical, Joint, Unseen
from deciban.ledger import Ledger, Levels


@dataclass(kw_only=True, eq=False, repr=False)
class LevelClassifier(DiscreteClassifier):
    """An estimator of categorical features, given as codes 0, 1, 2, …"""

    _input_tags = {"categorical": True, "positive_only": True}
    _hint = "levels are codes 0, 1, 2, …; sklearn.preprocessing.OrdinalEncoder makes them, NaN is missing"
    alpha: Any = field(default=1.0, metadata=allow(NON_NEGATIVE, AUTO, Ledger))
    min_categories: Any = field(default=None, metadata=allow(None, "array-like", POSITIVE_INTEGER))
    unseen: Unseen = field(default="ignore", metadata=allow(UNSEEN))

    def _min_levels(self, n_features: int) -> tuple[int, ...] | None:
        if self.min_categories is None:
            return None
        min_levels = np.asarray(self.min_categories)
        if min_levels.dtype.kind not in "iu":
            raise InputError(f"'min_categories' should have integral type. Got {min_levels.dtype} instead.")
        if min_levels.shape not in ((), (n_features,)):
            raise InputError(
                f"'min_categories' should have shape ({n_features},) when an array-like is provided. "
                f"Got {min_levels.shape} instead."
            )
        return tuple(int(v) for v in np.broadcast_to(min_levels, (n_features,)))

    @property
    def _known_levels(self) -> NDArray[np.int64]:
        """V_j, the number of known levels of each feature, those of imagined examples included."""
        return np.array(self._solved_family.sizes(self._check_fitted().complete.parts[0]), dtype=np.int64)

    def _check_prediction_rows(self, X: Any) -> None:
        """Refuse a level beyond those learned, with unseen="error"."""
        if self.unseen != "error":
            return
        known = self._known_levels
        highest = X.max(axis=0).toarray().ravel() if hasattr(X, "tocsr") else np.fmax.reduce(X, axis=0)
        unseen = np.flatnonzero(highest >= known)
        if unseen.size:
            j = int(unseen[0])
            names = getattr(self, "feature_names_in_", None)
            raise InputError(
                f"column {j if names is None else repr(names[j])} has level {highest[j]:g}, which was never learned "
                f"(known: 0 to {known[j] - 1}). Hint: unseen='ignore' or unseen='smooth'"
            )


class CategoricalNB(LevelClassifier):
    """Naive Bayes over level codes: ln p(x|k) = Σ_j ln θ_kj,x_j, θ_kjv = (n_kjv + α) / (n_kj + αV_j).

    Takes scikit-learn's arguments. NaN means missing; `unseen` is how a level beyond those learned is treated:
    no evidence ("ignore"), one more share of the pseudo-counts ("smooth"), or an error ("error"). `alpha` may also
    be "auto": for each feature the pseudo-count with the largest marginal likelihood (`alpha_`).

    >>> from deciban import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [0, 0], [1, 1]], ["no", "no", "yes"])
    >>> model.predict([[1, 1], [7, float("nan")]]).tolist()
    ['yes', 'no']
    """

    def _family(self, alpha: Any, n_features: int) -> Categorical:
        return Categorical(float(alpha), self.unseen, self._min_levels(n_features))

    def _counts(self, imagined: bool = True) -> Levels:
        model = self._check_fitted()
        return self._solved_family.full((model.complete if imagined else model.ledger).parts[0])

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """V_j, the number of levels of each feature."""
        return self._counts(imagined=False).sizes

    @property
    def category_count_(self) -> list[Array]:
        """The count of each level in each class, a K×V_j table for each feature."""
        return self._counts(imagined=False).tables()

    @property
    def feature_log_prob_(self) -> list[Array]:
        """ln θ_kjv, a K×V_j table for each feature."""
        counts = self._counts()
        return Levels(self._solved_family.log_theta(counts), counts.offset).tables()


@dataclass(kw_only=True, eq=False, repr=False)
class JointBayes(LevelClassifier):
    """The Bayes classifier over the full joint table of level codes: p(x|k) = (n_k(x) + α) / (n_k + α Π_j V_j).

    It makes no assumption of independence and has K(Π_j V_j − 1) parameters. `alpha` may be "auto": the pseudo-count
    with the largest marginal likelihood (`alpha_`).

    >>> from deciban import JointBayes
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> JointBayes().fit(X, [0, 1, 1, 0]).predict(X).tolist()
    [0, 1, 1, 0]
    """

    alpha: Any = field(default=0.0, metadata=allow(NON_NEGATIVE, AUTO, Ledger))

    def _family(self, alpha: Any, n_features: int) -> Joint:
        return Joint(float(alpha), self.unseen, self._min_levels(n_features))

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """V_j, the number of levels of each feature."""
        return self._known_levels
