"""Logistic regression of numeric features, from rows to score forms: missing cells, C, start, fit and account."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array, Codes
from deciban.engines import is_sparse, is_tensor
from deciban.errors import DecibanError
from deciban.families.count_families import Multinomial
from deciban.families.family import ClassPrior, Family, log
from deciban.families.gaussian import Gaussian
from deciban.generative import Assumption, GenerativeModel, summarise_rows
from deciban.ledger import Needs, Schema
from deciban.ledger.hashing import sample_row_numbers
from deciban.ledger.statistic import divide
from deciban.linear.fitted_model import Account, FittedModel, Setting
from deciban.linear.penalty_choice import CHOICE_TOL, FoldedRows, Refit, ScoreFold, choose_C_by_folds
from deciban.linear.solvers.logistic import Dense, LogisticFit, Sparse, fit_parts
from deciban.linear.solvers.logistic_objective import compute_losses, contrast, expand_to_classes
from deciban.scores import Linear

Weights = tuple[Array, Array]
"""The weights of the features, one row per score (one for two classes), and the intercepts."""

SCALE_SAMPLE_ROWS = 20_000
"""The number of rows that suffices to estimate the columns' variances, and the length of the naive Bayes start."""

WEAK_PENALTY_FACTOR = 1e3
"""At C of this many times the inverse of a column's variance there is hardly any penalty left."""

MIN_SEARCHED_C, MAX_SEARCHED_C = 1e-12, 1e12
"""The least and the greatest C that cross-validation tries."""

MAX_START_FACTOR = 4.0
"""Naive Bayes is over-confident where features repeat each other; four times its weights is the longest start."""

MIN_START_FACTOR = 1e-16
"""A column that never varies within a class has unbounded evidence; shorter starts than this are not tried."""

COLUMN_SUMS = {True: Needs("counts"), False: Needs("counts", skips=False)}
"""The statistic that sums columns, with missing cells left out (True) or refused (False)."""


@dataclass(frozen=True)
class LogisticSettings:
    """Settings of logistic regression, named as in scikit-learn; `start` is "zero" or "bayes"."""

    C: float | Literal["auto"] = 1.0
    l1_ratio: float = 0.0
    intercept: bool = True
    start: str = "zero"
    missing: str = "skip"
    tol: float = 1e-4
    max_iter: int = 100

    def penalty(self, C: float) -> tuple[float, float]:
        """Return the factors of Σ W² / 2 and Σ |W|: zero at C = ∞."""
        return (1 - self.l1_ratio) / C, self.l1_ratio / C


@dataclass(frozen=True)
class NumberRows:
    """Rows without missing cells, their class codes and weights, and the number of classes."""

    X: Any
    codes: Codes
    weight: Array | None
    n_classes: int
    threads: int = 1

    def take(self, index: NDArray[np.intp]) -> "NumberRows":
        """Return these rows only; the object itself where they are as many as all."""
        if len(index) == len(self.codes):
            return self
        weight = None if self.weight is None else self.weight[index]
        return replace(self, X=self.X[index], codes=self.codes[index], weight=weight)

    def fit(
        self, settings: LogisticSettings, C: float, start: Weights | None, weight: Array | None = None
    ) -> LogisticFit:
        """Fit the weights at this C; `weight` replaces the weights of the rows."""
        weight = self.weight if weight is None else weight
        if is_tensor(self.X):
            from deciban.linear.device_fit import fit_on_device

            return fit_on_device(
                self.X, self.codes, weight, self.n_classes, l2=settings.penalty(C)[0], start=start,
                intercept=settings.intercept, tol=settings.tol, max_iter=settings.max_iter,
            )  # fmt: skip
        part = (Sparse if is_sparse(self.X) else Dense)(self.X, *settings.penalty(C))
        return fit_parts(
            [part], self.codes, weight, self.n_classes, start=None if start is None else ([start[0]], start[1]),
            intercept=settings.intercept, tol=settings.tol, max_iter=settings.max_iter, threads=self.threads,
        )  # fmt: skip


def fit_logistic_regression(
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
    """Fit weights to rows of numbers (dense or CSR, of one block), as a linear form about the columns' means.

    `fold` is the fold in which each row is held out, by which C is chosen; None where C is given. `warm` replaces
    `settings.start`. A missing cell counts as the mean m_j of its column: its evidence w_j (x_j − m_j) is 0.
    """
    K = len(schema.classes)
    means = compute_column_means(X, weight, settings.missing == "skip", threads)
    rows = NumberRows(fill_missing(X, means), codes, weight, K, threads)
    C = float(settings.C) if fold is None else _choose_C(rows, settings, fold)
    if warm is None and settings.start == "bayes":
        warm = find_bayes_start(rows, *settings.penalty(C), settings.intercept)
    fit = rows.fit(settings, C, warm)
    weights = expand_to_classes(fit.weights)
    offsets = -weights * means
    form, bias = Linear(weights, np.zeros(K), offsets), expand_to_classes(fit.bias) - offsets.sum(axis=1)
    class_weights = engines.count_rows(codes, weight, K)
    needs = Needs("moments", skips=settings.missing == "skip")
    values: dict[str, Setting] = {
        "C": C, "C_chosen": fold is not None, "l1_ratio": settings.l1_ratio, "start": settings.start
    }  # fmt: skip
    account = Account.of_fit("logistic", values, fit, (K - 1) * (X.shape[1] + settings.intercept))
    return FittedModel.of(schema, [form], [needs], bias, class_weights, account)


def _choose_C(rows: NumberRows, settings: LogisticSettings, fold: NDArray[np.int32]) -> float:
    """Choose C by cross-validation, in the range that suits the columns' variances."""
    rough = replace(settings, tol=max(settings.tol, CHOICE_TOL))

    def prepare(index: NDArray[np.intp], sample: FoldedRows) -> tuple[Refit[Weights], ScoreFold[Weights]]:
        some, fold = rows.take(index), sample.fold

        def refit(f: int, C: float, before: Weights | None) -> Weights:
            # held-out rows have weight zero, so that no rows need be copied
            fit = some.fit(rough, C, before, np.where(fold == f, 0.0, sample.weights))
            return fit.weights, fit.bias

        def score(f: int, state: Weights) -> Array:
            return np.asarray(some.X[np.flatnonzero(fold == f)] @ state[0].T, dtype=np.float64) + state[1]

        return refit, score

    folded = FoldedRows(rows.codes, rows.weight, fold)
    C_range = _choose_search_range(rows.X, float(folded.weights.sum()), settings.l1_ratio)
    return choose_C_by_folds(folded, prepare, *C_range).C


def _choose_search_range(X: Any, n: float, l1_ratio: float) -> tuple[float, float]:
    """Return the C at which the penalty outweighs all rows in the widest column, and one with hardly any penalty.

    A weight has the scale of one over its column's standard deviation, and its square of one over the variance.
    """
    rows = X[sample_row_numbers(X.shape[0], SCALE_SAMPLE_ROWS)].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
        variance = np.asarray(squares.mean(axis=0) - np.asarray(rows.mean(axis=0)) ** 2).reshape(-1)
    spread = variance[(variance > 0) & np.isfinite(variance)]
    if l1_ratio > 0:
        spread = np.sqrt(spread)
    if not len(spread):
        return 1.0, 1.0
    bounds = [1 / (n * spread.max()), WEAK_PENALTY_FACTOR / np.median(spread)]
    lowest, highest = np.clip(bounds, MIN_SEARCHED_C, MAX_SEARCHED_C)
    return float(lowest), float(max(highest, lowest))


def compute_column_means(X: Any, weight: Array | None, skips: bool, threads: int) -> Array:
    """Compute m_j, the mean of the values present, 0 if none. InvalidValueError for ±∞, and for NaN unless `skips`.

    >>> compute_column_means(np.array([[1.0, np.nan], [3.0, np.nan]]), None, True, 1).tolist()
    [2.0, 0.0]
    """
    if is_tensor(X):
        return engines.average_columns(X, weight, skips)
    one_class = np.zeros(X.shape[0], dtype=np.int32)
    part: Any = engines.summarise(COLUMN_SUMS[skips], X, one_class, weight, 1, threads)
    return np.asarray(divide(part.total[0], np.broadcast_to(part.weight[0], part.total[0].shape)))


def fill_missing(X: Any, means: Array) -> Any:
    """Return the rows with missing cells at the mean of their column: a copy, or X itself where no cell is missing.

    >>> fill_missing(np.array([[1.0, 5.0], [np.nan, 7.0]]), np.array([1.0, 6.0])).tolist()
    [[1.0, 5.0], [1.0, 7.0]]
    """
    if is_tensor(X):
        return engines.fill_missing(X, means)
    sparse = is_sparse(X)
    with np.errstate(over="ignore", invalid="ignore"):
        is_complete = not np.isnan((X.data if sparse else X).sum())
    if is_complete:
        return X
    X = X.copy()
    if sparse:
        missing = np.isnan(X.data)
        X.data[missing] = means[X.indices[missing]]
    else:
        rows, columns = np.nonzero(np.isnan(X))
        X[rows, columns] = means[columns]
    return X


def find_bayes_start(rows: NumberRows, l2: float, l1: float, intercept: bool) -> Weights | None:
    """Return weights and bias in the direction of naive Bayes, at the best length; None where zero is no worse.

    Numbers are Gaussian with a shared variance for each column (then naive Bayes is linear), sparse counts are
    multinomial. The evidence is scaled by the one factor t that minimises the penalised loss, as a temperature would:
    naive Bayes counts repeated evidence twice, so its own weights may be worse than a start at zero.
    """
    try:
        weights, bias, log_prior = _fit_naive_bayes(rows)
    except DecibanError:  # for instance values whose squares overflow: the search needs no start
        return None
    weights, bias, log_prior = (contrast(each) for each in (weights, bias, log_prior))
    if not intercept:
        bias, log_prior = np.zeros_like(bias), np.zeros_like(bias)
    t = _find_best_factor(rows, weights, bias, log_prior, l2, l1)
    return (t * weights, log_prior + t * bias) if t > 0 else None


def _fit_naive_bayes(rows: NumberRows) -> tuple[Array, Array, Array]:
    """Return weights, bias and log-prior of naive Bayes, K×d, K and K."""
    X = rows.X
    are_counts = is_sparse(X) and (X.nnz == 0 or X.data.min() >= 0)
    family: Family = Multinomial() if are_counts else Gaussian("tied_diagonal")
    assumption = Assumption((family,), ClassPrior("smoothed"))
    classes = list(range(rows.n_classes))
    ledger = summarise_rows(assumption, classes, [None], [X], rows.codes, rows.weight, rows.threads)
    solved = GenerativeModel(assumption, ledger).solved
    line = solved.forms[0].linear()
    return line.weights, line.bias, log(solved.prior)


def _find_best_factor(rows: NumberRows, weights: Array, bias: Array, log_prior: Array, l2: float, l1: float) -> float:
    """Find the t ≥ 0 that minimises Σ w ℓ(y, log-prior + t·evidence) and penalty; one product serves every t.

    The greatest t is divided by four while this convex function falls; then the minimum is searched in between.
    """
    from scipy.optimize import minimize_scalar

    index = sample_row_numbers(len(rows.codes), SCALE_SAMPLE_ROWS)
    w = np.ones(len(index)) if rows.weight is None else rows.weight[index]
    share = float(w.sum()) / (len(rows.codes) if rows.weight is None else float(rows.weight.sum()))
    evidence, y = np.asarray(rows.X[index] @ weights.T, dtype=np.float64) + bias, rows.codes[index]
    squares, sizes = share * 0.5 * l2 * float((weights**2).sum()), share * l1 * float(np.abs(weights).sum())

    def objective(t: float) -> float:
        return float(w @ compute_losses(log_prior + t * evidence, y)) + squares * t * t + sizes * t

    t, value = MAX_START_FACTOR, objective(MAX_START_FACTOR)
    while t > MIN_START_FACTOR and (nearer := objective(t / 4)) < value:
        t, value = t / 4, nearer
    found = minimize_scalar(
        objective, bounds=(t / 4, min(4 * t, MAX_START_FACTOR)), method="bounded", options={"xatol": t / 50}
    )
    best = float(found.x) if found.fun < value else t
    return best if objective(best) < objective(0.0) else 0.0
