"""Eight shapes of covariance: against NumPy and scikit-learn, and usable however few rows there are."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import oas as sklearn_oas
from sklearn.decomposition import PCA

from deciban.families.covariances import shrink_covariance
from deciban.families.gaussian import Gaussian
from deciban.ledger import Moments, Scatter
from deciban.scores import Full

SHAPES = ["full", "tied", "mixed", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"]
every_shape = pytest.mark.parametrize("shape", SHAPES)
K, D = 3, 4


def statistic(shape, X, codes, weight=None, K=K):
    return (Scatter if shape in ("full", "tied", "mixed") else Moments).of(X, codes, weight, K)


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    codes = (np.arange(n) % 7 % K).astype(np.int32)
    return rng.normal(size=(n, D)) @ rng.normal(size=(D, D)) * [1, 1, 5, 0.2] + codes[:, None], codes


def covariance(form):
    """K×D×D, whatever the form."""
    if hasattr(form, "variance"):
        return np.stack([np.diag(v) for v in form.variance])
    return np.broadcast_to(form.covariance, (K, D, D))


def compute_expected(shape, X, codes):
    own = np.stack([np.cov(X[codes == k].T, ddof=0) for k in range(K)])
    n = np.bincount(codes)
    tied = np.broadcast_to(np.average(own, axis=0, weights=n), own.shape)
    diagonals = lambda c: np.stack([np.diag(np.diag(m)) for m in c])  # noqa: E731
    spheres = lambda c: np.stack([np.eye(D) * np.trace(m) / D for m in c])  # noqa: E731
    return {
        "full": own,
        "tied": tied,
        "mixed": (own + tied) / 2,
        "diagonal": diagonals(own),
        "tied_diagonal": diagonals(tied),
        "spherical": spheres(own),
        "tied_spherical": spheres(tied),
        "identity": np.broadcast_to(np.eye(D), own.shape),
    }[shape]


@every_shape
def test_shapes_are_those_of_numpy(shape):
    X, codes = rows()
    form = Gaussian(shape).solve(statistic(shape, X, codes))
    np.testing.assert_allclose(covariance(form), compute_expected(shape, X, codes), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(form.mean, [X[codes == k].mean(axis=0) for k in range(K)], rtol=1e-12)


@every_shape
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_shrinking_pulls_every_class_to_one_sphere(shape, a):
    X, codes = rows()
    form = Gaussian(shape, shrinkage=a).solve(statistic(shape, X, codes))
    sphere = np.eye(D) * np.trace(compute_expected("tied", X, codes)[0]) / D
    if shape != "identity":
        goal = (1 - a) * compute_expected(shape, X, codes) + a * sphere
        np.testing.assert_allclose(covariance(form), goal, rtol=1e-9, atol=1e-12)


@every_shape
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0, "oas"])
def test_shrinking_to_the_diagonal_is_shrinking_to_the_sphere_in_units_of_the_pooled_deviation(shape, a):
    X, codes = rows()
    unit = np.sqrt(np.diag(compute_expected("tied", X, codes)[0]))
    if "spherical" not in shape and shape != "identity":
        raw = Gaussian(shape, shrinkage=a, shrinkage_target="diagonal").solve(statistic(shape, X, codes))
        scaled = Gaussian(shape, shrinkage=a).solve(statistic(shape, X / unit, codes))
        np.testing.assert_allclose(covariance(raw), covariance(scaled) * np.outer(unit, unit), rtol=1e-9, atol=1e-12)


def test_columns_that_vary_in_no_class_do_not_change_the_shrinkage_of_others():
    X, codes = rows()
    constant = np.column_stack([X, codes, np.zeros(len(X))])
    with_constant, without = (
        Gaussian("full", "oas", shrinkage_target="diagonal").solve(Scatter.of(x, codes, None, K)).covariance
        for x in (constant, X)
    )
    np.testing.assert_allclose(with_constant[:, :D, :D], without, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("target", ["diagonal", "spherical"])
@pytest.mark.parametrize("m", [1, 3, D])
def test_principal_components_have_the_posterior_of_a_model_of_the_projections(m, target):
    X, codes = rows(90)
    tied = compute_expected("tied", X, codes)[0]
    unit = np.sqrt(np.diag(tied)) if target == "diagonal" else np.full(D, np.sqrt(np.trace(tied) / D))
    Z = PCA(m).fit_transform(X / unit)
    given = {"shrinkage": 0.1, "shrinkage_target": target, "mixing": 0.3}
    projected = Gaussian("mixed", **given).solve(Scatter.of(Z, codes, None, K)).log_likelihoods(Z)
    part = Scatter.of(X, codes, None, K)
    full = Gaussian("mixed", n_components=m, **given).solve(part).log_likelihoods(X)
    np.testing.assert_allclose(full - full[:, :1], projected - projected[:, :1], rtol=1e-8, atol=1e-8)


def test_with_all_components_the_density_is_that_of_the_columns():
    X, codes = rows(90)
    part = Scatter.of(X, codes, None, K)
    given = {"shrinkage": 0.1, "shrinkage_target": "spherical"}
    every, plain = (Gaussian("full", n_components=m, **given).solve(part).log_likelihoods(X) for m in (D, None))
    np.testing.assert_allclose(every, plain, rtol=1e-9)


@pytest.mark.parametrize("m", [3, D])
def test_directions_in_which_no_row_varies_are_no_components(m):
    X, codes = rows(90)
    X[:, 2:] = X[:, :2] @ [[2.0, -1.0], [0.5, 3.0]]
    part = Scatter.of(X, codes, None, K)
    every, two = (Gaussian("full", n_components=n).solve(part).log_likelihoods(X) for n in (m, 2))
    np.testing.assert_array_equal(every, two)
    assert len({Gaussian("full", n_components=n).n_parameters(part) for n in (m, 2)}) == 1
    Z = X[:, :2]
    alone = Gaussian("full").solve(Scatter.of(Z, codes, None, K)).log_likelihoods(Z)
    np.testing.assert_allclose(every - every[:, :1], alone - alone[:, :1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", ["full", "tied", "mixed"])
def test_a_class_far_away_leaves_the_covariances_as_they_are(shape):
    X, codes = rows()
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    far = X + 1e6 * X.std(axis=0) * (codes == 2)[:, None]
    form = Gaussian(shape).solve(statistic(shape, far, codes))
    np.testing.assert_allclose(covariance(form), compute_expected(shape, X, codes), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_posteriors_of_two_classes_are_right_though_a_third_one_is_far_away(shape):
    X, codes = rows()
    far = X + 1e7 * X.std(axis=0) * (codes == 2)[:, None]
    form, some = Gaussian(shape).solve(statistic(shape, far, codes)), codes < 2
    joint = form.log_likelihoods(far[some])
    densities = [multivariate_normal(m, c) for m, c in zip(form.mean, covariance(form))]
    np.testing.assert_allclose(
        joint[:, 0] - joint[:, 1],
        [densities[0].logpdf(x) - densities[1].logpdf(x) for x in far[some]],
        rtol=1e-6, atol=1e-6,
    )  # fmt: skip
    if shape == "tied":
        contrast = form.contrast(far[some])
        np.testing.assert_allclose(contrast[:, 0] - contrast[:, 1], joint[:, 0] - joint[:, 1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("third", [1e2, 1e4])
def test_rows_far_from_all_classes_have_the_log_odds_of_the_nearest(third):
    mean, covariance = np.array([[0.0, 0], [2, 0], [third, 0]]), np.array([[[1.0, 0.3], [0.3, 1]]])
    w = np.linalg.solve(covariance[0], mean[1] - mean[0])
    middle, along = (mean[0] + mean[1]) / 2, np.array([-w[1], w[0]])
    rows = middle + 1e8 * along + np.linspace(-4, 4, 21)[:, None] * w
    contrast = Full(mean, covariance).contrast(rows)
    np.testing.assert_allclose(contrast[:, 1] - contrast[:, 0], (rows - middle) @ w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [5, 20, 300])
def test_oas_is_that_of_scikit_learn(n):
    X, _ = rows(n, seed=n)
    raw = np.cov(X.T, ddof=0)
    _, a = sklearn_oas(X)
    pulled = shrink_covariance(raw[None], np.array([float(n)]), "oas", 7.0)[0]
    np.testing.assert_allclose(pulled, (1 - a) * raw + a * 7.0 * np.eye(len(raw)), rtol=1e-10)


def test_oas_shrinks_each_class_by_its_own_rows_and_a_shared_matrix_by_all():
    X, codes = rows(200)
    target = np.eye(D) * np.trace(compute_expected("tied", X, codes)[0]) / D
    own = Gaussian("full", shrinkage="oas").solve(statistic("full", X, codes)).covariance
    for k in range(K):
        _, a = sklearn_oas(X[codes == k])
        np.testing.assert_allclose(
            own[k], (1 - a) * compute_expected("full", X, codes)[k] + a * target, rtol=1e-9, atol=1e-12
        )
    within = np.concatenate([X[codes == k] - X[codes == k].mean(axis=0) for k in range(K)])
    _, a = sklearn_oas(within, assume_centered=True)
    tied = Gaussian("tied", shrinkage="oas").solve(statistic("tied", X, codes)).covariance[0]
    np.testing.assert_allclose(
        tied, (1 - a) * compute_expected("tied", X, codes)[0] + a * target, rtol=1e-9, atol=1e-12
    )


@every_shape
@pytest.mark.parametrize("seed", range(6))
def test_oas_never_leaves_the_range_between_data_and_sphere(shape, seed):
    X, codes = rows(40, seed)
    form = Gaussian(shape, shrinkage="oas").solve(statistic(shape, X, codes))
    raw = Gaussian(shape).solve(statistic(shape, X, codes))
    top = max(np.trace(c) for c in [*covariance(raw), np.trace(compute_expected("tied", X, codes)[0]) * np.eye(1)])
    for c in covariance(form):
        assert 0 < np.linalg.eigvalsh(c).min() <= np.linalg.eigvalsh(c).max() <= top * (1 + 1e-9)


@pytest.mark.parametrize("d", range(1, 12))
def test_oas_of_a_sphere_is_complete(d):
    for variance in np.random.default_rng(d).random(20):
        pulled = shrink_covariance(np.eye(d)[None] * variance, np.array([10.0]), "oas", 7.0)[0]
        assert pulled.tolist() == (7.0 * np.eye(d)).tolist()


@pytest.mark.parametrize("shape", ["tied", "tied_diagonal", "tied_spherical"])
@pytest.mark.parametrize("shrinkage", [None, 0.3, "oas"])
def test_tied_shapes_stay_tied_and_linear(shape, shrinkage):
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(K), [20, 200, 800]).astype(np.int32)
    X = rng.normal(size=(1020, D)) * [1, 10, 100, 1000]
    form = Gaussian(shape, shrinkage=shrinkage).solve(statistic(shape, X, codes))
    np.testing.assert_allclose(covariance(form), covariance(form)[[0] * K], rtol=1e-12)
    assert form.linear().weights.shape == (K, D)


def test_imagined_rows_have_the_columns_own_pooled_variance():
    X, codes = rows()
    own, tied, n = (
        compute_expected("full", X, codes),
        compute_expected("tied", X, codes),
        np.bincount(codes)[:, None, None],
    )
    goal = (5 * tied + n * own) / (5 + n)
    full = Gaussian("full", prior_rows=5.0).solve(statistic("full", X, codes))
    np.testing.assert_allclose(covariance(full), goal, rtol=1e-10, atol=1e-12)
    diagonal = Gaussian(prior_rows=5.0).solve(statistic("diagonal", X, codes))
    np.testing.assert_allclose(diagonal.variance, [np.diag(c) for c in goal], rtol=1e-10)


AWKWARD = {
    "one row": (np.array([[1.0, 2, 3, 4]]), [0]),
    "fewer rows than features": (rows(6)[0], [0, 0, 0, 1, 1, 2]),
    "constant columns": (rows(30)[0] * [1, 0, 1, 0] + [0, 5, 0, 0], np.arange(30) % K),
    "nothing varies": (np.full((6, D), 3.25), np.arange(6) % K),
    "nothing varies within a class": (
        np.repeat([[1.0] * D, [2.0] * D, [3.0] * D], 3, axis=0),
        np.repeat([0, 1, 2], 3),
    ),
    "a class without rows": (rows(20)[0], np.arange(20) % 2),
    "copies of one column": (np.repeat(rows(30)[0][:, :1], D, axis=1), np.arange(30) % K),
    "wildly different scales": (rows(30)[0] * [1e-8, 1, 1e8, 1e3], np.arange(30) % K),
    "far from zero": (rows(30)[0] + 1e8, np.arange(30) % K),
    "a column never present": (np.where([True, True, True, False], rows(30)[0], np.nan), np.arange(30) % K),
    "holes everywhere": (np.where(np.arange(120).reshape(30, 4) % 3 > 0, rows(30)[0], np.nan), np.arange(30) % K),
    "no rows": (np.empty((0, D)), []),
    "tiny": (rows(30)[0] * 1e-100, np.arange(30) % K),
    "large": (rows(30)[0] * 1e100, np.arange(30) % K),
}


@every_shape
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("shrinkage", [None, 0.5, "oas"])
def test_scores_are_finite_however_poor_the_data(shape, name, shrinkage):
    X, codes = AWKWARD[name]
    form = Gaussian(shape, shrinkage=shrinkage).solve(statistic(shape, X, np.array(codes, np.int32)))
    if shape != "identity":  # its unit is one, however large the data
        assert np.isfinite(form.log_likelihoods(X)).all()
        assert np.isfinite(form.log_likelihoods(np.full((1, D), np.nan))).all()


@every_shape
def test_weights_are_rows_many_times(shape):
    X, codes = rows(21)
    w = np.arange(21) % 3 + 1
    weighted = Gaussian(shape).solve(statistic(shape, X, codes, w.astype(float)))
    repeated = Gaussian(shape).solve(statistic(shape, np.repeat(X, w, axis=0), np.repeat(codes, w)))
    np.testing.assert_allclose(weighted.log_likelihoods(X), repeated.log_likelihoods(X), rtol=1e-9)


@pytest.mark.parametrize("shape", ["full", "tied"])
@pytest.mark.parametrize("seed", range(8))
def test_missing_cells_do_not_make_certainties_of_columns_that_nearly_repeat_each_other(shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=200)
    X = np.column_stack([np.where(rng.random(200) < 0.2, np.nan, x), x + rng.normal(0, 0.2, 200)])
    form = Gaussian(shape).solve(statistic(shape, X, np.zeros(200, np.int32)))
    new = rng.normal(size=1000)
    new = np.column_stack([new, new + rng.normal(0, 0.2, 1000)])
    truth = multivariate_normal([0, 0], [[1, 1], [1, 1.04]]).logpdf(new)
    assert truth.mean() - 0.5 < form.log_likelihoods(new)[:, 0].mean()


def test_where_nothing_is_missing_the_covariance_is_that_of_maximum_likelihood():
    X = np.random.default_rng(0).normal(size=(50, 3)) @ [[1, 0.99, 0], [0, 0.01, 0], [0, 0, 1]]
    form = Gaussian("full").solve(statistic("full", X, np.zeros(50, np.int32)))
    np.testing.assert_allclose(form.covariance[0], np.cov(X.T, bias=True), rtol=1e-9)
