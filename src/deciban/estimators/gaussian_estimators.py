"""Bayes classifiers of Gaussian features: GaussianNB and GaussianBayes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from deciban._typing import Array, Codes
from deciban.errors import InputError, UndefinedError
from deciban.estimators.check_arguments import allow, parse_prior
from deciban.estimators.generative_base import GenerativeClassifier
from deciban.estimators.parameter_docs import document_estimator
from deciban.families.gaussian import DEFAULT_MIXING, Gaussian
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Ledger


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianClassifier(GenerativeClassifier):
    """An estimator of Gaussian features, with scikit-learn's `priors`, and pseudo-observations."""

    _prior_name = "priors"
    priors: Any = field(default=None, metadata=allow("priors"))
    parameter_prior: Any = field(default=None, metadata=allow(None, "non-negative", Ledger))
    missing: str = field(default="skip", metadata=allow("missing"))
    prior_alpha: float = field(default=1.0, metadata=allow("non-negative"))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))

    def _family(self, prior_rows: float) -> Gaussian:
        raise AssertionError

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        prior = parse_prior(self.priors, self.prior_alpha, n_classes, scaled=False)
        pseudo = self.parameter_prior if isinstance(self.parameter_prior, Ledger) else None
        prior_rows = float(self.parameter_prior or 0.0) if pseudo is None else 0.0
        return Assumption((self._family(prior_rows),), prior, pseudo, self.missing)

    @property
    def class_count_(self) -> Array:
        """The weight of each class's rows."""
        return self.ledger_.rows.astype(self._dtype)

    @property
    def class_prior_(self) -> Array:
        """π_k, the prior probability of each class."""
        return self._check_fitted().solved.prior.astype(self._dtype)


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(GaussianClassifier):
    """Naive Bayes over numbers: ln p(x|k) = Σ_j −½ ln(2πσ²_kj) − ½ (x_j − μ_kj)²/σ²_kj.

    It takes scikit-learn's arguments and others.

    Examples
    --------
    >>> from deciban import GaussianNB
    >>> GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"]).predict([[3.0]]).tolist()
    ['low']
    """

    var_smoothing: float = field(default=1e-9, metadata=allow("non-negative"))

    def _family(self, prior_rows: float) -> Gaussian:
        return Gaussian("diagonal", None, prior_rows, float(self.var_smoothing))

    @property
    def theta_(self) -> Array:
        """μ_kj, the mean of each feature in each class."""
        return self._form.mean.astype(self._dtype)

    @property
    def var_(self) -> Array:
        """σ²_kj, smoothed."""
        return self._form.variance.astype(self._dtype)

    @property
    def epsilon_(self) -> float:
        """The value that `var_smoothing` adds to every variance."""
        return float(self._solved_family.epsilon(self._check_fitted().complete.parts[0]))


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianBayes(GaussianClassifier):
    """The Gaussian Bayes classifier: ln p(x|k) = −½ ln|2πΣ_k| − ½ (x−μ_k)ᵀ Σ_k⁻¹ (x−μ_k).

    With covariance="full" each class has its own, and the boundary is quadratic, as that of QDA; "tied" is one for
    all classes, and the boundary linear, as that of LDA; "mixed" is (1−λ) times its own plus λ times that of all
    (regularised discriminant analysis, Friedman 1989). `shrinkage` is refused with "identity".

    shrinkage="loo" chooses γ, its target, and λ of a mixed covariance by the leave-one-out Brier score of the rows,
    and n_components="loo" the number of principal components, all from one ledger, without a refit; of very many
    rows a uniform sample of 5 000 (fewer with more than 400 columns) is left out, one by one. Such a model is fitted
    to all rows at once: it does not learn more or forget.

    Examples
    --------
    >>> from deciban import GaussianBayes
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [4.0, 4.0], [5.0, 5.0]], [0, 0, 1, 1]
    >>> line = GaussianBayes(covariance="identity").fit(X, y).linear_form()
    >>> line.w.tolist(), line.b
    ([4.0, 4.0], -20.0)
    """

    covariance: str = field(default="full", metadata=allow("covariance"))
    shrinkage: Any = field(default=None, metadata=allow(None, {"oas", "loo"}, "share"))
    shrinkage_target: str = field(default="auto", metadata=allow("auto", {"diagonal", "spherical"}))
    mixing: Any = field(default=None, metadata=allow(None, "share"))
    n_components: Any = field(default=None, metadata=allow(None, {"loo"}, "positive integer"))

    _parameters_of_old_files: ClassVar[Mapping[str, Any]] = {"shrinkage_target": "spherical"}
    """Arguments that older files lack, and that had no other value."""

    def _family(self, prior_rows: float) -> Gaussian:
        """Return the family of the arguments; where leave-one-out chooses settings, that which `fit` has chosen."""
        self._check_combination()
        family = Gaussian(
            self.covariance,  # type: ignore[arg-type]
            None if self.shrinkage == "loo" else self.shrinkage,
            prior_rows,
            shrinkage_target="spherical" if self.shrinkage_target == "spherical" else "diagonal",
            mixing=DEFAULT_MIXING if self.mixing is None else float(self.mixing),
            n_components=None if self.n_components == "loo" else self.n_components,
        )
        chosen: Gaussian | None = vars(self).get("_choice") if self._chooses else None
        return family if chosen is None else replace(chosen, prior_rows=prior_rows)

    def _check_combination(self) -> None:
        """Refuse arguments that do not go together."""
        has_pairs = self.covariance in ("full", "tied", "mixed")
        if self.covariance == "identity" and self.shrinkage is not None:
            raise InputError('covariance="identity" estimates no variance, so there is nothing to shrink')
        if self._chooses and not has_pairs:
            raise InputError(
                f'"loo" chooses the shrinkage or the components of a covariance "full", "tied" or "mixed", not of '
                f'{self.covariance!r}. Hint: shrinkage="oas", or a share'
            )
        if self.mixing is not None and self.covariance != "mixed":
            raise InputError(f'mixing is that of covariance="mixed", not of {self.covariance!r}')
        if self.shrinkage == "oas" and (self.covariance == "mixed" or self.n_components == "loo"):
            raise InputError(
                'shrinkage="oas" is for one covariance, not for a mixture of two or for components that are to be '
                'chosen. Hint: shrinkage="loo"'
            )

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        m = self.n_components
        if m is not None and m != "loo" and m > n_features:
            raise InputError(
                f"n_components={m} is more than the {n_features} columns there are. Hint: fewer, or None"
            )
        return super()._assumption(n_features, n_classes)

    @property
    def _chooses(self) -> bool:
        """Whether settings are chosen by leave-one-out."""
        return "loo" in (self.shrinkage, self.n_components)

    def _check_loaded(self, section: Any, scorer: Any) -> None:
        super()._check_loaded(section, scorer)
        if self._chooses:
            self._choice = scorer.assumption.families[0]

    def _choose_settings(self, ledger: Ledger, X: Any, codes: Codes, weight: Array | None) -> None:
        """Set `_choice`, the family with the settings that leave-one-out chooses; remove it if it chooses none."""
        self.__dict__.pop("_choice", None)
        if not self._chooses:
            return
        from deciban.validation.covariance_choice import (
            COMPONENTS,
            MIXINGS,
            SHRINKAGES,
            CovarianceSettings,
            choose_covariance,
        )

        model = GenerativeModel(self._assumption(self.n_features_in_, len(self.classes_)), ledger)
        family: Any = model.assumption.families[0]
        by_loo = self.shrinkage == "loo"
        settings = CovarianceSettings(
            MIXINGS if by_loo and self.mixing is None and self.covariance == "mixed" else (family.mixing,),
            SHRINKAGES if by_loo else (family.shrinkage or 0.0,),
            ("diagonal", "spherical") if by_loo and self.shrinkage_target == "auto" else (family.shrinkage_target,),
            [m for m in COMPONENTS if m <= self.n_features_in_]
            if self.n_components == "loo"
            else (self.n_components,),
        )
        self._choice = choose_covariance(model, X, codes, weight, settings).family

    def _require_additive(self, verb: str) -> None:
        if self._chooses:
            raise UndefinedError(
                f"cannot {verb}: its shrinkage or components were chosen from all rows, and the ledger of the model "
                f"has no rows to choose from. Hint: shrinkage={self.shrinkage_!r} and the other settings as numbers"
                if hasattr(self, "_scorer")
                else f'cannot {verb}: "loo" chooses from all rows at once. Hint: fit(X, y), or settings as numbers'
            )

    @property
    def shrinkage_(self) -> float | str | None:
        """γ, the share of the target in each covariance: as given, or chosen."""
        return self._solved_family.shrinkage

    @property
    def shrinkage_target_(self) -> str:
        """The target of the shrinkage, "diagonal" or "spherical": as given, or chosen."""
        return self._solved_family.shrinkage_target

    @property
    def mixing_(self) -> float:
        """λ, the share of the pooled covariance: as given, or chosen; 0 of full, 1 of tied covariances."""
        return self._solved_family.pooled_share

    @property
    def n_components_(self) -> int | None:
        """The number of principal components, given or chosen, as far as rows vary in them; None without any."""
        family, part = self._solved_family, self._check_fitted().complete.parts[0]
        m = family.n_components
        return m if m is None else family.principal_axes(part, m).n_components

    @property
    def means_(self) -> Array:
        """μ_k, K×d."""
        return self._form.mean

    @property
    def covariance_(self) -> Array:
        """Σ_k, K×d×d, or d×d where all classes share it."""
        form = self._form
        full = np.stack([np.diag(row) for row in form.variance]) if hasattr(form, "variance") else form.covariance
        return full[0] if "tied" in self.covariance or self.covariance == "identity" else full
