"""Log-sum-exp and posteriors against exact arithmetic."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction as Q

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import deciban
from deciban.errors import DecibanWarning
from deciban.scores import finish, log_sum_exp

SCORES = st.floats(-1e6, 700) | st.sampled_from([-np.inf, -1e17, 0.0, -745.0])
ROWS = st.integers(1, 5).flatmap(lambda K: st.lists(st.lists(SCORES, min_size=K, max_size=K), min_size=1, max_size=4))


def exact_log_sum_exp(row):
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**17), 10**17
        total = sum((Decimal(a).exp() for a in row if a > -np.inf and a > max(row) - 1e4), Decimal(0))
        return float(total.ln()) if total else -np.inf


@given(rows=ROWS)
def test_log_sum_exp_is_that_of_sixty_digits(rows):
    np.testing.assert_allclose(
        log_sum_exp(np.array(rows)), [exact_log_sum_exp(row) for row in rows], rtol=1e-15, atol=1e-15
    )


@given(rows=ROWS)
def test_log_sum_exp_is_that_of_scipy(rows):
    np.testing.assert_allclose(
        log_sum_exp(np.array(rows)), scipy.special.logsumexp(rows, axis=1), rtol=1e-14, atol=1e-14
    )


@given(weights=st.lists(st.integers(0, 10**6), min_size=1, max_size=6), lift=st.sampled_from([0, -1e5, 600]))
def test_the_posterior_is_each_share_of_the_whole(weights, lift):
    prior = [Q(2 * k + 1, len(weights) ** 2) for k in range(len(weights))]
    whole = sum(weights)
    exact = [Q(w, whole) for w in weights] if whole else prior
    joint = np.array([[math.log(w) + lift if w else -math.inf for w in weights]])
    log_prior = np.log([float(p) for p in prior])
    posterior, lost = finish(joint, log_prior, "posterior")
    np.testing.assert_allclose(posterior[0], [float(p) for p in exact], rtol=1e-9 if lift else 1e-13, atol=0)
    assert lost == (whole == 0)
    assert finish(joint, log_prior, "winner")[0][0] == exact.index(max(exact))
    density = finish(joint, log_prior, "density")[0][0]
    assert density == pytest.approx(math.log(whole) + lift if whole else -math.inf, rel=1e-13, abs=1e-13)


def test_small_differences_survive_enormous_scores():
    log_posterior, _ = finish(np.array([[-1e17, -1e17]]), np.zeros(2), "log_posterior")
    np.testing.assert_allclose(log_posterior, math.log(0.5), rtol=1e-15)


def test_the_logarithm_of_a_tiny_posterior_does_not_underflow():
    log_posterior, _ = finish(np.array([[0.0, -5000.0]]), np.zeros(2), "log_posterior")
    assert log_posterior.tolist() == [[0.0, -5000.0]]


@pytest.mark.parametrize("wanted", ["joint", "log_posterior", "posterior", "winner", "density"])
def test_no_rows_have_no_answers(wanted):
    answer, lost = finish(np.empty((0, 3)), np.zeros(3), wanted)
    assert len(answer) == lost == 0


def test_finishing_leaves_the_scores_alone():
    joint = np.array([[-np.inf, -np.inf], [1.0, 2.0]])
    joint.flags.writeable = False
    for wanted in ("log_posterior", "posterior", "winner", "density"):
        finish(joint, np.log([0.3, 0.7]), wanted)


def test_the_warning_of_impossible_rows_names_the_line_of_the_caller():
    model = deciban.MultinomialNB(alpha=0.0).fit([[1, 0], [0, 1]], ["a", "b"])
    with pytest.warns(DecibanWarning, match="1 row is impossible under every class") as warned:
        model.predict([[1, 1]])
    assert warned[0].filename == __file__
