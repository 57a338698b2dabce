"""The kernel of pairs of cells against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.kernels.pair_counts import fill_pairs
from deciban.ledger.pairs import Pairs


def count_by_kernel(X, codes, weight, K, V):
    d = X.shape[1]
    single, pair = np.zeros((K, d, V)), np.zeros((K, d * (d - 1) // 2, V, V))
    fill_pairs(X.astype(np.int16), codes, np.empty(0) if weight is None else weight, single, pair)
    return Pairs(single, pair)


@pytest.mark.parametrize("is_weighted", [False, True])
@given(
    n=st.integers(0, 60),
    d=st.integers(0, 5),
    K=st.integers(1, 7),
    V=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_kernel_counts_what_the_definition_counts(is_weighted, n, d, K, V, seed):
    random = np.random.default_rng(seed)
    X = random.integers(-1, V, (n, d))  # −1 is a missing value
    codes = random.integers(0, K, n).astype(np.int32)  # few rows leave classes empty
    weight = random.integers(0, 9, n) / 4 if is_weighted else None  # quarters add exactly
    found, wanted = count_by_kernel(X, codes, weight, K, V), Pairs.of(X, codes, weight, K, V)
    assert (found.single == wanted.single).all()
    assert (found.pair == wanted.pair).all()
