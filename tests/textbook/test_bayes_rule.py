"""No labelling beats the Bayes rule; what conditional independence means (MATHS 1 and 3.16; lecture)."""

from fractions import Fraction as Q
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deciban

CELLS = list(product(range(2), range(2)))


def fitted_to(weights):
    """A joint table with the given integer weight for every (class, cell)."""
    K = len(weights)
    X = np.array(CELLS * K)
    y = np.repeat(np.arange(K), len(CELLS))
    return deciban.JointBayes(alpha=0.0).fit(X, y, sample_weight=np.ravel(weights).astype(float))


def risk(labelling, weights):
    """The exact zero-one risk of answering labelling[cell] in each cell."""
    total = sum(map(sum, weights))
    right = sum(weights[k][i] for i, k in enumerate(labelling))
    return 1 - Q(right, total)


weight_tables = st.integers(2, 3).flatmap(
    lambda K: st.lists(st.lists(st.integers(1, 9), min_size=4, max_size=4), min_size=K, max_size=K)
)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
@settings(deadline=None, max_examples=40)
@given(weight_tables)
def test_no_labelling_of_a_random_joint_table_beats_the_bayes_rule(weights):
    model = fitted_to(weights)
    least = min(risk(f, weights) for f in product(range(len(weights)), repeat=len(CELLS)))
    assert risk(model.predict(np.array(CELLS)), weights) == least
    assert model.bayes_error() == pytest.approx(float(least), rel=1e-12, abs=1e-15)


def test_the_bayes_error_of_two_gaussians_is_the_area_beyond_the_midpoint():
    """Means 0 and 2, sd 1, equal priors: Φ(−1) = 0.1587."""
    model = deciban.GaussianNB(var_smoothing=0).fit([[-1.0], [1.0], [1.0], [3.0]], [0, 0, 1, 1])
    assert model.bayes_error() == pytest.approx(0.158655, abs=0.02)


# weight of (class, cause, sign) = a(class|cause)·b(sign|cause): class and sign independent given the cause.
# columns: sign (rain; a coat), cause (lightning; rain)
THUNDER_LIGHTNING_RAIN = ([[9, 1], [2, 8]], [[7, 3], [1, 4]])
TAXI_COATS_ACCIDENTS = ([[19, 1], [3, 2]], [[8, 2], [1, 9]])


def common_cause(a, b):
    """A joint table over (sign, cause) per class, from a[cause][class] and b[cause][sign]."""
    return fitted_to([[a[cause][k] * b[cause][sign] for sign, cause in CELLS] for k in (0, 1)])


@pytest.mark.parametrize(("a", "b"), [THUNDER_LIGHTNING_RAIN, TAXI_COATS_ACCIDENTS])
def test_given_the_cause_the_sign_tells_nothing_more(a, b):
    """P(Thunder | Rain, Lightning) = P(Thunder | Lightning); coats and accidents given rain."""
    model = common_cause(a, b)
    for cause in (0, 1):
        expected = [Q(a[cause][k], sum(a[cause])) for k in (0, 1)]
        for sign in (0, 1, np.nan):
            posterior = model.predict_proba([[sign, cause]])[0]
            np.testing.assert_allclose(posterior, np.array(expected, dtype=float), rtol=1e-12)


@pytest.mark.parametrize(("a", "b"), [THUNDER_LIGHTNING_RAIN, TAXI_COATS_ACCIDENTS])
def test_without_the_cause_the_sign_is_evidence(a, b):
    """Independent given Z does not mean independent: drivers in coats do have more accidents."""
    model = common_cause(a, b)
    bare, signed, unknown = model.predict_proba([[0, np.nan], [1, np.nan], [np.nan, np.nan]])[:, 1]
    assert signed > unknown * 1.1 > bare * 1.1


def test_naive_bayes_counts_a_repeated_column_twice_and_the_joint_table_once():
    """The price of the naive assumption: a copied feature doubles its evidence."""
    X, y = np.array([[0], [0], [1], [0], [1], [1]]), [0, 0, 0, 1, 1, 1]
    twice = np.hstack([X, X])
    once = deciban.CategoricalNB(alpha=0.0).fit(X, y).explain([[1]], classes=(1, 0)).total[0]
    naive = deciban.CategoricalNB(alpha=0.0).fit(twice, y).explain([[1, 1]], classes=(1, 0)).total[0]
    joint = deciban.JointBayes(alpha=0.0).fit(twice, y).explain([[1, 1]], classes=(1, 0)).total[0]
    assert naive == pytest.approx(2 * once, rel=1e-12)
    assert joint == pytest.approx(once, rel=1e-12)
