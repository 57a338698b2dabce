"""Tensors at the limits of types and of memory: large extents, large whole numbers, tiny and unequal deviations."""

import numpy as np
import pytest

import deciban

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")

pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")


def spread(X, row_stride, column_stride, device):
    """Copy an array to a tensor with these strides, of a memory that is mostly untouched."""
    n, d = X.shape
    flat = torch.empty((n - 1) * row_stride + (d - 1) * column_stride + 1, dtype=torch.uint8, device=device)
    rows = flat.as_strided((n, d), (row_stride, column_stride))
    return rows.copy_(torch.as_tensor(X, device=device))


@pytest.mark.parametrize(("row_stride", "column_stride"), [(1, 2**30 + 64), (2**24 + 64, 1)])
@pytest.mark.parametrize("way", ["kernel"], indirect=True)
@pytest.mark.cases(None)
def test_offsets_beyond_32_bits(row_stride, column_stride, way):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (200, 3)).astype(np.uint8), rng.integers(0, 2, 200)
    x, labels = spread(X, row_stride, column_stride, way), torch.as_tensor(y, device=way)
    for make in (deciban.GaussianNB, deciban.GaussianBayes, deciban.BernoulliNB, deciban.CategoricalNB):
        theirs, ours = make().fit(X, y), make().fit(x, labels)
        np.testing.assert_allclose(ours.predict_proba(x).cpu().numpy(), theirs.predict_proba(X), atol=1e-5)
