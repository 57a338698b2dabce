"""Tensors at the limits of types and of memory: large extents, large whole numbers, tiny and unequal deviations."""

import numpy as np
import pytest

import deciban
from deciban.engines import gpu as engine
from deciban.errors import DeviceMemoryError
from deciban.gpu import labels, launch

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
@pytest.mark.interpreted(None)
def test_offsets_beyond_32_bits(row_stride, column_stride, way):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (200, 3)).astype(np.uint8), rng.integers(0, 2, 200)
    x, target = spread(X, row_stride, column_stride, way), torch.as_tensor(y, device=way)
    for make in (deciban.GaussianNB, deciban.GaussianBayes, deciban.BernoulliNB, deciban.CategoricalNB):
        theirs, ours = make().fit(X, y), make().fit(x, target)
        np.testing.assert_allclose(ours.predict_proba(x).cpu().numpy(), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("threshold", [1.7e9, 1.7e9 + 0.5])
@pytest.mark.interpreted(None)
def test_thresholds_among_large_numbers(dtype, threshold, way):
    rng = np.random.default_rng(0)
    X = (1.7e9 + rng.integers(-10, 10, (300, 4))).astype(dtype)
    assert_same_bernoulli(X, threshold, way)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.float32, np.float16])
@pytest.mark.parametrize("threshold", [0.0, 1.0, 16.0, 3.7, 200.0, 300.0, 1e300])
@pytest.mark.interpreted(8)
def test_thresholds_beyond_the_numbers_of_a_type(dtype, threshold, way):
    assert_same_bernoulli(np.random.default_rng(0).integers(0, 100, (300, 4)).astype(dtype), threshold, way)


def assert_same_bernoulli(X, threshold, device):
    y = np.random.default_rng(1).integers(0, 2, len(X))
    theirs = deciban.BernoulliNB(binarize=threshold).fit(X, y)
    x, target = torch.as_tensor(X, device=device), torch.as_tensor(y, device=device)
    ours = deciban.BernoulliNB(binarize=threshold).fit(x, target)
    assert ours.ledger_ == theirs.ledger_
    np.testing.assert_allclose(ours.predict_proba(x).cpu().numpy(), theirs.predict_proba(X), rtol=1e-5)
    weighted = deciban.BernoulliNB(binarize=threshold).fit(x, target, torch.ones(len(X), device=device))
    assert (weighted.feature_count_ == theirs.feature_count_).all()


@pytest.mark.parametrize(("K", "d", "is_equal"), [(2, 32, True), (3, 32, True), (5, 32, False), (3, 2, False)])
@pytest.mark.interpreted(None)
def test_scores_of_classes_of_unequal_deviations(K, d, is_equal, way):
    rng = np.random.default_rng(1)
    deviation = np.exp(np.linspace(0, np.log(100), K)[:, None] * np.ones(d))
    deviation = deviation if is_equal else np.exp(rng.uniform(0, np.log(100), (K, d)))
    X = (np.repeat(deviation, 100, 0) * rng.normal(size=(100 * K, d))).astype(np.float32)
    model = deciban.GaussianNB().fit(X, np.repeat(np.arange(K), 100))
    for method in ("score_samples", "predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        found = getattr(model, method)(torch.as_tensor(X, device=way)).cpu().numpy()
        np.testing.assert_allclose(found, getattr(model, method)(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("deviation", [1e-12, 1e-18, 1e-22, 1e-30, 1e-36])
@pytest.mark.parametrize("make", [deciban.GaussianNB, deciban.GaussianBayes])
@pytest.mark.interpreted(None)
def test_tiny_deviations_do_not_underflow(deviation, make, way):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = (deviation * (rng.normal(size=(600, 3)) + y[:, None])).astype(np.float32)
    X[:, 1] = 7.0
    X[:, 2] *= np.float32(1 / deviation)
    theirs, ours = make().fit(X, y), make().fit(torch.as_tensor(X, device=way), torch.as_tensor(y, device=way))
    squares = [model.ledger_.parts[0].squares.high for model in (ours, theirs)]
    np.testing.assert_allclose(*squares, rtol=1e-5, atol=1e-5 * deviation * squares[1].max())
    if make is deciban.GaussianNB:
        np.testing.assert_allclose(*squares, rtol=1e-5)
        assert (squares[0][:, 1] == 0).all()


PLACES = {
    "labels that are not their codes": (lambda m, X, y, w: m.predict(X), labels, "to_device"),
    "labels in host memory": (lambda m, X, y, w: m.partial_fit(X, y.cpu().numpy()), labels.DeviceCodes, "of"),
    "rows without weight": (lambda m, X, y, w: m.partial_fit(X, y, sample_weight=w), labels.DeviceCodes, "of"),
    "weights of classes": (lambda m, X, y, w: m.partial_fit(X, y, sample_weight=w), torch, "sort"),
    "weights": (lambda m, X, y, w: m.partial_fit(X, y, sample_weight=w.float()), torch.Tensor, "double"),
    "highest values": (lambda m, X, y, w: engine.find_highest(X), torch.Tensor, "amax"),
    "results of the host": (lambda m, X, y, w: engine.match_rows(np.ones(3), X), engine, "to_device"),
    "known labels": (lambda m, X, y, w: m.partial_fit(X[:200], y[:200]), engine, "to_device"),
    "contiguous labels": (lambda m, X, y, w: engine.encode(y), torch.Tensor, "contiguous"),
    "means of columns": (lambda m, X, y, w: engine.average_columns(X, None, True), torch, "zeros"),
    "rows in host memory": (lambda m, X, y, w: engine.to_host(X), engine.csr, "to_host"),
}
"""Calls that allocate on the device, and the object and attribute that do so."""


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.interpreted(None)
def test_a_full_device_is_an_error_of_deciban_everywhere(name, device, monkeypatch):
    X, y = torch.randn(300, 4, device=device), 5 + torch.arange(300, device=device) // 100
    weight = torch.arange(300, dtype=torch.float64, device=device)
    model = deciban.GaussianNB().fit(X, y)
    before = model.ledger_

    def fail(*args, **more):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has ...")

    call, where, attribute = PLACES[name]
    monkeypatch.setattr(where, attribute, fail)
    with pytest.raises(DeviceMemoryError, match=r"out of memory.*Nothing was changed"):
        call(model, X, y, weight)
    monkeypatch.undo()
    assert model.ledger_ is before


@pytest.mark.parametrize("way", ["kernel"], indirect=True)
def test_partial_sums_are_bounded(way, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(launch, "LABEL_TILE_ROWS", 64)
    monkeypatch.setattr(launch, "SMALL_BLOCK_TILES", 1)
    X, y = rng.integers(0, 9, (190, 8)).astype(np.uint8), rng.integers(0, 5, 190)
    x, target = torch.as_tensor(X, device=way), torch.as_tensor(y, device=way)
    makers = deciban.GaussianNB, deciban.BernoulliNB, deciban.MultinomialNB, deciban.GaussianBayes
    whole = [make().fit(x, target).ledger_ for make in makers]
    sizes, empty = [], torch.empty
    monkeypatch.setattr(launch, "count_programs", lambda tensor, n_tiles, per_processor: n_tiles)
    monkeypatch.setattr(launch, "MAX_PARTIAL_SUMS", 100)
    monkeypatch.setattr(
        torch, "empty", lambda shape, **more: sizes.append(tuple(np.atleast_1d(shape))) or empty(shape, **more)
    )
    for make, ledger in zip(makers, whole):
        part = make().fit(x, target).ledger_.parts[0]
        for name, array in ledger.parts[0].arrays().items():
            np.testing.assert_allclose(part.arrays()[name], array, rtol=1e-6, atol=1e-12)
    assert [shape for shape in sizes if shape == (1, 11, 8)] == 2 * [(1, 11, 8)]  # moments, of one program
    assert [shape for shape in sizes if shape[1:] == (5, 8)] == [(1, 5, 8), (1, 5, 8), (2, 5, 8), (1, 5, 8)]
    assert [shape for shape in sizes if shape[1:] == (5, 8, 8)] == 3 * [(1, 5, 8, 8)]  # products, a block at a time
