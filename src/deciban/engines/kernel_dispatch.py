"""Where a kernel can do the work of a definition: for large inputs of a plain kind.

Every function here gives None or False when no kernel fits, or when the rows hold something no kernel deals
with (±∞, negative counts); the caller then goes through the definition.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines.checks import MOST_LEVELS
from deciban.kernels.execution import load_kernels as load_kernels
from deciban.ledger import Counts, Grid, Levels, Moments, Needs, Scatter, Statistic
from deciban.ledger.double_double import Pair
from deciban.ledger.grid import KEY_BITS
from deciban.ledger.moments import moments_about
from deciban.ledger.scatter import comoment_about
from deciban.scores import Diagonal, Full, Linear, Lookup, ScoreForm, Steps
from deciban.scores.linear import log_factorial
from deciban.scores.posterior import Finish
from deciban.scores.sums import Summed

UNIT_WEIGHT = np.empty(0)
"""How kernels are told that every row weighs one."""

UNSEEN = 2**52
"""A level code beyond this is one that was never seen, whatever it is exactly."""

GRID_COLUMNS = 16
"""Columns whose numbers are laid out in order at once: two lines of the cache from each row."""

GRID_ROOM = 1 << 16
"""Counts that a column's cells have room for at first."""


def plain(X: NDArray[Any], whole: bool = False) -> NDArray[Any]:
    """The rows as kernels take them: C order, one of a few kinds of number, read-only; copied only if need be.

    Few kinds, because each is compiled anew: double, single, byte; where only `whole` numbers are taken, 64-bit
    integers. Read-only, because arrays that may not be written are a kind of their own, and these are common.
    """
    if whole:
        X = np.ascontiguousarray(X, dtype=np.int64)
    elif X.dtype == np.bool_:
        X = np.ascontiguousarray(X).view(np.uint8)
    else:
        kept = X.dtype in (np.float64, np.float32, np.uint8)
        X = np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("=") if kept else np.float64)
    rows = X.view()
    rows.flags.writeable = False
    return rows


def as_read(threshold: float | None, X: Any) -> float | None:
    """A threshold in X's own kind of number: what is above 0.1 must not depend on who compares."""
    return float(X.dtype.type(threshold)) if threshold is not None and X.dtype.kind == "f" else threshold


def level_codes(X: NDArray[Any]) -> NDArray[Any]:
    """Level codes as whole numbers, −1 for a missing one."""
    if X.dtype.kind != "f":
        return plain(np.minimum(X, UNSEEN) if X.dtype == np.uint64 else X, whole=True)
    missing = np.isnan(X)
    codes = np.where(missing, 0, np.clip(X, -1, UNSEEN)).astype(np.int64)
    codes[missing] = -1
    return plain(codes, whole=True)


def statistic(
    fill: ModuleType | None, needs: Needs, X: NDArray[Any], codes: Codes, weight: Array | None, K: int
) -> Statistic | None:
    """A statistic by its kernel, from the module `summarise`."""
    if fill is None or not X.size or needs.unit or needs.kind == "cells":
        return None
    w = UNIT_WEIGHT if weight is None else weight
    if needs.kind == "moments":
        x = plain(X)
        if X.shape[1] == 1:
            return _moments_of_column(fill, x.reshape(-1), codes, w, K, needs.skips)
        return _moments(fill, x, codes, w, K) or (_moments_of_some(fill, x, codes, w, K) if needs.skips else None)
    if needs.kind == "scatter":
        return _scatter(fill, plain(X), codes, w, K)
    if needs.kind == "levels":
        return _levels(fill, needs, X, codes, w, K)
    if needs.kind == "grid":
        return _grid(needs, X, codes, w, K)
    return _counts(fill, needs, plain(X), codes, w, K)


def _moments(fill: ModuleType, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Moments | None:
    made = _empty_moments(K, X.shape[1], 1)
    return made if fill.fill_moments(X, codes, w, tuple(made.arrays().values())) else None


def _empty_moments(K: int, d: int, weights: int) -> Moments:
    """Moments to be filled, with so many weights a class."""
    n, n_rest = np.zeros((2, K, weights))
    mean, rest, m2, m2_rest = np.zeros((4, K, d))
    return Moments(n, mean, rest, m2, n_rest, m2_rest)


def _moments_of_column(
    fill: ModuleType, x: NDArray[Any], codes: Codes, w: Array, K: int, skips: bool
) -> Moments | None:
    """Moments of a single feature, whose weights have the same shape whether or not values are missing."""
    made = _empty_moments(K, 1, 1)
    return made if fill.fill_column(x, codes, w, skips, tuple(made.arrays().values())) else None


def _moments_of_some(fill: ModuleType, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Moments | None:
    """Moments of rows with missing values; columns with outliers are summed again in pairs of doubles."""
    made = _empty_moments(K, X.shape[1], X.shape[1])
    plain_sums = made.weight, made.mean, made.rest, made.m2, made.weight_rest
    if not import_module("deciban.kernels.missing_values").fill_moments(X, codes, w, *plain_sums):
        return None
    centre, limit = np.empty((2, K, X.shape[1]))
    fill.find_scales(X, codes, w, centre, limit)
    columns = np.flatnonzero((made.m2 > made.weight * limit).any(axis=0))
    if columns.size:
        sums = np.zeros((6, K, len(columns)))
        fill.sum_exactly(X, codes, w, columns, centre, limit, sums)
        n, drift, squares = Pair(*sums[:2]), Pair(*sums[2:4]), Pair(*sums[4:])
        exact = moments_about(centre[:, columns], n, drift, squares)
        parts = made.weight, made.weight_rest, made.mean, made.rest, made.m2, made.m2_rest
        for array, values in zip(parts, (*n, *exact)):
            array[:, columns] = values
    return made


def _scatter(fill: ModuleType, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Statistic | None:
    """Class means by their kernel, rows gathered by class about them, then one product of matrices a class.

    Where a column has outliers, what these add is summed apart, in pairs of doubles.
    """
    moments = _moments(fill, X, codes, w, K)
    if moments is None:
        return None
    d = X.shape[1]
    out = Scatter.empty(K, d)
    out.weight[:, 0], out.weight_rest[:, 0] = moments.weight, moments.weight_rest
    out.mean[:, :, 0], out.rest[:, :, 0] = moments.mean, moments.rest
    start = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=K))]).astype(np.int64)
    gap, (centre, limit) = np.empty(X.shape), np.empty((2, K, d))
    fill.find_scales(X, codes, w, centre, limit)
    wide = np.asarray((moments.m2 > moments.weight * limit).any(axis=1))
    limit[~wide] = np.inf
    centre[~wide] = moments.mean[~wide]
    if not wide.any():
        fill.centre_rows(X, codes, w, centre, start, gap)
    else:
        products = np.zeros((2, K, d, d))
        fill.centre_near_values(X, codes, w, centre, limit, start, gap, *products)
    for k in range(K):
        mine = gap[start[k] : start[k + 1]]
        squares = mine.T @ mine
        if wide[k]:
            far = Pair(*products[:, k])
            about_centre = far.plus(Pair(far.high.T, far.low.T)).plus(Pair.of(squares))
            shift = Pair(moments.mean[k], moments.rest[k]).minus(Pair.of(centre[k]))
            n = Pair(moments.weight[k], moments.weight_rest[k])
            out.comoment[k], out.comoment_rest[k] = comoment_about(about_centre, n, shift)
        else:
            rest = moments.rest[k]
            out.comoment[k] = squares - moments.weight[k] * np.outer(rest, rest)
    return out


def _counts(fill: ModuleType, needs: Needs, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Statistic | None:
    rows = np.bincount(codes, weights=w if len(w) else None, minlength=K).astype(np.float64)[:, None]
    if not len(w) and needs.threshold is not None and X.dtype == np.uint8:
        few = np.zeros((K, X.shape[1]), dtype=np.int64)
        fill.count_small(X, codes, int(np.clip(np.floor(needs.threshold), -1, 255)), few)
        return Counts(few.astype(np.float64), rows)
    total = np.zeros((K, X.shape[1]))
    bar = as_read(needs.threshold, X)
    threshold = np.nan if bar is None else bar
    if fill.fill_counts(X, codes, w, threshold, total):
        return Counts(total, rows)
    return _counts_of_some(needs, X, codes, w, threshold, K) if needs.skips else None


def _counts_of_some(
    needs: Needs, X: NDArray[Any], codes: Codes, w: Array, threshold: float, K: int
) -> Statistic | None:
    """Counts of rows with missing values."""
    total, weight = np.zeros((2, K, X.shape[1]))
    fill = import_module("deciban.kernels.missing_values").fill_counts
    return Counts(total, weight) if fill(X, codes, w, threshold, needs.signed, total, weight) else None


def _levels(fill: ModuleType, needs: Needs, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Statistic | None:
    """Room is guessed from the first rows; a code beyond it starts again with the true sizes."""
    if not _are_codes(X, needs):
        return None
    x = level_codes(X)
    for known in (x[:4096], x):
        sizes = np.maximum(known.max(axis=0).astype(np.int64) + 1, 0)
        if sizes.max() > MOST_LEVELS:
            return None
        offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        table = np.zeros((K, int(offset[-1])))
        short = fill.fill_levels(x, codes, w, offset, X.dtype.kind == "f" or needs.signed, table)
        if short <= 0:
            return Levels(table, offset).trim() if short == 0 else None
    return None


def _grid(needs: Needs, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Statistic | None:
    """Column by column; a few are laid out in order at once."""
    grid = import_module("deciban.kernels.grid")
    bits = plain(X.astype(np.float64, copy=False)).view(np.int64)
    keys: list[NDArray[np.int64]] = []
    tables, place = [], np.empty(grid.SLOT_COUNT, dtype=np.uint32)
    for first in range(0, X.shape[1], GRID_COLUMNS):
        for column in plain(bits[:, first : first + GRID_COLUMNS].T, whole=True):
            part = _cells(grid, column, codes, w, K, needs.skips, place)
            if part is None:
                return None
            keys.append((len(keys) << KEY_BITS) + part[0])
            tables.append(part[1].T)
    return Grid.from_keys(np.concatenate(keys), np.concatenate(tables, axis=1), X.shape[1])


def _cells(
    grid: ModuleType, bits: NDArray[Any], codes: Codes, w: Array, K: int, skips: bool, place: NDArray[Any]
) -> tuple[NDArray[np.int64], Array] | None:
    """The cells of a column in order and their counts, m×K."""
    room = min(len(bits), max(64, GRID_ROOM // K))
    slots, count = np.empty(room, dtype=np.int32), np.empty((room, K))
    row, used = grid.count_column(bits, codes, w, skips, 0, place, slots, 0, count)
    while 0 <= row < len(bits):
        slots, count = (np.concatenate([a, np.empty_like(a)]) for a in (slots, count))
        row, used = grid.count_column(bits, codes, w, skips, row, place, slots, used, count)
    cells = grid.slots_to_cells(slots[:used])
    order = np.argsort(cells)
    return None if row < 0 else (cells[order], count[order])


def _are_codes(X: NDArray[Any], needs: Needs) -> bool:
    """Whether floating numbers are all codes, or missing where that is allowed; whole numbers are looked at later."""
    if X.dtype.kind != "f":
        return True
    missing = np.isnan(X)
    return bool((missing | (X >= 0) & np.isfinite(X)).all() and (needs.skips or not missing.any()))


def score(
    apply: ModuleType | None, form: ScoreForm, X: NDArray[Any], needs: Needs, wanted: Finish, out: Array
) -> bool:
    """Add ln p(x|k) of a block of rows to `out` by the form's kernel, from the module `score`.

    `out` is spoilt where that fails.
    """
    if isinstance(form, Summed):
        return all(score(apply, part, X, needs, wanted, out) for part in form.forms)
    if isinstance(form, Full):
        return form.shared and wanted not in ("joint", "density") and _contrast(form, X, out)
    if apply is None or not X.size or needs.unit or not isinstance(form, (Diagonal, Lookup, Steps, Linear)):
        return False
    if isinstance(form, Diagonal):
        return _diagonal(apply, form, plain(X), needs, out)
    if isinstance(form, Lookup):
        return _are_codes(X, needs) and _lookup(apply, form, X, needs, out)
    if isinstance(form, Steps):
        by_bin, _ = form.lookup.by_level
        return bool(apply.steps(plain(X), form.cuts, form.start, by_bin, needs.skips, out) == len(X))
    return form.barrier is None and _linear(apply, form, plain(X), needs, wanted, out)


def _contrast(form: Full, X: NDArray[Any], out: Array) -> bool:
    """One product for all classes, where only their differences are wanted; what is missing or infinite shows."""
    with np.errstate(over="ignore", invalid="ignore"):
        contrast = form.contrast(X)
        fine = bool(np.isfinite(contrast.sum()))
    out += contrast
    return fine


def _diagonal(apply: ModuleType, form: Diagonal, X: NDArray[Any], needs: Needs, out: Array) -> bool:
    done = apply.diagonal(X, form.mean, form.precision, form.constant, out)
    if done == len(X) or not needs.skips:
        return bool(done == len(X))
    rest = import_module("deciban.kernels.missing_values").diagonal
    return bool(rest(X[done:], form.mean, form.precision, form.log_norm, np.zeros(form.n_classes), out[done:]))


def _lookup(apply: ModuleType, form: Lookup, X: NDArray[Any], needs: Needs, out: Array) -> bool:
    by_level, unseen = form.by_level
    missing = X.dtype.kind == "f" or needs.signed
    done = apply.lookup(level_codes(X), by_level, form.offset, unseen, missing, out)
    return bool(done == len(X))


def _linear(apply: ModuleType, form: Linear, X: NDArray[Any], needs: Needs, wanted: Finish, out: Array) -> bool:
    bar = as_read(form.threshold, X)
    threshold = np.nan if bar is None else bar
    done = apply.linear(X, form.weights, form.whole_bias, threshold, needs.signed, out)
    if done < len(X):
        if not needs.skips:
            return False
        rest = import_module("deciban.kernels.missing_values").linear
        offsets = np.zeros_like(form.weights) if form.offsets is None else form.offsets
        if not rest(X[done:], form.weights, offsets, form.bias, threshold, needs.signed, out[done:]):
            return False
    if form.carrier is not None and wanted in ("joint", "density"):
        out -= log_factorial(X)[:, None]
    return True


def finish(apply: ModuleType | None, joint: Array, log_prior: Array, wanted: Finish, out: NDArray[Any]) -> int | None:
    """Finish a block of joint scores; returns how many rows are impossible under every class."""
    if apply is None or wanted == "joint":
        return None
    if wanted == "winner":
        return int(apply.winners(joint, log_prior, out))
    if wanted == "density":
        apply.densities(joint, out)
        return 0
    return int(apply.normalise(joint, log_prior, wanted == "log_posterior"))
