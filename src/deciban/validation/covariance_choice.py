"""The choice of a Gaussian's mixing λ, shrinkage γ and number of principal components by leave-one-out.

One ledger of all rows gives the score of each row by the model of all others under every (λ, γ), without a refit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import is_sparse, to_host
from deciban.errors import InputError
from deciban.families.covariances import ShrinkageTarget
from deciban.families.gaussian import Gaussian, variance_within
from deciban.generative import GenerativeModel
from deciban.ledger import Scatter
from deciban.ledger.hashing import sample_row_numbers
from deciban.ledger.statistic import divide
from deciban.scores.gaussian_forms import NO_COVARIANCE
from deciban.scores.posterior import normalise
from deciban.validation.closed_form import LeftOutRows, has_remainder
from deciban.validation.closed_form_covariances import MAX_DISTINCT_WEIGHTS, LeftOutCovariances
from deciban.validation.fold_models import log_priors_without_row

MIXINGS = (0.0, 0.03, 0.08, 0.2, 0.4, 0.7, 1.0)
"""The values of λ that are compared: every other one, then the neighbours of the best."""

SHRINKAGES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)
"""The values of γ that are compared, likewise."""

COMPONENTS = (1, 2, 3, 5, 8, 12, 18, 25, 35, 50, 70, 100, 140, 200)
"""The numbers of principal components that are compared, as far as there are columns."""

MAX_LEFT_OUT_ROWS, MAX_LEFT_OUT_CELLS = 5000, 1 << 21
"""The number of rows, and of their values or projections, that are left out; of more a uniform sample is."""

MAX_EXACT_OPERATIONS = 10**9
"""The number of operations for each λ and γ up to which the target's own change by each row is computed exactly."""


@dataclass(frozen=True)
class CovarianceChoice:
    """A family with the chosen settings, and its leave-one-out Brier score, Σ_k (p(k|x) − [y = k])², and accuracy.

    The Brier score is bounded: many dependent columns make Gaussians far too certain, and their log-loss is then that
    of few rows. On MNIST its least is where the errors are fewest; that of the log-loss has 0.2 % more, even if all
    evidence is first multiplied by the best common factor. `n_rows` rows were left out.
    """

    family: Gaussian
    brier_score: float
    accuracy: float
    n_rows: int


@dataclass(frozen=True)
class CovarianceSettings:
    """The values of λ and γ, targets, and numbers of components (None: all columns as they are) to be compared."""

    mixings: Sequence[float]
    shrinkages: Sequence[float]
    targets: Sequence[ShrinkageTarget] = ("diagonal",)
    components: Sequence[int | None] = (None,)

    def take_every_other(self) -> "CovarianceSettings":
        """Return the settings with every other value of λ and γ."""
        return replace(self, mixings=self.mixings[::2], shrinkages=self.shrinkages[::2])

    def take_neighbours(self, family: Gaussian) -> "CovarianceSettings":
        """Return the chosen values of λ and γ with their neighbours, and the family's target and components alone."""
        mixings = _take_neighbours(self.mixings, family.mixing)
        shrinkages = _take_neighbours(self.shrinkages, float(family.shrinkage or 0.0))
        return CovarianceSettings(mixings, shrinkages, (family.shrinkage_target,), (family.n_components,))


def _take_neighbours(values: Sequence[float], value: float) -> Sequence[float]:
    """Return one of the values with the one before and the one after it."""
    i = list(values).index(value)
    return values[max(0, i - 1) : i + 2]


def choose_covariance(
    model: GenerativeModel, X: Any, codes: Codes, weight: Array | None, settings: CovarianceSettings
) -> CovarianceChoice:
    """Choose the settings of the model's only family with the least leave-one-out Brier score of these rows.

    The model has learned all the rows, and perhaps more. Of very many rows a uniform sample is left out, one by one;
    rows with missing values are not. Principal axes, and with very many columns the variances of the target
    "diagonal", are those of all rows. InputError if no row can be left out, or none differs from its
    class.
    """
    part: Any = _fill_pairs(model.complete.parts[0])  # type: ignore[arg-type]
    if not variance_within(part.moments).any():
        raise InputError(
            "no column varies within a class, so that there is no covariance to choose shrinkage or components for. "
            "Hint: shrinkage and n_components as numbers, or None"
        )
    n_columns = max(1, *(m or X.shape[1] for m in settings.components))
    n_rows = min(MAX_LEFT_OUT_ROWS, MAX_LEFT_OUT_CELLS // n_columns)
    x, rows = _sample_rows(X, codes, weight, part, n_rows)
    family: Any = model.assumption.families[0]
    search = CovarianceSearch(family, part, x, rows, log_priors_without_row(model, rows))
    coarse = search.find_best(settings.take_every_other())
    return search.find_best(settings.take_neighbours(coarse.family))


@dataclass(frozen=True)
class CovarianceSearch:
    """Rows that are left out one by one, the statistic that contains them, and ln π_k without each row."""

    family: Gaussian
    part: Scatter
    x: Array
    rows: LeftOutRows
    log_prior: Array

    def find_best(self, settings: CovarianceSettings) -> CovarianceChoice:
        """Return the choice with the least Brier score; InputError if no covariance is positive definite."""
        choices: list[CovarianceChoice] = []
        for target in settings.targets:
            for family, part, x in self._make_views(
                replace(self.family, shrinkage_target=target), settings.components
            ):
                for share in settings.mixings:
                    mixed = replace(family, mixing=share)
                    choices += self._rate(
                        LeftOutCovariances(mixed, part, x, self.rows, np.array(settings.shrinkages))
                    )
        if not choices:
            raise InputError(NO_COVARIANCE)
        return min(choices, key=lambda choice: choice.brier_score)

    def _make_views(
        self, family: Gaussian, components: Sequence[int | None]
    ) -> Iterator[tuple[Gaussian, Scatter, NDArray[Any]]]:
        """Yield the family with each number of components, and the statistic and rows of these, or of the columns.

        Of the columns these are the ones that vary within classes.
        """
        most = max((m for m in components if m is not None), default=None)
        if most is not None:
            axes = family.principal_axes(self.part, most)
            part, z = axes.project(self.part), axes.transform(self.x)
            for m in (m for m in components if m is not None):
                kept = np.arange(min(m, z.shape[1]))
                yield replace(family, n_components=m), part.take_features(kept), z[:, kept]
        if None in components:
            varying = np.flatnonzero(variance_within(self.part.moments) > 0)
            yield replace(family, n_components=None), self.part.take_features(varying), self.x[:, varying]

    def _rate(self, left_out: LeftOutCovariances) -> Iterator[CovarianceChoice]:
        """Yield the family with each γ and its leave-one-out figures, if its matrices are positive definite."""
        (n, d), codes, weight = left_out.X.shape, self.rows.codes, self.rows.weight
        is_small = n * self.part.n_classes * (d**3 + 500) < MAX_EXACT_OPERATIONS
        is_direct = is_small and left_out.family.shrinkage_target == "diagonal"
        scores = left_out.score_directly().scores if is_direct else left_out.score_by_eigenvalues().scores
        for gamma, score in zip(left_out.gammas.tolist(), scores):
            posterior = np.exp(normalise(score + self.log_prior))
            if np.isnan(posterior).any():
                continue
            hits = float(np.average(posterior.argmax(axis=1) == codes, weights=weight))
            posterior[np.arange(n), codes] -= 1
            squares = float(np.average((posterior**2).sum(axis=1), weights=weight))
            yield CovarianceChoice(replace(left_out.family, shrinkage=gamma or None), squares, hits, n)


def _fill_pairs(part: Scatter) -> Scatter:
    """Return a scatter in which all pairs of a class have its weight, and the covariances of the pairs."""
    if part.complete:
        return part
    n = part.moments.weight.max(axis=1)[:, None, None]
    mean = (part.moments.mean + part.moments.rest)[:, :, None]
    return Scatter(n, mean, np.zeros_like(mean), divide(part.comoment, part.weight) * n)


def _sample_rows(X: Any, codes: Codes, weight: Array | None, part: Scatter, n_rows: int) -> tuple[Array, LeftOutRows]:
    """Return those of a sample of rows that have all values and a class with other rows; their codes and weights.

    Rows of weight 0 are no rows: the sample, and the mean of the weights, are those of the others.
    """
    w = np.ones(len(codes)) if weight is None else to_host(weight)
    present = np.flatnonzero(w)
    index = present[sample_row_numbers(len(present), max(1, n_rows))]
    some: Any = to_host(X)[index]
    x = np.asarray(some.toarray() if is_sparse(some) else some, dtype=np.float64)
    known, w = np.asarray(to_host(codes))[index], w[index]
    keep = ~np.isnan(x).any(axis=1) & has_remainder(part.weight[known, 0, 0], w)
    if not keep.any():
        raise InputError(
            "no sampled row has all its values and another row of its class: none can be left out for the choice. "
            "Hint: shrinkage as a number from 0 to 1"
        )
    w = w[keep]
    if len(np.unique(w)) > MAX_DISTINCT_WEIGHTS:  # each row is left out with their mean
        w = np.full(len(w), w.mean())
    return x[keep], LeftOutRows(known[keep], w, np.zeros(len(w), dtype=np.bool_))
