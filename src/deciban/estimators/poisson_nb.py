"""PoissonNB: counts of events with a rate in each class."""

from __future__ import annotations

from typing import Any

from deciban._typing import Array
from deciban.estimators.discrete_base import CountBayes
from deciban.families.poisson import Poisson


class PoissonNB(CountBayes):
    """Naive Bayes over independent counts: ln p(x|k) = Σ_j x_j ln λ_kj − λ_kj − ln x_j!.

    `alpha` rows of the column's mean are imagined in each class: λ_kj = (Σ w x + α m_j) / (Σ w + α); "auto" chooses
    their number by marginal likelihood (`alpha_`).
    Unlike a bag of words the counts have no common total, and a missing one (NaN) can be skipped.

    >>> from deciban import PoissonNB
    >>> model = PoissonNB().fit([[0, 3], [1, 4], [5, 0]], ["quiet", "quiet", "busy"])
    >>> model.predict([[4, 1], [float("nan"), 5]]).tolist()
    ['busy', 'quiet']
    """

    _hint = "a Poisson counts events, ≥ 0; GaussianNB takes any number"

    def _family(self, alpha: Any, n_features: int) -> Poisson:
        return Poisson(alpha)

    @property
    def rate_(self) -> Array:
        """λ_kj, the mean count of each feature in each class."""
        model = self._check_fitted()
        family: Any = model.assumption.families[0]
        return family.rates(model.complete.parts[0])

    @property
    def feature_log_prob_(self) -> Array:
        """Raise AttributeError: a rate is no probability."""
        raise AttributeError("PoissonNB has rates, not probabilities, per feature. Hint: rate_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
