"""Bayes classifiers of discrete features, in rows of numbers: counts, flags, and codes of levels.

BernoulliNB, MultinomialNB, ComplementNB and PoissonNB count; the features of CategoricalNB and JointBayes are levels,
given as codes 0, 1, 2, … Their base classes have the pseudo-count, the class prior and the attributes of
scikit-learn's discrete models.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import find_highest
from deciban.errors import InputError, UndefinedError
from deciban.estimators.check_arguments import allow, parse_prior
from deciban.estimators.generative_base import GenerativeClassifier
from deciban.estimators.parameter_docs import document_estimator
from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.families.family import NO_LIKELIHOOD, Alpha, ClassPrior, Family, log, to_dense
from deciban.families.level_families import Categorical, Joint, Unseen
from deciban.families.marginal_likelihood import FALLBACK_ALPHA
from deciban.generative import Assumption
from deciban.ledger import Ledger, Levels

SKLEARN_MIN_ALPHA = 1e-10
"""The pseudo-count that scikit-learn raises smaller ones to, unless `force_alpha`."""


class SmoothedClassifier(GenerativeClassifier):
    """A generative estimator with a pseudo-count, and scikit-learn's `fit_prior` and `class_prior`."""

    alpha: Any
    fit_prior: bool
    class_prior: Any
    prior_alpha: float

    def _make_prior(self, n_classes: int) -> ClassPrior:
        """Return `class_prior`, or without it an empirical or uniform prior by `fit_prior`.

        `prior_alpha` applies to class_prior="smoothed" only.
        """
        if self.class_prior is None:
            return ClassPrior("empirical" if self.fit_prior else "uniform")
        return parse_prior(self.class_prior, self.prior_alpha, n_classes, scaled=True)

    @property
    def class_log_prior_(self) -> Array:
        """ln π_k."""
        return log(self._check_fitted().solved.prior)

    @property
    def alpha_(self) -> Alpha:
        """The pseudo-count that is added: as given, or as chosen by alpha="auto"."""
        return self._solved_family.alpha


@dataclass(kw_only=True, eq=False, repr=False)
class DiscreteClassifier(SmoothedClassifier):
    """An estimator with scikit-learn's `alpha`, `force_alpha`, `fit_prior` and `class_prior`.

    `alpha` may also be "auto", or a ledger whose counts are added as pseudo-counts; `class_prior` may also be
    "empirical", "uniform" or "smoothed", by `prior_alpha` rows of each class. A missing value adds no evidence
    (missing="skip") or is refused ("error").
    """

    alpha: Any = field(default=1.0, metadata=allow("non-negative", "auto", "array-like", Ledger))
    force_alpha: bool = field(default=True, metadata=allow("boolean"))
    fit_prior: bool = field(default=True, metadata=allow("boolean"))
    class_prior: Any = field(default=None, metadata=allow("priors"))
    missing: str = field(default="skip", metadata=allow("missing"))
    prior_alpha: float = field(default=1.0, metadata=allow("non-negative"))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))

    def _family(self, alpha: Any, n_features: int) -> Family:
        raise AssertionError

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        """Return the family and the class prior; a ledger in `alpha` holds pseudo-observations."""
        prior, auto = self._make_prior(n_classes), isinstance(self.alpha, str)
        pseudo = self.alpha if isinstance(self.alpha, Ledger) else None
        alpha = FALLBACK_ALPHA if auto else 0.0 if pseudo is not None else self._check_alpha(n_features)
        return Assumption((self._family(alpha, n_features),), prior, pseudo, self.missing, auto)

    def _check_alpha(self, n_features: int) -> Alpha:
        """Return alpha, a number or an array of one a feature, at least `SKLEARN_MIN_ALPHA` unless `force_alpha`."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim:
            if alpha.shape != (n_features,):
                raise InputError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got shape {alpha.shape} instead of ({n_features},)."
                )
            if (bad := alpha[~((alpha >= 0) & np.isfinite(alpha))]).size:
                raise InputError(f"All values in alpha must be greater than 0. Got {bad[0]:g}. Hint: 0 ≤ alpha < ∞")
        if not self.force_alpha and alpha.size and alpha.min() < SKLEARN_MIN_ALPHA:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {SKLEARN_MIN_ALPHA:.1e}. "
                f"Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=5,
            )
            alpha = np.maximum(alpha, SKLEARN_MIN_ALPHA)
        return alpha if alpha.ndim else float(alpha)


class CountClassifier(DiscreteClassifier):
    """An estimator of counts per class and feature."""

    @property
    def feature_count_(self) -> Array:
        """Σ w·x per class and feature, K×d, without pseudo-observations."""
        part: Any = self.ledger_.parts[0]
        return to_dense(part).total

    @property
    def feature_log_prob_(self) -> Array:
        """The logarithm of each feature's probability in each class, K×d, computed on access.

        For ComplementNB these are its weights −ln θ̄_kv, as in scikit-learn, normalised with `norm`.
        """
        return self._solved_family.log_theta(self._check_fitted().complete.parts[0])


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class BernoulliNB(CountClassifier):
    """Naive Bayes over features that are present or absent: ln p(x|k) = Σ_j x_j ln θ_kj + (1 − x_j) ln(1 − θ_kj).

    It takes scikit-learn's arguments and others. A ledger as `alpha` holds pseudo-observations.

    Examples
    --------
    >>> from deciban import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> model.predict_proba([[1, 0]]).round(3).tolist()
    [[0.129, 0.871]]
    >>> model.set_params(alpha="auto").fit([[1, 0], [1, 0], [0, 1], [0, 1]], [1, 1, 0, 0]).alpha_
    0.001
    """

    binarize: float | None = field(default=0.0, metadata=allow(None, "non-negative"))

    def _family(self, alpha: Any, n_features: int) -> Bernoulli:
        return Bernoulli(alpha, None if self.binarize is None else float(self.binarize))


@document_estimator
class MultinomialNB(CountClassifier):
    """Naive Bayes over counts, as of words: ln p(z|k) = Σ_v z_v ln θ_kv, θ_kv = (n_kv + α) / (Σ_v n_kv + αV).

    It takes scikit-learn's arguments and others. A ledger as `alpha` holds pseudo-observations.

    Examples
    --------
    >>> from deciban import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 1, 0], [0, 1, 3]], ["sport", "science"])
    >>> model.predict([[1, 0, 0]]).tolist()
    ['sport']
    """

    _input_tags = {"positive_only": True, "allow_nan": False}
    _hint = "counts must be known and ≥ 0; GaussianNB takes any number, PoissonNB skips missing counts"

    def _family(self, alpha: Any, n_features: int) -> Multinomial:
        return Multinomial(alpha)


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class ComplementNB(CountClassifier):
    """Complement naive Bayes (Rennie et al. 2003) over counts: suits classes of very unequal size.

    It takes scikit-learn's arguments and others. Its score is not a likelihood, so it has no class prior. With
    alpha="auto" the words that each class is estimated from, those of all others, are most probable.

    Examples
    --------
    >>> from deciban import ComplementNB
    >>> ComplementNB().fit([[2, 1, 0], [0, 1, 3]], ["sport", "science"]).predict([[0, 0, 1]]).tolist()
    ['science']
    """

    _input_tags, _hint = MultinomialNB._input_tags, MultinomialNB._hint
    norm: bool = field(default=False, metadata=allow("boolean"))

    def _family(self, alpha: Any, n_features: int) -> Complement:
        return Complement(alpha, self.norm)

    @property
    def score_samples(self) -> Any:
        """Raise UndefinedError on access: there is no p(x), which scikit-learn's tools detect by `hasattr`."""
        raise UndefinedError(NO_LIKELIHOOD.format(what="density p(x)"))

    @property
    def feature_all_(self) -> Array:
        """Σ w·x per feature, over all classes."""
        return self.feature_count_.sum(axis=0)


@document_estimator
class PoissonNB(CountClassifier):
    """Naive Bayes over independent counts: ln p(x|k) = Σ_j x_j ln λ_kj − λ_kj − ln x_j!.

    With α pseudo-observations of the column's mean m_j in each class, λ_kj = (Σ w x + α m_j) / (Σ w + α).
    Unlike a bag of words the counts have no common total, and a missing one (NaN) can be skipped.

    Examples
    --------
    >>> from deciban import PoissonNB
    >>> model = PoissonNB().fit([[0, 3], [1, 4], [5, 0]], ["quiet", "quiet", "busy"])
    >>> model.predict([[4, 1], [float("nan"), 5]]).tolist()
    ['busy', 'quiet']
    """

    _input_tags = {"positive_only": True}
    _hint = "a Poisson counts events, ≥ 0; GaussianNB takes any number"

    def _family(self, alpha: Any, n_features: int) -> Poisson:
        return Poisson(alpha)

    @property
    def rate_(self) -> Array:
        """λ_kj, the mean count of each feature in each class."""
        return self._solved_family.rates(self._check_fitted().complete.parts[0])

    @property
    def feature_log_prob_(self) -> Array:
        """Raise AttributeError: a rate is not a probability."""
        raise AttributeError("PoissonNB has rates, not probabilities, per feature. Hint: rate_")


@dataclass(kw_only=True, eq=False, repr=False)
class LevelClassifier(DiscreteClassifier):
    """An estimator of categorical features, given as codes 0, 1, 2, …"""

    _input_tags = {"categorical": True, "positive_only": True}
    _hint = "levels are codes 0, 1, 2, …; sklearn.preprocessing.OrdinalEncoder makes them, NaN is missing"
    alpha: Any = field(default=1.0, metadata=allow("non-negative", "auto", Ledger))
    min_categories: Any = field(default=None, metadata=allow(None, "array-like", "positive integer"))
    unseen: Unseen = field(default="ignore", metadata=allow("unseen"))

    def _check_min_categories(self, n_features: int) -> tuple[int, ...] | None:
        """Return `min_categories` of each feature, checked; None where it is not given."""
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
    def _n_known_levels(self) -> NDArray[np.int64]:
        """V_j, the number of known levels of each feature, those of pseudo-observations included."""
        return np.array(self._solved_family.sizes(self._check_fitted().complete.parts[0]), dtype=np.int64)

    def _check_prediction_rows(self, X: Any) -> None:
        """Refuse a level beyond those learned, with unseen="error"."""
        if self.unseen != "error":
            return
        known = self._n_known_levels
        highest = find_highest(X)
        unseen = np.flatnonzero(highest >= known)
        if unseen.size:
            j = int(unseen[0])
            names = getattr(self, "feature_names_in_", None)
            raise InputError(
                f"column {j if names is None else repr(names[j])} has level {highest[j]:g}, which was never learned "
                f"(known: 0 to {known[j] - 1}). Hint: unseen='ignore' or unseen='smooth'"
            )


@document_estimator
class CategoricalNB(LevelClassifier):
    """Naive Bayes over level codes: ln p(x|k) = Σ_j ln θ_kj,x_j, θ_kjv = (n_kjv + α) / (n_kj + αV_j).

    It takes scikit-learn's arguments and others. With alpha="auto" each feature has a pseudo-count of its own.

    Examples
    --------
    >>> from deciban import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 1], [0, 0], [1, 1]], ["no", "no", "yes"])
    >>> model.predict([[1, 1], [7, float("nan")]]).tolist()
    ['yes', 'no']
    """

    def _family(self, alpha: Any, n_features: int) -> Categorical:
        return Categorical(float(alpha), self.unseen, self._check_min_categories(n_features))

    def _count_levels(self, ledger: Ledger) -> Levels:
        """Return the counts of a ledger, of all levels that the data or `min_categories` have."""
        return self._solved_family.full(ledger.parts[0])

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """The number of levels of each feature in the data and by `min_categories`, not in pseudo-observations."""
        return self._count_levels(self.ledger_).sizes

    @property
    def category_count_(self) -> list[Array]:
        """The count of each level in each class, without pseudo-observations: K×n_categories_[j] per feature."""
        return self._count_levels(self.ledger_).tables()

    @property
    def feature_log_prob_(self) -> list[Array]:
        """ln θ_kjv, a K×V_j table for each feature; V_j also counts levels that only pseudo-observations have."""
        counts = self._count_levels(self._check_fitted().complete)
        return Levels(self._solved_family.log_theta(counts), counts.offset).tables()


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class JointBayes(LevelClassifier):
    """The Bayes classifier over the full joint table of level codes: p(x|k) = (n_k(x) + α) / (n_k + α Π_j V_j).

    It makes no assumption of independence and has K(Π_j V_j − 1) parameters.

    Examples
    --------
    >>> from deciban import JointBayes
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> JointBayes().fit(X, [0, 1, 1, 0]).predict(X).tolist()
    [0, 1, 1, 0]
    """

    alpha: Any = field(default=0.0, metadata=allow("non-negative", "auto", Ledger))

    def _family(self, alpha: Any, n_features: int) -> Joint:
        return Joint(float(alpha), self.unseen, self._check_min_categories(n_features))

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """V_j, the number of levels of each feature in the data, by `min_categories` and in pseudo-observations."""
        return self._n_known_levels
