"""Logistic regression of numbers, from rows to score forms: missing cells, C, the start, the fit and its account."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import is_sparse
from deciban.ledger import Needs, Schema
from deciban.ledger.hashing import sample_row_numbers
from deciban.linear.fit_report import Account, Setting
from deciban.linear.fitted_model import FittedModel
from deciban.linear.mean_imputation import column_means, filled
from deciban.linear.naive_bayes_start import bayes_start
from deciban.linear.penalty_choice import ROUGH, Chosen, Judges, by_folds
from deciban.linear.solvers.logistic import LogisticFit, fit_matrix
from deciban.linear.solvers.logistic_objective import expand_to_classes
from deciban.scores import Linear

Weights = tuple[Array, Array]
"""Of the features, one row a score (one for two classes), and the intercepts."""

SAMPLE = 20_000
"""So many rows tell well enough how far the columns spread."""

FREE = 1e3
"""At C of so many times what a column's spread asks for, hardly anything is held back any more."""

LEAST_C, MOST_C = 1e-12, 1e12


@dataclass(frozen=True)
class LogisticSettings:
    """How logistic regression is to be fitted; the letters are scikit-learn's."""

    C: float | Literal["auto"] = 1.0
    l1_ratio: float = 0.0
    intercept: bool = True
    start: str = "zero"
    missing: str = "skip"
    tol: float = 1e-4
    max_iter: int = 100

    def penalty(self, C: float) -> tuple[float, float]:
        """What Σ W² / 2 and Σ |W| cost: nothing at C = ∞."""
        return (1 - self.l1_ratio) / C, self.l1_ratio / C


@dataclass(frozen=True)
class NumberRows:
    """Rows without missing cells, the place of each one's class, its weight, and how many classes there are."""

    X: Any
    codes: Codes
    weight: Array | None
    n_classes: int
    threads: int = 1

    def take(self, index: NDArray[np.intp]) -> NumberRows:
        """These rows alone."""
        if len(index) == len(self.codes):
            return self
        weight = None if self.weight is None else self.weight[index]
        return replace(self, X=self.X[index], codes=self.codes[index], weight=weight)

    def fit(
        self, settings: LogisticSettings, C: float, start: Weights | None, weight: Array | None = None
    ) -> LogisticFit:
        """The best weights at this C; rows may weigh otherwise."""
        weight, (l2, l1) = self.weight if weight is None else weight, settings.penalty(C)
        return fit_matrix(
            self.X, self.codes, weight, self.n_classes, l2=l2, l1=l1, intercept=settings.intercept, start=start,
            tol=settings.tol, max_iter=settings.max_iter, threads=self.threads,
        )  # fmt: skip

    def naive_start(self, settings: LogisticSettings, C: float) -> Weights | None:
        """Where naive Bayes would have the weights."""
        l2, l1 = settings.penalty(C)
        given = self.X, self.codes, self.weight, self.n_classes
        return bayes_start(*given, l2=l2, l1=l1, intercept=settings.intercept, threads=self.threads)


def regress(
    schema: Schema,
    X: Any,
    codes: Codes,
    weight: Array | None,
    settings: LogisticSettings,
    *,
    threads: int = 1,
    fold: NDArray[np.int32] | None = None,
    warm: Weights | None = None,
) -> FittedModel:
    """Weights fitted to rows of numbers (dense or CSR, of one block), as a linear form about the columns' means.

    `fold` says which rows are left out together where C is to be chosen, `warm` where to start instead of
    `settings.start`. A missing cell counts for the mean m_j of its column: its evidence w_j (x_j − m_j) is 0.
    """
    K = len(schema.classes)
    means = column_means(X, weight, settings.missing == "skip", threads)
    rows = NumberRows(filled(X, means), codes, weight, K, threads)
    fold = np.full(len(codes), -1, dtype=np.int32) if fold is None else fold
    C = settings.C if not isinstance(settings.C, str) else _best_C(rows, settings, fold).C
    if warm is None and settings.start == "bayes":
        warm = rows.naive_start(settings, C)
    fit = rows.fit(settings, C, warm)
    form, bias = about_means(fit, means)
    of_class = np.bincount(codes, weights=weight, minlength=K).astype(np.float64)
    needs = Needs("moments", skips=settings.missing == "skip")
    return FittedModel.of(schema, [form], [needs], bias, of_class, _account(fit, settings, C, X.shape[1], K))


def about_means(fit: LogisticFit, means: Array) -> tuple[Linear, Array]:
    """Σ_j w_kj (x_j − m_j) over the cells that are there, as a form, and each class's score where all are at m."""
    weights = expand_to_classes(fit.weights)
    offsets = -weights * means
    return Linear(weights, np.zeros(len(weights)), offsets), expand_to_classes(fit.bias) - offsets.sum(axis=1)


def _account(fit: LogisticFit, settings: LogisticSettings, C: float, d: int, K: int) -> Account:
    told: dict[str, Setting] = {
        "C": C, "C_chosen": settings.C == "auto", "l1_ratio": settings.l1_ratio, "start": settings.start
    }  # fmt: skip
    n_parameters, ended = (K - 1) * (d + settings.intercept), (bool(fit.converged), bool(fit.separable))
    return Account("logistic", told, float(fit.objective), float(fit.loss), int(fit.n_iter), *ended, n_parameters)


@dataclass(frozen=True)
class _Trials:
    """Fits without a fold: rows that are left out weigh nothing, so that they need not be copied."""

    rows: NumberRows
    fold: NDArray[np.int32]
    settings: LogisticSettings

    def refit(self, f: int, C: float, before: Weights | None) -> Weights:
        """See `Trials.refit`."""
        w = 1.0 if self.rows.weight is None else self.rows.weight
        fit = self.rows.fit(self.settings, C, before, np.where(self.fold == f, 0.0, w))
        return fit.weights, fit.bias

    def scores(self, f: int, learned: Weights) -> Array:
        """See `Trials.scores`."""
        mine = np.flatnonzero(self.fold == f)
        return np.asarray(self.rows.X[mine] @ learned[0].T, dtype=np.float64) + learned[1]


def _best_C(rows: NumberRows, settings: LogisticSettings, fold: NDArray[np.int32]) -> Chosen:
    """C by cross-validation, between what the columns' spreads call for."""
    rough = replace(settings, tol=max(settings.tol, ROUGH))

    def trials(index: NDArray[np.intp], judges: Judges) -> _Trials:
        return _Trials(rows.take(index), judges.fold, rough)

    judges = Judges(rows.codes, rows.weight, fold)
    reach = _reach(rows.X, float(judges.weights.sum()), settings.l1_ratio)
    return by_folds(judges, trials, *reach)


def _reach(X: Any, n: float, l1_ratio: float) -> tuple[float, float]:
    """The C at which the penalty outweighs all rows in the widest column, and that at which the columns are free.

    A weight is worth one over its column's spread, and its square one over the variance.
    """
    rows = X[sample_row_numbers(X.shape[0], SAMPLE)]
    rows = rows.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
        variance = np.asarray(squares.mean(axis=0) - np.asarray(rows.mean(axis=0)) ** 2).reshape(-1)
    spread = variance[(variance > 0) & np.isfinite(variance)]
    if l1_ratio > 0:
        spread = np.sqrt(spread)
    if not len(spread):
        return 1.0, 1.0
    least, most = np.clip([1 / (n * spread.max()), FREE / np.median(spread)], LEAST_C, MOST_C)
    return float(least), float(max(most, least))
