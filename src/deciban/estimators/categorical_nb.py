"""CategoricalNB: each feature one of several levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.estimators.count_estimators import LevelBayes
from deciban.families.categorical import Categorical
from deciban.ledger import Levels


class CategoricalNB(LevelBayes):
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
        return Categorical(float(alpha), self.unseen, self._min_levels(n_features))  # type: ignore[arg-type]

    def _known_levels(self) -> NDArray[np.int64]:
        return self._counts().sizes

    def _counts(self, imagined: bool = True) -> Levels:
        model = self._check_fitted()
        family: Any = model.assumption.families[0]
        return family.full((model.complete if imagined else model.ledger).parts[0])

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
        family: Any = self._check_fitted().assumption.families[0]
        counts = self._counts()
        return Levels(family.log_theta(counts), counts.offset).tables()
