"""The shared matrix of tables: awkward shapes, kinds of number and weights, and the comparison with definitions."""

import numpy as np
from hypothesis import strategies as st

from deciban.engines import dense as arrays
from deciban.engines import kernel_dispatch as fast
from deciban.kernels import moments
from deciban.ledger import Moments, Needs, Scatter
from tests.laws.matrix import assert_same

ROWS = [0, 1, 2, 31, 32, 33, 63, 64, 65, 130]
COLUMNS = [1, 2, 3, 5, 63, 64, 65, 67]
CLASSES = [1, 2, 3, 7, 70]
KINDS = [np.float64, np.float32, np.uint8, np.bool_, np.int64, np.int16]
MEMORY = ["C", "F", "every second", "read-only"]
UNIT = np.empty(0)

MOMENTS = Needs("moments")
BAG = Needs("counts", signed=False, skips=False)
COUNTS = Needs("counts", signed=False)
INDICATOR = Needs("counts", threshold=1.0)
LEVELS = Needs("levels", signed=False)
GRID = Needs("grid")


def laid_out(X, memory):
    """Return equal numbers in another memory layout."""
    if memory == "F":
        return np.asfortranarray(X)
    if memory == "every second":
        return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    X = X.copy()
    X.flags.writeable = memory != "read-only"
    return X


@st.composite
def tables(draw, kinds=KINDS, offset=0.0, top=5):
    """(X, codes, weight or None, K): any shape, order and kind of number; classes may have no rows."""
    n, d, K = draw(st.sampled_from(ROWS)), draw(st.sampled_from(COLUMNS)), draw(st.sampled_from(CLASSES))
    kind, memory = draw(st.sampled_from(kinds)), draw(st.sampled_from(MEMORY))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(offset, 2, (n, d)) if np.dtype(kind).kind == "f" and top is None else rng.integers(0, top, (n, d))
    weight = rng.choice([0.0, 0.3, 1.0, 2.5], n) if draw(st.booleans()) else None
    return laid_out(X.astype(kind), memory), rng.integers(0, K, n).astype(np.int32), weight, K


def remove_values(X, seed):
    """Every third value missing, in whole rows and columns too."""
    rng = np.random.default_rng(seed)
    gone = (rng.random(X.shape) < 0.3) | (rng.random((len(X), 1)) < 0.1) | (rng.random(X.shape[1]) < 0.1)
    return np.where(gone, X.dtype.type(np.nan), X)


def spoilt(X, rng, value):
    X = X.copy()
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = value
    return X


def assert_statistic(needs, table):
    """By the kernel and by the definition; nothing is counted by a kernel where there is nothing."""
    X, codes, weight, K = table
    quick = fast.summarise_by_kernel(moments, needs, X, codes, weight, K)
    slow = arrays.summarise_by_definition(needs, X, codes, weight, K)
    if not X.size:
        assert quick is None
        return
    assert quick is not None
    if isinstance(slow, Moments | Scatter) or weight is None:
        assert_same(quick, slow)
        return
    for name, expected in slow.arrays().items():
        np.testing.assert_allclose(quick.arrays()[name], expected, rtol=1e-12, atol=0)
