"""Which words are kept: both measures against SciPy and scikit-learn, with ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

from deciban.families.text_family import chi2, find_highest, find_kept_words, information
from deciban.ledger import Tallies
from tests.families.bags import bags, corpus

K = 4


@pytest.mark.parametrize("seed", range(5))
def test_information_gain_is_scikit_learns_mutual_information(seed):
    X, y = corpus(seed=seed)
    found = information(bags(X, y, K + 1).documents)  # one class never seen changes nothing
    expected = [mutual_info_score(y, x > 0) for x in X.T]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_chi2_is_that_of_the_whole_table(seed):
    X, y = corpus(seed=seed)
    found = chi2(bags(X, y, K + 1).documents)
    for v, x in enumerate(X.T):
        table = np.array([np.bincount(y[x > 0], minlength=K), np.bincount(y[x == 0], minlength=K)])
        has_both = table.sum(axis=1).all()
        expected = chi2_contingency(table, correction=False).statistic if has_both else 0.0
        assert found[v] == pytest.approx(expected, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("measure", [information, chi2])
def test_weights_count_as_rows_do(measure):
    X, y = corpus()
    w = np.random.default_rng(2).integers(0, 4, len(y))
    repeated = bags(np.repeat(X, w, axis=0), np.repeat(y, w), K).documents
    np.testing.assert_allclose(measure(bags(X, y, K, w).documents), measure(repeated), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("measure", [information, chi2])
def test_nothing_learned_and_rounded_weights_give_finite_scores(measure):
    assert measure(Tallies.empty(3, 2)).tolist() == [0.0, 0.0]
    w = np.random.default_rng(0).random(1000)
    part = bags(np.ones((1000, 1)), np.zeros(1000), 1, w).documents
    more = Tallies(part.start, part.class_code, part.total * (1 + 1e-15), part.weight)
    assert measure(more).tolist() == [0.0]
    weightless = Tallies(part.start, part.class_code, part.total, part.weight * 0)
    assert np.isfinite(measure(weightless)).all()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.data())
def test_of_equal_words_the_first_are_kept(scores, data):
    most = data.draw(st.integers(1, len(scores)))
    order = sorted(range(len(scores)), key=lambda v: (-scores[v], v))[:most]
    assert np.flatnonzero(find_highest(np.array(scores, float), most)).tolist() == sorted(order)


@pytest.mark.parametrize("by", ["information", "chi2"])
def test_rare_words_are_gone_before_the_best_are_chosen(by):
    X, y = corpus(V=60)
    part = bags(X, y, K).documents
    df = (X > 0).sum(axis=0)
    measure = {"information": information, "chi2": chi2}[by](part)
    common = [v for v in range(60) if df[v] >= 4]
    expected = sorted(sorted(common, key=lambda v: (-measure[v], v))[:6])
    assert np.flatnonzero(find_kept_words(part, 4, 6, by)).tolist() == expected
    assert np.flatnonzero(find_kept_words(part, 4, None, by)).tolist() == common
    assert np.flatnonzero(find_kept_words(part, 4, 10_000, by)).tolist() == common


def test_a_weight_that_underflows_gives_finite_information():
    tiny = Tallies(np.array([0, 2]), np.array([0, 1]), np.array([5e-324, 0.2]), np.array([[0.2], [0.2]]))
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(information(tiny)).all()


def test_words_of_no_document_are_never_kept():
    part = bags([[1.0, 0, 2], [1, 0, 0]], [0, 1], 2).documents
    assert find_kept_words(part, 0, None, "information").tolist() == [True, False, True]
    assert find_kept_words(part, 0, 1, "information").tolist() == [False, False, True]
    assert find_kept_words(part, 9, 1, "chi2").tolist() == [False] * 3
