"""ComplementNB: complement naive Bayes, each class estimated from the rows of all others."""

from __future__ import annotations

from typing import Any, Self

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.estimators.discrete_base import CountBayes, get_dense_counts
from deciban.families.complement import Complement
from deciban.families.family import NO_LIKELIHOOD


class ComplementNB(CountBayes):
    """Complement naive Bayes (Rennie et al. 2003) over counts: suits classes of very unequal size.

    Takes scikit-learn's arguments. Its score is no likelihood, so it has no class prior. `alpha` may also be "auto":
    that under which the words that each class is estimated from, those of all others, are most probable.

    >>> from deciban import ComplementNB
    >>> ComplementNB().fit([[2, 1, 0], [0, 1, 3]], ["sport", "science"]).predict([[0, 0, 1]]).tolist()
    ['science']
    """

    _hint = "counts must be known and ≥ 0; GaussianNB takes any number, PoissonNB skips missing counts"
    _parameter_constraints = {**CountBayes._parameter_constraints, "norm": ["boolean"]}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
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
        self.norm = norm

    def _family(self, alpha: Any, n_features: int) -> Complement:
        return Complement(alpha, self.norm)

    def with_priors(self, priors: Any) -> Self:
        """Raise UndefinedError: the score has no class prior."""
        raise UndefinedError(NO_LIKELIHOOD.format(what="class prior in its score"))

    @property
    def score_samples(self) -> Any:
        """Raise UndefinedError on access: there is no p(x), which scikit-learn's tools detect by `hasattr`."""
        raise UndefinedError(NO_LIKELIHOOD.format(what="density p(x)"))

    @property
    def feature_all_(self) -> Array:
        """Σ w·x per feature, over all classes."""
        return get_dense_counts(self.ledger_).total.sum(axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags
