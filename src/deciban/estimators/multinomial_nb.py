"""MultinomialNB: bags of words."""

from __future__ import annotations

from typing import Any

from deciban.estimators.discrete_base import CountBayes
from deciban.families.multinomial import Multinomial


class MultinomialNB(CountBayes):
    """Naive Bayes over counts, as of words: ln p(z|k) = Σ_v z_v ln θ_kv, θ_kv = (n_kv + α) / (Σ_v n_kv + αV).

    Takes scikit-learn's arguments. `alpha` may also be a ledger of imagined examples, or "auto": the pseudo-count
    with the largest marginal likelihood (`alpha_`).

    >>> from deciban import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], ["sport", "science"])
    >>> model.predict([[1, 0, 0]]).tolist()
    ['sport']
    """

    _hint = "counts must be known and ≥ 0; GaussianNB takes any number, PoissonNB skips missing counts"

    def _family(self, alpha: Any, n_features: int) -> Multinomial:
        return Multinomial(alpha)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags
