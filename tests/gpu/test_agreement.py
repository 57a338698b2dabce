"""Tensors give the ledgers and posteriors of arrays: counts exactly, the others within the error of their type."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deciban
from deciban.engines import gpu as engine
from deciban.gpu import launch, sums
from deciban.ledger import Counts, Levels, Moments, Needs, Scatter

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")

METHODS = ["predict_proba", "predict_log_proba", "predict_joint_log_proba", "score_samples", "predict"]
pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")


def numbers(rng, n, d):
    return rng.normal(3, 2, (n, d))


def counts(rng, n, d):
    return rng.poisson(1.5, (n, d))


def levels(rng, n, d):
    return rng.integers(0, 11, (n, d))


CASES = {
    "GaussianNB double": (deciban.GaussianNB(), numbers, np.float64),
    "GaussianNB single": (deciban.GaussianNB(), numbers, np.float32),
    "GaussianNB half": (deciban.GaussianNB(), numbers, np.float16),
    "GaussianNB bytes": (deciban.GaussianNB(), counts, np.uint8),
    "GaussianBayes full": (deciban.GaussianBayes(parameter_prior=1.0), numbers, np.float32),
    "GaussianBayes tied": (deciban.GaussianBayes(covariance="tied"), numbers, np.float64),
    "GaussianBayes diagonal": (deciban.GaussianBayes(covariance="diagonal"), numbers, np.float32),
    "BernoulliNB bytes": (deciban.BernoulliNB(), counts, np.uint8),
    "BernoulliNB single": (deciban.BernoulliNB(binarize=0.7), numbers, np.float32),
    "BernoulliNB unit": (deciban.BernoulliNB(binarize=None), lambda *at: numbers(*at) > 3, np.float32),
    "BernoulliNB maximum likelihood": (deciban.BernoulliNB(alpha=0.0), counts, np.int32),
    "MultinomialNB single": (deciban.MultinomialNB(), counts, np.float32),
    "MultinomialNB fractions": (deciban.MultinomialNB(), lambda *at: counts(*at) / 3, np.float64),
    "MultinomialNB integers": (deciban.MultinomialNB(), counts, np.int64),
    "ComplementNB": (deciban.ComplementNB(), counts, np.int32),
    "PoissonNB": (deciban.PoissonNB(), counts, np.float64),
    "CategoricalNB": (deciban.CategoricalNB(), levels, np.int32),
    "CategoricalNB bytes": (deciban.CategoricalNB(), levels, np.uint8),
    "CategoricalNB half": (deciban.CategoricalNB(), levels, np.float16),
    "CategoricalNB smooth": (deciban.CategoricalNB(unseen="smooth"), levels, np.float32),
    "JointBayes": (deciban.JointBayes(alpha=0.5), levels, np.int64),
}
every_case = pytest.mark.parametrize("name", CASES)


def clone(name):
    from sklearn.base import clone

    return clone(CASES[name][0])


def draw(name, n=400, d=5, K=3, seed=0, missing=0.0):
    _, make, dtype = CASES[name]
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = make(rng, n, d).astype(dtype)
    if missing and X.dtype.kind == "f" and "Multinomial" not in name:
        X[rng.random(X.shape) < missing] = np.nan
    if name.startswith("Gaussian"):
        X = (X + y[:, None].astype(dtype)).astype(dtype)
    return X, y, rng.choice([0.0, 0.5, 1.0, 3.0], n)


def tolerance(X):
    """The relative error of moments, and that of scores, relative and absolute, by the type of the rows."""
    return (1e-11, 1e-11) if (X.dtype.kind != "f" and X.dtype.itemsize > 2) or X.dtype == np.float64 else (1e-5, 1e-5)


def assert_same_ledger(ours, theirs, X):
    one, other = ours.ledger_.parts[0], theirs.ledger_.parts[0]
    np.testing.assert_allclose(ours.ledger_.rows, theirs.ledger_.rows, rtol=1e-12)
    if isinstance(other, (Moments, Scatter)):
        n, rtol = np.maximum(other.weight, 1e-300), tolerance(X)[0]
        deviation = np.sqrt(other.squares.high / n) if isinstance(other, Moments) else 1.0
        gap = np.abs((one.mean - other.mean) + (one.rest - other.rest))
        assert (gap <= rtol * (np.abs(other.mean) + deviation)).all()
        np.testing.assert_allclose(one.squares.high, other.squares.high, rtol=rtol, atol=rtol)
        np.testing.assert_allclose(*np.broadcast_arrays(one.weight, other.weight), rtol=1e-12)
    elif X.dtype == np.float64:
        for name, array in other.arrays().items():
            np.testing.assert_allclose(one.arrays()[name], array, rtol=1e-12)
    else:
        assert one == other


def compare(name, X, y, weight, device, queries=None):
    T, q = torch.as_tensor(X, device=device), X if queries is None else queries
    w = None if weight is None else torch.as_tensor(weight, device=device)
    theirs, ours = clone(name).fit(X, y, weight), clone(name).fit(T, torch.as_tensor(y, device=device), w)
    assert_same_ledger(ours, theirs, X)
    for method in METHODS:
        if method == "score_samples" and name == "ComplementNB":
            continue
        expected, actual = getattr(theirs, method)(q), getattr(ours, method)(torch.as_tensor(q, device=device))
        assert actual.device.type == device
        if method == "predict":
            assert (actual.cpu().numpy() == expected).mean() > 0.995
        else:
            rtol, atol = tolerance(X)
            np.testing.assert_allclose(actual.cpu().numpy(), expected, rtol=rtol, atol=atol)


@every_case
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.interpreted(6)
def test_tensors_give_the_model_of_arrays(name, missing, weighted, way):
    X, y, weight = draw(name, missing=missing)
    compare(name, X, y, weight if weighted else None, way)


@pytest.mark.interpreted(3)
@every_case
def test_any_shape_and_any_rows(name, way):
    @settings(max_examples=6)
    @given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 20), st.integers(0, 99), st.booleans())
    def check(n, d, K, seed, missing):
        X, y, _ = draw(name, n, 3 if name == "JointBayes" else d, K, seed, 0.2 * missing)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = clone(name).fit(X, y)
            ours = clone(name).fit(torch.as_tensor(X, device=way), torch.as_tensor(y, device=way))
        assert_same_ledger(ours, theirs, X)

    check()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_thousand_classes_some_of_them_empty(dtype, way):
    rng = np.random.default_rng(0)
    classes, y = np.arange(1000), rng.integers(0, 900, 3000)
    X = rng.normal(size=(3000, 3)).astype(dtype) + y[:, None].astype(dtype) / 100
    theirs = deciban.GaussianNB().partial_fit(X, y, classes)
    T, labels = torch.as_tensor(X, device=way), torch.as_tensor(y, device=way)
    ours = deciban.GaussianNB().partial_fit(T, labels, classes)
    assert_same_ledger(ours, theirs, X)
    expected = theirs.predict_proba(X[:200])
    np.testing.assert_allclose(ours.predict_proba(T[:200]).cpu().numpy(), expected, rtol=1e-5, atol=1e-5)
    rtol = 1e-6 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(theirs.predict_proba(T[:200]).cpu().numpy(), expected, rtol=rtol, atol=1e-37)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.interpreted(None)
def test_posteriors_of_any_shape_weights_and_strides(dtype, way):
    views = {
        "whole": lambda T: T,
        "some rows and columns": lambda T: T.repeat_interleave(2, 0).repeat_interleave(3, 1)[::2, ::3],
        "by columns": lambda T: T.T.contiguous().T,
    }

    @settings(max_examples=12)
    @given(
        st.integers(1, 200), st.integers(1, 150), st.integers(1, 140), st.integers(0, 99), st.booleans(),
        st.sampled_from([0.0, 0.1]), st.sampled_from(sorted(views)),
    )  # fmt: skip
    def check(n, d, K, seed, weighted, missing, view):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, K, n)
        X = (rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + rng.normal(size=(K, d))[y]).astype(dtype)
        X[rng.random(X.shape) < missing] = np.nan
        weight = rng.choice([0.5, 1.0, 3.0], n) if weighted else None
        T = views[view](torch.as_tensor(X, device=way))
        w = None if weight is None else torch.as_tensor(weight, device=way)
        theirs = deciban.GaussianNB(var_smoothing=0.1).fit(X, y, weight)
        ours = deciban.GaussianNB(var_smoothing=0.1).fit(T, torch.as_tensor(y, device=way), w)
        tolerance = 1e-5 if dtype == np.float32 else 1e-11
        for method in METHODS[:4]:
            found, expected = getattr(ours, method)(T).cpu().numpy(), getattr(theirs, method)(X)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)

    check()


def test_the_variance_of_numbers_far_from_zero_has_six_digits(way):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    X = (rng.normal(1e4, 1, (3000, 3)) + 0.3 * y[:, None]).astype(np.float32)
    exact = Moments.of(X.astype(np.float64), y.astype(np.int32), None, 4)
    fitted = deciban.GaussianNB().fit(torch.as_tensor(X, device=way), torch.as_tensor(y, device=way))
    np.testing.assert_allclose(fitted.ledger_.parts[0].m2, exact.m2, rtol=1e-6)


def test_classes_far_apart_are_summed_about_their_own_means(way):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2000)
    X = (rng.normal(0, 1, (2000, 2)) + np.array([-1e4, 0.0, 1e4])[y][:, None]).astype(np.float32)
    exact = Moments.of(X.astype(np.float64), y.astype(np.int32), None, 3)
    fitted = deciban.GaussianNB().fit(torch.as_tensor(X, device=way), torch.as_tensor(y, device=way))
    np.testing.assert_allclose(fitted.ledger_.parts[0].m2, exact.m2, rtol=1e-6)
    assert (fitted.predict(torch.as_tensor(X, device=way)).cpu().numpy() == y).all()


def test_constant_columns_have_no_variance(way):
    X = torch.full((600, 2), 1e4 + 1 / 3, dtype=torch.float32, device=way)
    fitted = deciban.GaussianNB().fit(X, torch.arange(600, device=way) % 2)
    assert (fitted.ledger_.parts[0].m2 == 0).all()


@pytest.mark.parametrize("name", ["GaussianNB single", "BernoulliNB bytes", "CategoricalNB"])
@pytest.mark.interpreted(None)
def test_rows_need_not_be_contiguous(name, way):
    X, y, _ = draw(name, d=12)
    T, labels = torch.as_tensor(X, device=way), torch.as_tensor(y, device=way)
    whole = clone(name).fit(X[::2, ::3], y[::2])
    views = T[::2, ::3], T.T.contiguous().T[::2, ::3]
    for rows in views:
        model = clone(name).fit(rows, labels[::2])
        assert_same_ledger(model, whole, X)
        np.testing.assert_allclose(
            model.predict_proba(rows).cpu().numpy(), whole.predict_proba(X[::2, ::3]), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("labels", [[0, 1, 2], [5, 7, 40], [-3, 0, 100000], [0.0, 1.0, 2.0], [False, True, True]])
@pytest.mark.interpreted(None)
def test_labels_come_back_as_they_were(labels, way):
    rng = np.random.default_rng(0)
    y = np.array(labels)[rng.integers(0, 3, 90)]
    X = rng.normal(size=(90, 2)) + 9 * y[:, None].astype(float)
    T, target = torch.as_tensor(X, device=way), torch.as_tensor(y, device=way)
    model = deciban.GaussianNB().fit(T, target)
    assert model.classes_.tolist() == np.unique(y).tolist()
    assert model.predict(T).dtype == target.dtype
    assert (model.predict(T) == target).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8])
@pytest.mark.interpreted(None)
def test_labels_may_span_their_type(dtype, way):
    ends = np.array([np.iinfo(dtype).min, 3, np.iinfo(dtype).max]).astype(dtype)
    X, y = np.arange(90.0)[:, None], np.repeat(ends, 30)
    T, target = torch.as_tensor(X, device=way), torch.as_tensor(y, device=way)
    model = deciban.GaussianNB().fit(T, target)
    assert model.classes_.tolist() == ends.tolist()
    assert (model.theta_ == deciban.GaussianNB().fit(X, y).theta_).all()
    assert (model.predict(T) == torch.as_tensor(deciban.GaussianNB().fit(X, y).predict(X), device=way)).all()


def test_labels_may_be_texts_in_host_memory(way):
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam"])[rng.integers(0, 2, 50)]
    X = rng.normal(size=(50, 2)) + 20 * (y == "spam")[:, None]
    model = deciban.GaussianNB().fit(torch.as_tensor(X, device=way), y)
    predicted = model.predict(torch.as_tensor(X, device=way))
    assert isinstance(predicted, np.ndarray)
    assert (predicted == y).all()


def kernel_inputs(seed, dtype, device):
    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(1, 700), rng.integers(1, 40), rng.integers(1, 40)
    codes = rng.integers(0, K, n)
    X = (
        rng.integers(0, 9, (n, d)).astype(dtype)
        if np.dtype(dtype).kind != "f"
        else rng.normal(size=(n, d)).astype(dtype)
    )
    return torch.as_tensor(X, device=device), engine.match_codes(codes, torch.as_tensor(X, device=device), int(K))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["kernel"], indirect=True)
def test_each_kernel_agrees_with_its_definition(seed, way):
    x, codes = kernel_inputs(seed, np.float32, way)
    K = len(codes.rows)
    found, centre = launch.sum_moments(x, codes.tensor, None, K, missing=False)
    np.testing.assert_allclose(centre, sums.find_centre(x), rtol=1e-12, atol=1e-12)
    n, total, squares = sums.define_moments(x, codes.tensor, None, centre, K)
    scale = np.abs(total) + n
    assert (np.abs(found[0] - total) <= 1e-6 * scale).all()
    np.testing.assert_allclose(found[1], squares, rtol=2e-6, atol=1e-6)
    by_class, _ = launch.sum_moments(x, codes.tensor, np.tile(centre, (K, 1)), K, missing=True)
    np.testing.assert_allclose(by_class[1], squares, rtol=2e-6, atol=1e-6)
    assert (by_class[2] == codes.rows[:, None]).all()
    scatter = sums.summarise_scatter(Needs("scatter"), x, codes, None, lambda: pytest.fail("no kernel"))
    about = Moments(*(a[:, :, 0] for a in (scatter.weight, scatter.mean, scatter.rest)), np.zeros((K, x.shape[1])))
    exact = sums.define_scatter(x, codes, None, about)
    np.testing.assert_allclose(scatter.comoment, exact.comoment, rtol=2e-6, atol=1e-5)
    x, codes = kernel_inputs(seed, np.uint8, way)
    for rows in (x, torch.cat([x, 30 * x, x, 5 * x], 1)):
        counted = launch.sum_counts(rows, codes, 4.0)
        assert (counted == sums.define_counts(rows, codes.tensor, None, K, 4.0).total).all()
    x, codes = kernel_inputs(seed, np.int32, way)
    whole = Needs("counts", signed=False)
    assert (
        launch.sum_counts(x, codes, None) == sums.define_counts(x, codes.tensor, None, len(codes.rows), None).total
    ).all()
    assert (
        launch.sum_counts(x, codes, 4.5) == sums.define_counts(x, codes.tensor, None, len(codes.rows), 4.5).total
    ).all()
    assert isinstance(sums.summarise_counts(whole, x, codes, None, lambda: pytest.fail("no kernel")), Counts)
    counted = sums.summarise_levels(Needs("levels"), x, codes, None, lambda: pytest.fail("no kernel"))
    assert counted == sums.define_levels(x, codes.tensor, None, len(codes.rows))
    assert isinstance(counted, Levels)


@pytest.mark.parametrize("d", [1, 5, 20, 33, 64, 80, 130])
@pytest.mark.parametrize("way", ["kernel"], indirect=True)
@pytest.mark.interpreted(3)
def test_levels_are_counted_in_lines_of_any_number_of_columns(d, way):
    rng = np.random.default_rng(d)
    V = 40 if d < 30 else 5
    X, y = rng.integers(0, V, (150, d)).astype(np.int32), rng.integers(0, 3, 150)
    x = torch.as_tensor(X, device=way)
    counted = launch.count_levels(x, engine.match_codes(y, x, 3), V)
    expected = np.zeros((3, V, d), dtype=np.int64)
    np.add.at(expected, (y[:, None], X, np.arange(d)), 1)
    assert (counted == expected).all()


@pytest.mark.parametrize("way", ["kernel"], indirect=True)
def test_levels_of_many_blocks_are_counted_in_parts(way, monkeypatch):
    monkeypatch.setattr(launch, "LABEL_TILE_ROWS", 64)
    monkeypatch.setattr(launch, "SMALL_BLOCK_TILES", 1)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (1400, 2)).astype(np.uint8), rng.integers(0, 3, 1400)
    x = torch.as_tensor(X, device=way)
    codes = engine.match_codes(y, x, 3)
    assert codes.order.n_blocks == 22
    at_once = launch.count_levels(x, codes, 5)
    sizes, empty = [], torch.empty
    monkeypatch.setattr(launch, "MAX_LEVEL_COUNTS", 4000)
    monkeypatch.setattr(torch, "empty", lambda shape, **more: sizes.append(np.prod(shape)) or empty(shape, **more))
    assert (launch.count_levels(x, codes, 5) == at_once).all()
    assert sizes == [3840, 1920]  # two groups of eight blocks, then one; 64 rows to a line
    expected = np.zeros((3, 5, 2), dtype=np.int64)
    np.add.at(expected, (y[:, None], X, np.arange(2)), 1)
    assert (at_once == expected).all()


@pytest.mark.parametrize(("K", "d"), [(130, 20), (3, 140)])
@pytest.mark.interpreted(None)
def test_many_classes_or_columns_are_scored_by_products(K, d, way, monkeypatch):
    from deciban.gpu import device_scores

    rng = np.random.default_rng(0)
    y = np.arange(400) % K
    X = rng.normal(size=(400, d)) + rng.normal(size=(K, d))[y]
    model = deciban.GaussianNB().fit(X, y)
    X[5, 3] = np.nan
    with monkeypatch.context() as patch:
        patch.setattr(device_scores, "_define_diagonal", lambda *at: pytest.fail("rows × classes × columns"))
        found = model.predict_log_proba(torch.as_tensor(X, device=way)).cpu().numpy()
    np.testing.assert_allclose(found, model.predict_log_proba(X), rtol=1e-11, atol=1e-11)
    X[7] = 1e200  # its squares overflow
    X[8] = 1e6
    found = model.predict_log_proba(torch.as_tensor(X, device=way)).cpu().numpy()
    np.testing.assert_allclose(found, model.predict_log_proba(X), rtol=1e-11, atol=1e-11)


def test_rows_far_out_are_scored_without_half_precision(way):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = (rng.normal(size=(300, 4)) + y[:, None]).astype(np.float32)
    theirs = deciban.GaussianNB().fit(X, y)
    X[7] = 400.0  # its squares are beyond 65504
    found = theirs.predict_proba(torch.as_tensor(X, device=way)).cpu().numpy()
    np.testing.assert_allclose(found, theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", ["kernel"], indirect=True)
def test_the_pass_of_logistic_regression_agrees_with_its_definition(seed, way):
    from deciban.gpu import matrix_launch
    from deciban.linear.device_fit import DeviceRows, sum_losses_in_double

    rng = np.random.default_rng(seed)
    n, d, K = rng.integers(1, 500), rng.integers(1, 60), rng.integers(2, 20)
    X, y = rng.normal(3, 2, (n, d)).astype(np.float32), rng.integers(0, K, n)
    x, codes = torch.as_tensor(X, device=way), torch.as_tensor(y, device=way)
    weights, bias = rng.normal(size=(K, d)) / 3, rng.normal(size=K)
    rows = DeviceRows(x, codes, None, np.full(d, 3.0), np.full(d, 0.5), K, True, True)
    loss, sums = matrix_launch.sum_logistic(x, codes, rows.centre, rows.unit, weights, bias)
    expected_loss, expected = sum_losses_in_double(rows, weights, bias)
    assert loss == pytest.approx(expected_loss, rel=1e-6)
    np.testing.assert_allclose(sums, expected, rtol=1e-5, atol=2e-6 * n)
