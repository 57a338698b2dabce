"""The shared matrix: every statistic with data of its kind, and the comparison of two of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deciban.ledger import Bags, Cells, Counts, Grid, Levels, Moments, Pairs, Scatter, Tallies

RELATIVE = 1e-12
NOISE = 64 * np.finfo(np.float64).eps
WEIGHTS = [0.25, 0.5, 1.0, 2.0, 3.0]  # dyadic, so that sums of them are exact
MEANS = {"mean", "rest"}


@dataclass(frozen=True)
class Kind:
    """One line of the matrix."""

    name: str
    of: Callable[..., Any]
    empty: Callable[[int, int], Any]
    value: st.SearchStrategy
    dtype: type = np.float64
    exact: bool = True


def tallies(X, codes, weight, K):
    return Tallies.from_counts(Counts.of(X, codes, weight, K))


def bags(X, codes, weight, K):
    return Bags(tallies(X, codes, weight, K), tallies(X > 0, codes, weight, K))


def presences(X, codes, weight, K):
    once = tallies(X > 0, codes, weight, K)
    return Bags(once, once)


def pairs(X, codes, weight, K):
    return Pairs.of(X, codes, weight, K, 4)


def no_pairs(K, d):
    return pairs(np.zeros((0, d), dtype=np.int64), np.zeros(0, dtype=np.int32), None, K)


small = st.integers(0, 4)
number = st.floats(-100, 100, width=32)
far = number.map(lambda x: 1e8 + x / 100)
nan = st.just(np.nan)
code = st.integers(0, 3)
missing_code = st.integers(-1, 3)

KINDS = [
    Kind("counts", Counts.of, Counts.empty, small),
    Kind("counts, missing", Counts.of, Counts.empty, small | nan),
    Kind("indicators, missing", partial(Counts.of, threshold=1.0), Counts.empty, small | nan),
    Kind("tallies", tallies, Tallies.empty, small),
    Kind("bags", bags, Bags.empty, small),
    Kind("bags of presence", presences, partial(Bags.empty, presence=True), small),
    Kind("levels", Levels.of, Levels.empty, code, np.int64),
    Kind("levels, missing", Levels.of, Levels.empty, missing_code, np.int64),
    Kind("cells", Cells.of, Cells.empty, code, np.int64),
    Kind("cells, missing", Cells.of, Cells.empty, missing_code, np.int64),
    Kind("grid", Grid.of, Grid.empty, number),
    Kind("grid, missing", Grid.of, Grid.empty, number | nan),
    Kind("grid of whole numbers", Grid.of, Grid.empty, small, np.int64),
    Kind("pairs", pairs, no_pairs, code, np.int64),
    Kind("pairs, missing", pairs, no_pairs, missing_code, np.int64),
    Kind("moments", Moments.of, Moments.empty, number, exact=False),
    Kind("moments, missing", Moments.of, Moments.empty, number | nan, exact=False),
    Kind("moments at 1e8", Moments.of, Moments.empty, far, exact=False),
    Kind("scatter", Scatter.of, Scatter.empty, number, exact=False),
    Kind("scatter, missing", Scatter.of, Scatter.empty, number | nan, exact=False),
    Kind("scatter at 1e8", Scatter.of, Scatter.empty, far, exact=False),
]


@dataclass(frozen=True)
class Rows:
    """Rows with their classes and weights, and the kind of statistic that counts them."""

    kind: Kind
    X: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    K: int

    def __len__(self):
        return len(self.X)

    @property
    def d(self):
        return self.X.shape[1]

    def take(self, rows):
        rows = np.asarray(rows, dtype=np.intp)
        return Rows(self.kind, self.X[rows], self.codes[rows], self.weight[rows], self.K)

    def with_weight(self, weight):
        return Rows(self.kind, self.X, self.codes, np.asarray(weight, dtype=np.float64), self.K)

    def plus(self, other):
        both = (np.concatenate(pair) for pair in zip(self._columns(), other._columns()))
        return Rows(self.kind, *both, self.K)

    def _columns(self):
        return self.X, self.codes, self.weight

    def statistic(self):
        return freeze(self.kind.of(self.X, self.codes, self.weight, self.K))

    def empty(self):
        return freeze(self.kind.empty(self.K, self.d))


@st.composite
def rows_of(draw, kind, least=0):
    """A few rows: none, one, a class without rows, and equal rows among them."""
    n, d, K = draw(st.integers(least, 8)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    X = draw(arrays(kind.dtype, (n, d), elements=kind.value))
    codes = draw(arrays(np.int32, n, elements=st.integers(0, K - 1)))
    weight = draw(arrays(np.float64, n, elements=st.sampled_from(WEIGHTS)))
    return Rows(kind, X, codes, weight, K)


def freeze(statistic):
    """Return the statistic with read-only arrays."""
    for array in statistic.arrays().values():
        array.flags.writeable = False
    return statistic


def assert_same(actual, expected, scale=None):
    """Counts to the last bit; moments to 1e-12 of `scale` (by default the expected ones)."""
    a, b = actual.arrays(), expected.arrays()
    assert a.keys() == b.keys()
    if not MEANS & a.keys():
        for name in a:
            assert_equal_arrays(name, a[name], b[name])
        return
    peak = expected if scale is None else scale
    assert_equal_arrays("weight", a["weight"], b["weight"], RELATIVE * wide(peak.weight, a["weight"], b["weight"]))
    spread, size = deviations(peak)
    gap = (a["mean"] - b["mean"]) + (a["rest"] - b["rest"])
    assert (np.abs(gap) * b["weight"] <= RELATIVE * wide(size * peak.weight, gap)).all(), ("mean", gap)
    squares = "m2" if "m2" in a else "comoment"
    slip = np.abs(a[squares] - b[squares])
    tolerance = np.asarray(RELATIVE * spread) + wide((NOISE * size) ** 2 * peak.weight, spread)
    assert a[squares].shape == b[squares].shape
    assert (slip <= tolerance).all(), (squares, a[squares], b[squares])


def wide(array, *others):
    return np.broadcast_to(array, np.broadcast_shapes(np.shape(array), *(np.shape(o) for o in others)))


def deviations(statistic):
    """Return how large the squares (or, for a pair of features, their product) are, and how large the values."""
    if isinstance(statistic, Moments):
        return statistic.m2, np.abs(statistic.mean) + np.sqrt(safe_ratio(statistic.m2, statistic.weight))
    own = statistic.moments
    spread = np.sqrt(own.m2[:, :, None] * own.m2[:, None, :])
    size = np.abs(own.mean) + np.sqrt(safe_ratio(own.m2, own.weight))
    return spread, np.maximum(size[:, :, None], size[:, None, :] if statistic.weight.shape[1] > 1 else 0.0)


def safe_ratio(a, b):
    return a / np.where(b == 0, 1.0, b)


def assert_equal_arrays(name, a, b, tolerance=0.0):
    if name != "weight":  # K×1 where nothing is missing, K×d else
        assert a.shape == b.shape, (name, a.shape, b.shape)
    assert (np.abs(a - b) <= tolerance).all(), (name, a, b)
