"""JointBayes: the full joint table, without an assumption of independence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.estimators.count_estimators import LevelBayes
from deciban.families.joint import Joint


class JointBayes(LevelBayes):
    """The Bayes classifier over the full joint table of level codes: p(x|k) = (n_k(x) + α) / (n_k + α Π_j V_j).

    It makes no assumption of independence and has K(Π_j V_j − 1) parameters. `alpha` may be "auto": the pseudo-count
    with the largest marginal likelihood (`alpha_`).

    >>> from deciban import JointBayes
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> JointBayes().fit(X, [0, 1, 1, 0]).predict(X).tolist()
    [0, 1, 1, 0]
    """

    def __init__(
        self,
        *,
        alpha: Any = 0.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        unseen: str = "ignore",
        missing: str = "skip",
        prior_alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            fit_prior=fit_prior,
            class_prior=class_prior,
            min_categories=min_categories,
            unseen=unseen,
            missing=missing,
            prior_alpha=prior_alpha,
            n_jobs=n_jobs,
        )

    def _family(self, alpha: Any, n_features: int) -> Joint:
        return Joint(float(alpha), self.unseen, self._min_levels(n_features))  # type: ignore[arg-type]

    def _known_levels(self) -> NDArray[np.int64]:
        return self.n_categories_

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """V_j, the number of levels of each feature."""
        model = self._check_fitted()
        family: Any = model.assumption.families[0]
        return np.array(family.sizes(model.complete.parts[0]), dtype=np.int64)
