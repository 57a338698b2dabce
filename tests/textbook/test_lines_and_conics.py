"""The shapes of decision boundaries: line, bisector, conic, thresholds (MATHS 1, in its letters)."""

import numpy as np
import pytest
from sklearn.covariance import oas

import deciban

FLAGS = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0]])
COUNTS = np.array([[3, 0, 1], [2, 1, 0], [0, 4, 1], [1, 0, 5], [0, 2, 2], [1, 1, 1], [0, 3, 0]])
label = np.array([0, 0, 0, 1, 1, 1, 1])
NUMBERS = np.vstack(
    [
        np.random.default_rng(7).multivariate_normal([0, 0], [[2.0, 0.8], [0.8, 1.0]], 40),
        np.random.default_rng(8).multivariate_normal([2, 1], [[0.5, -0.3], [-0.3, 1.5]], 25),
    ]
)
group = np.repeat([0, 1], [40, 25])


def log_odds(model, X):
    joint = model.predict_joint_log_proba(X)
    return joint[:, 1] - joint[:, 0]


def moments(X, y):
    """(n_k, μ_k, S_k) of both classes, S undivided."""
    parts = [X[y == k] for k in (0, 1)]
    return [(len(x), x.mean(0), (x - x.mean(0)).T @ (x - x.mean(0))) for x in parts]


def test_bernoulli_weights_and_bias_are_the_lectures():
    model = deciban.BernoulliNB().fit(FLAGS, label)
    n = np.array([3, 4])
    t0, t1 = ((np.array([FLAGS[label == k].sum(0) for k in (0, 1)]).T + 1) / (n + 2)).T
    form = model.linear_form()
    np.testing.assert_allclose(form.w, np.log(t1 * (1 - t0) / (t0 * (1 - t1))), rtol=1e-12, atol=1e-13)
    assert form.b == pytest.approx(np.log((1 - t1) / (1 - t0)).sum() + np.log(4 / 3), rel=1e-12)
    np.testing.assert_allclose(FLAGS @ form.w + form.b, log_odds(model, FLAGS), rtol=1e-10, atol=1e-12)


def test_multinomial_weights_are_differences_of_logs_and_the_bias_is_the_prior():
    model = deciban.MultinomialNB().fit(COUNTS, label)
    words = np.array([COUNTS[label == k].sum(0) for k in (0, 1)]) + 1
    theta = words / words.sum(1, keepdims=True)
    form = model.linear_form()
    np.testing.assert_allclose(form.w, np.log(theta[1]) - np.log(theta[0]), rtol=1e-12)
    assert form.b == pytest.approx(np.log(4 / 3), rel=1e-12)


def test_a_shared_covariance_gives_the_lectures_line():
    """w = Σ⁻¹(μ_1−μ_0), b = −½(μ_1ᵀΣ⁻¹μ_1 − μ_0ᵀΣ⁻¹μ_0) + ln(π_1/π_0), Σ = Σ_k S_k / Σ_k n_k."""
    model = deciban.GaussianBayes(covariance="tied").fit(NUMBERS, group)
    (n0, m0, S0), (n1, m1, S1) = moments(NUMBERS, group)
    P = np.linalg.inv((S0 + S1) / (n0 + n1))
    form = model.linear_form()
    np.testing.assert_allclose(form.w, P @ (m1 - m0), rtol=1e-10)
    assert form.b == pytest.approx(-0.5 * (m1 @ P @ m1 - m0 @ P @ m0) + np.log(n1 / n0), rel=1e-10)
    np.testing.assert_allclose(NUMBERS @ form.w + form.b, log_odds(model, NUMBERS), rtol=1e-9, atol=1e-10)


def test_the_tied_covariance_does_not_depend_on_the_priors():
    plain, given = (
        deciban.GaussianBayes(covariance="tied", priors=p).fit(NUMBERS, group) for p in (None, [0.9, 0.1])
    )
    np.testing.assert_allclose(given.linear_form().w, plain.linear_form().w, rtol=1e-12)


def roots_on_a_ray(A, w, b, origin, direction):
    """Return where the quadratic xᵀAx + wᵀx + b vanishes along origin + t·direction."""
    p, v = origin, direction
    return np.roots([v @ A @ v, 2 * p @ A @ v + w @ v, p @ A @ p + w @ p + b])


def boundary_points(form):
    A, w, b = (part[1] - part[0] for part in (form.A, form.weights, form.bias))
    A = np.diag(A) if A.ndim == 1 else A
    angles = np.linspace(0, np.pi, 24, endpoint=False)
    for v in np.column_stack([np.cos(angles), np.sin(angles)]):
        p = np.array([1.0, 0.5])
        yield from (p + t.real * v for t in roots_on_a_ray(A, w, b, p, v) if abs(t.imag) < 1e-12)


QUADRATIC = [
    deciban.GaussianBayes(covariance="full"),
    deciban.GaussianBayes(covariance="diagonal"),
    deciban.GaussianBayes(covariance="spherical"),
    deciban.GaussianNB(),
]


@pytest.mark.parametrize("model", QUADRATIC, ids=str)
def test_on_the_conic_both_classes_are_equally_likely(model):
    points = np.array(list(boundary_points(model.fit(NUMBERS, group).quadratic_form())))
    assert len(points) >= 10
    np.testing.assert_allclose(model.predict_proba(points), 0.5, atol=1e-9)


@pytest.mark.parametrize("model", QUADRATIC, ids=str)
def test_the_quadratic_form_is_the_score_up_to_a_term_all_classes_share(model):
    form = model.fit(NUMBERS, group).quadratic_form()
    A = np.array([np.diag(a) if a.ndim == 1 else a for a in form.A])
    score = np.einsum("ni,kij,nj->nk", NUMBERS, A, NUMBERS) + NUMBERS @ form.weights.T + form.bias
    difference = score - model.predict_joint_log_proba(NUMBERS)
    np.testing.assert_allclose(difference[:, 1], difference[:, 0], rtol=1e-9, atol=1e-9)


def test_a_full_covariance_is_counted_over_its_own_rows_and_keeps_half_the_log_determinant():
    """The lecture's slips: a covariance summed over all rows, −½ln|Σ| dropped, no ½ in the exponent."""
    form = deciban.GaussianBayes().fit(NUMBERS, group).quadratic_form()
    parts = moments(NUMBERS, group)
    covariances = [S / n for n, _, S in parts]
    np.testing.assert_allclose(form.A, [-0.5 * np.linalg.inv(C) for C in covariances], rtol=1e-9)
    constants = [
        np.log(n / 65) - 0.5 * np.linalg.slogdet(C)[1] - 0.5 * m @ np.linalg.inv(C) @ m
        for (n, m, _), C in zip(parts, covariances)
    ]
    assert form.bias[1] - form.bias[0] == pytest.approx(constants[1] - constants[0], rel=1e-9)


@pytest.mark.parametrize("shrinkage", [0.3, 1.0, "oas"])
def test_shrinkage_pulls_every_class_towards_one_common_scale(shrinkage):
    """Σ_k ← (1−a) Σ_k + a·s̄·I, s̄ = trace(pooled within-class covariance)/d; oas: a per class."""
    model = deciban.GaussianBayes(shrinkage=shrinkage, shrinkage_target="spherical").fit(NUMBERS, group)
    form = model.quadratic_form()
    parts = moments(NUMBERS, group)
    s = np.trace(sum(S for _, _, S in parts) / 65) / 2
    for k, (n, m, S) in enumerate(parts):
        a = oas(NUMBERS[group == k] - m, assume_centered=True)[1] if shrinkage == "oas" else shrinkage
        expected = (1 - a) * S / n + a * s * np.eye(2)
        np.testing.assert_allclose(np.linalg.inv(-2 * form.A[k]), expected, rtol=1e-8)


def identity_model(priors):
    return deciban.GaussianBayes(covariance="identity", priors=priors).fit(NUMBERS, group)


def along_the_boundary(form):
    foot = -form.b * form.w / (form.w @ form.w)
    return foot + np.linspace(-5, 5, 11)[:, None] * np.array([-form.w[1], form.w[0]])


def test_identity_covariance_and_equal_priors_give_the_perpendicular_bisector():
    model = identity_model("uniform")
    m0, m1 = (NUMBERS[group == k].mean(0) for k in (0, 1))
    np.testing.assert_allclose(model.linear_form().w, m1 - m0, rtol=1e-12)
    points = along_the_boundary(model.linear_form())
    np.testing.assert_allclose(np.linalg.norm(points - m0, axis=1), np.linalg.norm(points - m1, axis=1), rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(points), 0.5, atol=1e-9)


@pytest.mark.parametrize("priors", [[0.9, 0.1], [0.2, 0.8], None])
def test_unequal_priors_move_the_line_parallel_to_the_bisector(priors):
    equal, unequal = identity_model("uniform"), identity_model(priors)
    np.testing.assert_allclose(unequal.linear_form().w, equal.linear_form().w, rtol=1e-12)
    pi = [40 / 65, 25 / 65] if priors is None else priors
    shift = unequal.linear_form().b - equal.linear_form().b
    assert shift == pytest.approx(np.log(pi[1] / pi[0]), rel=1e-10)
    np.testing.assert_allclose(unequal.predict_proba(along_the_boundary(unequal.linear_form())), 0.5, atol=1e-9)


# (mean, sd) of class 0, of class 1, priors, thresholds: two points m ± s have mean m and sd s
ONE_FEATURE = [
    ((0, 1), (4, 1), [0.5, 0.5], 1),
    ((0, 1), (1, 2), [0.5, 0.5], 2),
    ((0, 1), (0, 3), [0.5, 0.5], 2),
    ((0, 1), (0, 3), [0.05, 0.95], 0),
    ((1, 2), (1, 2), [0.4, 0.6], 0),
]


@pytest.mark.parametrize(("first", "second", "priors", "thresholds"), ONE_FEATURE)
def test_one_feature_is_cut_at_no_one_or_two_thresholds(first, second, priors, thresholds):
    X = [[m + sign * s] for m, s in (first, second) for sign in (-1, 1)]
    model = deciban.GaussianNB(priors=priors, var_smoothing=0).fit(X, [0, 0, 1, 1])
    answers = model.predict(np.linspace(-60.03, 60, 24001)[:, None])
    assert np.count_nonzero(np.diff(answers)) == thresholds


@pytest.mark.parametrize("model", [*QUADRATIC, deciban.CategoricalNB(), deciban.JointBayes()], ids=str)
def test_a_model_that_is_not_linear_refuses_a_linear_form_and_says_so(model):
    X = NUMBERS if "Gaussian" in str(model) else COUNTS
    model.fit(X, group if X is NUMBERS else label)
    with pytest.raises(deciban.errors.UndefinedError, match=r"quadratic_form|linear"):
        model.linear_form()


@pytest.mark.parametrize("model", QUADRATIC, ids=str)
def test_the_refusal_names_the_quadratic_form(model):
    with pytest.raises(TypeError, match="quadratic_form"):
        model.fit(NUMBERS, group).linear_form()
