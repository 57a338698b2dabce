"""BernoulliNB: features present or absent."""

from __future__ import annotations

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval

from deciban.estimators.discrete_base import CountBayes
from deciban.families.bernoulli import Bernoulli


class BernoulliNB(CountBayes):
    """Naive Bayes over features that are present or absent: ln p(x|k) = Σ_j x_j ln θ_kj + (1 − x_j) ln(1 − θ_kj).

    Takes scikit-learn's arguments. `alpha` may also be a ledger of imagined examples, or "auto": the pseudo-count
    with the largest marginal likelihood (`alpha_`). NaN means missing.

    >>> from deciban import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> model.predict_proba([[1, 0]]).round(3).tolist()
    [[0.129, 0.871]]
    >>> model.set_params(alpha="auto").fit([[1, 0], [1, 0], [0, 1], [0, 1]], [1, 1, 0, 0]).alpha_
    0.001
    """

    _parameter_constraints = {
        **CountBayes._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        binarize: float | None = 0.0,
        missing: str = "skip",
        prior_alpha: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            fit_prior=fit_prior,
            class_prior=class_prior,
            missing=missing,
            prior_alpha=prior_alpha,
            n_jobs=n_jobs,
        )
        self.binarize = binarize

    def _family(self, alpha: Any, n_features: int) -> Bernoulli:
        return Bernoulli(alpha, None if self.binarize is None else float(self.binarize))
