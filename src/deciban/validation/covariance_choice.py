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
from deciban.families.gaussian import Gaussian, pooled_variance
from deciban.generative import GenerativeModel
from deciban.ledger import Scatter
from deciban.ledger.hashing import sample_row_numbers
from deciban.ledger.statistic import divide
from deciban.metrics.calibration_fit import temperature
from deciban.scores.posterior import normalise
from deciban.validation.closed_form import LeftOutRows, has_remainder
from deciban.validation.closed_form_covariances import LeftOutCovariances
from deciban.validation.fold_models import log_priors_without_row

MIXINGS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0)
"""The values of λ that are compared."""

SHRINKAGES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 1.0)
"""The values of γ that are compared."""

COMPONENTS = (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 35, 45, 55, 70, 90, 120, 160, 220, 300)
"""The numbers of principal components that are compared, as far as there are columns."""

MAX_CHOICE_ROWS, MAX_CHOICE_CELLS = 10_000, 1 << 21
"""The number of rows, and of their values, that are left out; of more a uniform sample is."""

MAX_EXACT_OPERATIONS = 3 * 10**9
"""The number of operations up to which the target's own change by each row is taken into account."""

MAX_DISTINCT_WEIGHTS = 8
"""The number of different weights of rows up to which each is left out with its own; else with their mean."""


@dataclass(frozen=True)
class CovarianceChoice:
    """A family with the chosen settings, and its leave-one-out log-loss and accuracy.

    The log-loss is that of evidence multiplied by the best common factor: dependent columns make Gaussians of many
    columns far too certain, and the log-loss without the factor is then that of few rows.
    """

    family: Gaussian
    log_loss: float
    accuracy: float
    n_rows: int


@dataclass(frozen=True)
class Settings:
    """The values of λ, γ and numbers of components (None: all columns as they are) to be compared."""

    mixings: Sequence[float]
    shrinkages: Sequence[float]
    components: Sequence[int | None] = (None,)


def choose_covariance(
    model: GenerativeModel, X: Any, codes: Codes, weight: Array | None, settings: Settings
) -> CovarianceChoice:
    """Choose the settings of the model's only family with the least leave-one-out log-loss of these rows.

    The model has learned all the rows, and perhaps more. Of very many rows a uniform sample is left out, one by one;
    rows with missing values are not. Principal axes, and with very many columns the variances of the target
    "diagonal", are those of all rows.
    """
    family: Any = model.assumption.families[0]
    part: Any = _fill_pairs(model.complete.parts[0])
    x, rows = _sample_rows(X, codes, weight, part)
    log_prior = log_priors_without_row(model, rows)
    choices = []
    for m in settings.components:
        own = replace(family, n_components=m)
        statistic, values = _view(own, part, x)
        for share in settings.mixings:
            mixed = replace(own, mixing=share) if own.covariance == "mixed" else own
            left_out = LeftOutCovariances(mixed, statistic, values, rows, np.array(settings.shrinkages))
            choices += _rate(left_out, log_prior, mixed, settings)
    return min(choices, key=lambda choice: choice.log_loss)


def _rate(
    left_out: LeftOutCovariances, log_prior: Array, family: Gaussian, settings: Settings
) -> Iterator[CovarianceChoice]:
    """Yield the family with each γ, and its leave-one-out log-loss; those without a positive definite matrix not."""
    (n, d), K = left_out.X.shape, log_prior.shape[1]
    n_matrices = n * K * len(settings.shrinkages) * len(settings.mixings) * len(settings.components)
    moves = family.shrinkage_target == "diagonal" and any(settings.shrinkages)
    is_direct = moves and n_matrices * (d**3 + 500) < MAX_EXACT_OPERATIONS
    scores = left_out.score_directly().scores if is_direct else left_out.score_by_eigenvalues().scores
    codes, weight = left_out.rows.codes, left_out.rows.weight
    for gamma, score in zip(settings.shrinkages, scores):
        log_posterior = normalise(score + log_prior)
        if np.isnan(log_posterior).any():
            continue
        scaled = temperature(log_posterior, codes, weight).apply(log_posterior)
        loss = -float(np.average(scaled[np.arange(n), codes], weights=weight))
        hits = float(np.average(log_posterior.argmax(axis=1) == codes, weights=weight))
        yield CovarianceChoice(replace(family, shrinkage=gamma or None), loss, hits, n)


def _fill_pairs(part: Scatter) -> Scatter:
    """Return a scatter in which all pairs of a class have its weight, and the covariances of the pairs."""
    if part.complete:
        return part
    n = part.moments.weight.max(axis=1)[:, None, None]
    mean = (part.moments.mean + part.moments.rest)[:, :, None]
    return Scatter(n, mean, np.zeros_like(mean), divide(part.comoment, part.weight) * n)


def _sample_rows(X: Any, codes: Codes, weight: Array | None, part: Scatter) -> tuple[Array, LeftOutRows]:
    """Return a sample of the rows without missing values whose class has other rows, and their codes and weights."""
    w = np.ones(len(codes)) if weight is None else to_host(weight)
    n_rows = min(MAX_CHOICE_ROWS, max(1, MAX_CHOICE_CELLS // max(1, part.n_features)))
    index = sample_row_numbers(len(codes), n_rows)
    some = to_host(X)[index]
    x = np.asarray(some.toarray() if is_sparse(some) else some, dtype=np.float64)
    known, w = np.asarray(to_host(codes))[index], w[index]
    keep = ~np.isnan(x).any(axis=1) & has_remainder(part.weight[known, 0, 0], w)
    if not keep.any():
        raise InputError(
            "no row has all its values and another row of its class, so none can be left out to choose the shrinkage. "
            "Hint: shrinkage as a number from 0 to 1"
        )
    w = w[keep]
    if len(np.unique(w)) > MAX_DISTINCT_WEIGHTS:
        w = np.full(len(w), w.mean())
    return x[keep], LeftOutRows(known[keep], w, np.zeros(len(w), dtype=np.bool_))


def _view(family: Gaussian, part: Scatter, x: Array) -> tuple[Scatter, NDArray[Any]]:
    """Return the statistic and rows of the columns that vary within classes, or of the principal components."""
    if family.n_components is not None:
        axes = family.principal_axes(part, family.n_components)
        return axes.project(part), axes.transform(x)
    varying = np.flatnonzero(pooled_variance(part.moments) > 0)
    return (part, x) if len(varying) == x.shape[1] else (part.take_features(varying), x[:, varying])
