"""The China/Japan documents of Manning, Raghavan & Schütze (Information Retrieval, chapter 13)."""

from fractions import Fraction as Q

import numpy as np

import deciban
from tests import oracle

# Beijing, Chinese, Japan, Macao, Shanghai, Tokyo
DOCUMENTS = [[1, 2, 0, 0, 0, 0], [0, 2, 0, 0, 1, 0], [0, 1, 0, 1, 0, 0], [0, 1, 1, 0, 0, 1]]
COUNTRY = ["China", "China", "China", "Japan"]
QUESTION = [0, 3, 1, 0, 0, 1]  # Chinese Chinese Chinese Tokyo Japan


def floats(fractions):
    return np.array(fractions, dtype=object).astype(float)


def test_the_multinomial_model_of_the_book():
    """Example 13.1: P(Chinese|China) = 3/7, P(Tokyo|China) = 1/14, P(Japan|Japan) = 2/9."""
    model = deciban.MultinomialNB().fit(DOCUMENTS, COUNTRY)
    theta = [
        [Q(2, 14), Q(6, 14), Q(1, 14), Q(2, 14), Q(2, 14), Q(1, 14)],
        [Q(1, 9), Q(2, 9), Q(2, 9), Q(1, 9), Q(1, 9), Q(2, 9)],
    ]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), floats(theta), rtol=1e-13)
    joint = [Q(3, 4) * Q(3, 7) ** 3 * Q(1, 14) ** 2, Q(1, 4) * Q(2, 9) ** 5]
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([QUESTION])[0]), floats(joint), rtol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba([QUESTION])[0], floats([p / sum(joint) for p in joint]), rtol=1e-12
    )
    assert model.predict([QUESTION])[0] == "China"


def test_the_bernoulli_model_of_the_book_decides_otherwise():
    """Example 13.2: ignoring repetition, the same document is assigned to Japan."""
    model = deciban.BernoulliNB().fit(DOCUMENTS, COUNTRY)
    theta = [
        [Q(2, 5), Q(4, 5), Q(1, 5), Q(2, 5), Q(2, 5), Q(1, 5)],
        [Q(1, 3), Q(2, 3), Q(2, 3), Q(1, 3), Q(1, 3), Q(2, 3)],
    ]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), floats(theta), rtol=1e-13)
    x = [min(n, 1) for n in QUESTION]
    posterior = oracle.posterior([Q(3, 4), Q(1, 4)], [oracle.p_bernoulli(t, x) for t in theta])
    np.testing.assert_allclose(model.predict_proba([QUESTION])[0], floats(posterior), rtol=1e-12)
    assert model.predict([QUESTION])[0] == "Japan"


def test_the_complement_model_weighs_the_words_of_all_other_countries():
    """Rennie et al. 2003, table 4, steps 4 to 6, on the same documents."""
    model = deciban.ComplementNB().fit(DOCUMENTS, COUNTRY)
    theta = oracle.complement(DOCUMENTS, COUNTRY, ["China", "Japan"], alpha=1)
    assert theta[0] == [Q(1, 9), Q(2, 9), Q(2, 9), Q(1, 9), Q(1, 9), Q(2, 9)]
    np.testing.assert_allclose(model.feature_log_prob_, -np.log(floats(theta)), rtol=1e-13)
