"""The strength of a feature, against numerical integrals, sums over pairs of classes, and its own draws."""

from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import entropy, norm, poisson

from deciban.errors import UndefinedError
from deciban.families import feature_strength, gaussian
from deciban.families.binned import Binned
from deciban.families.count_families import Bernoulli, Poisson
from deciban.families.feature_strength import Strengths, strengths
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical
from deciban.families.text_family import Text
from deciban.ledger import Counts, Grid, Levels, Moments, Scatter
from tests.families.bags import bags, corpus

K, N = 3, 300


def draw_data():
    """Draw classes, and numbers, counts and level codes that depend on them."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, K, N).astype(np.int32)
    numbers = np.stack([rng.normal(y, 1 + y), 1e6 + rng.normal(0, 1, N), rng.normal(5 * y, 0.1)], axis=1)
    counts = np.stack([rng.poisson(1 + 2 * y), rng.poisson(3, N), np.zeros(N)], axis=1).astype(float)
    codes = np.stack([(y + (rng.random(N) < 0.3)) % 3, rng.integers(0, 4, N), np.zeros(N)], axis=1).astype(int)
    return y, numbers, counts, codes


Y, NUMBERS, COUNTS, CODES = draw_data()
PRIOR = np.array([0.5, 0.3, 0.2])


def average_over_pairs(kl, prior=PRIOR):
    """Σ_k π_k Σ_{l≠k} π_l/(1−π_k) KL(k, l), pair by pair."""
    pairs = permutations(range(len(prior)), 2)
    return sum(prior[k] * prior[l] / (1 - prior[k]) * kl(k, l) for k, l in pairs)


def find_strengths(family, part, prior=PRIOR, seed=0):
    return strengths(family, part, prior, np.random.default_rng(seed))


@pytest.mark.parametrize("of", [Moments.of, Scatter.of])
def test_the_strength_of_gaussians_is_their_integral(of):
    part = of(NUMBERS, Y, None, K)
    family = Gaussian(prior_rows=1.0) if of == Moments.of else Gaussian("full")
    form = family.solve(part)
    variance = form.variance if of == Moments.of else np.diagonal(form.covariance, axis1=1, axis2=2)
    gaussians = [[norm(form.mean[k, j], np.sqrt(variance[k, j])) for k in range(K)] for j in range(3)]

    def kl(p, q):
        low, high = p.mean() - 12 * p.std(), p.mean() + 12 * p.std()
        return quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), low, high, limit=200)[0]

    expected = [average_over_pairs(lambda k, l, b=b: kl(b[k], b[l])) for b in gaussians]
    np.testing.assert_allclose(find_strengths(family, part).value, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("share", [1e-4, 1e-1])
def test_the_strength_of_bounded_gaussians_is_the_integral_of_their_bounded_evidence(share, monkeypatch):
    monkeypatch.setattr(gaussian, "CONTAMINATION", share)
    part, family = Moments.of(NUMBERS, Y, None, K), Gaussian(prior_rows=1.0, bounded=True)
    form = family.solve(part)
    gaussians = [[norm(form.mean[k, j], np.sqrt(form.variance[k, j])) for k in range(K)] for j in range(3)]

    def evidence(p, q, tail):
        x = np.linspace(p.mean() - 10 * p.std(), p.mean() + 10 * p.std(), 400_001)
        gap = np.maximum(p.logpdf(x), tail) - np.maximum(q.logpdf(x), tail)
        return np.trapezoid(p.pdf(x) * gap, x)

    expected = [
        average_over_pairs(lambda k, l, b=b, t=t: evidence(b[k], b[l], t)) for b, t in zip(gaussians, form.log_tail)
    ]
    np.testing.assert_allclose(find_strengths(family, part).value, expected, rtol=1e-5, atol=1e-6)


def test_many_values_of_the_normal_distribution_are_those_of_few(monkeypatch):
    part, family = Moments.of(NUMBERS, Y, None, K), Gaussian(prior_rows=1.0, bounded=True)
    few = find_strengths(family, part)
    monkeypatch.setattr(feature_strength, "MIN_SCIPY_VALUES", 0)
    for a, b in zip(few, find_strengths(family, part)):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_values_of_the_normal_distribution_are_counted_over_all_classes(monkeypatch):
    asked, choose = [], feature_strength._choose_normal_cdf
    monkeypatch.setattr(feature_strength, "_choose_normal_cdf", lambda n: asked.append(n) or choose(n))
    find_strengths(Gaussian(prior_rows=1.0, bounded=True), Moments.of(NUMBERS, Y, None, K))
    assert asked == [2 * K * K * 3, 2 * K * K * 3 * feature_strength.DRAWS]  # two for each pair of classes and column


def test_rates_are_as_strong_as_their_sum():
    part = Counts.of(COUNTS, Y, None, K)
    rate, x = Poisson().rates(part), np.arange(60)
    expected = [
        average_over_pairs(lambda k, l, j=j: entropy(poisson.pmf(x, rate[k, j]), poisson.pmf(x, rate[l, j])))
        for j in range(2)
    ]
    np.testing.assert_allclose(find_strengths(Poisson(), part).value, [*expected, 0.0], rtol=1e-9)


@pytest.mark.parametrize(
    "family", [Categorical(), Categorical(0.3, "smooth"), Categorical(holes="unseen", most=2)], ids=str
)
def test_tables_are_as_strong_as_their_entropies(family):
    part = Levels.of(CODES, Y, None, K)
    form = family.solve(part)
    expected = []
    for j in range(3):
        alone = Categorical(family.alpha, family.unseen, None, family.holes, family.most)
        mine = Levels.of(CODES[:, [j]], Y, None, K)
        rows, _ = alone.enumerate_rows(mine)
        shares = np.exp(alone.solve(mine).log_likelihoods(rows))
        expected.append(average_over_pairs(lambda k, l, p=shares: entropy(p[:, k], p[:, l])))
    np.testing.assert_allclose(find_strengths(family, part).value, expected, rtol=1e-9, atol=1e-12)
    assert form.n_classes == K


def test_bins_are_as_strong_as_their_table():
    part = Grid.of(NUMBERS, Y, None, K)
    form = Binned().solve(part)
    tables = [np.exp(form.log_theta[:, a:b]) for a, b in zip(form.lookup.offset[:-1], form.lookup.offset[1:])]
    expected = [average_over_pairs(lambda k, l, t=t: entropy(t[k], t[l])) for t in tables]
    found = find_strengths(Binned(), part)
    np.testing.assert_allclose(found.value, expected, rtol=1e-9, atol=1e-12)
    assert found.value[1] == found.low[1] == found.high[1] == 0  # a single bin


CASES = {
    "gaussian": (Gaussian(prior_rows=1.0), Moments.of, NUMBERS),
    "gaussian, bounded": (Gaussian(prior_rows=1.0, bounded=True), Moments.of, NUMBERS),
    "gaussian, full": (Gaussian("full"), Scatter.of, NUMBERS),
    "poisson": (Poisson(), Counts.of, COUNTS),
    "categorical": (Categorical(), Levels.of, CODES),
    "binned": (Binned(), Grid.of, NUMBERS),
}
every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_the_interval_lies_about_the_value_and_narrows_with_rows(name):
    family, of, X = CASES[name]
    few, many = (find_strengths(family, of(X, Y, None, K) * f) for f in (0.1, 100.0))
    for found in (few, many):
        assert isinstance(found, Strengths)
        assert all(a.shape == (3,) and np.isfinite(a).all() for a in found)
        assert (found.low >= 0).all()
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()
    top = few.value.argmax()
    width = [(found.high - found.low)[top] / found.value[top] for found in (few, many)]
    assert 0 < width[1] < 0.2 * width[0]


@every_case
def test_the_same_seed_gives_the_same_interval(name):
    family, of, X = CASES[name]
    part = of(X, Y, None, K)
    for a, b in zip(find_strengths(family, part), find_strengths(family, part)):
        np.testing.assert_array_equal(a, b)


@every_case
def test_a_class_without_rows_or_prior_is_left_out(name):
    family, of, X = CASES[name]
    part, wide = of(X, Y, None, K), of(X, (2 * Y).astype(np.int32), None, 6)
    prior = np.array([0.25, 0.1, 0.15, 0.2, 0.1, 0.2])  # classes 1, 3 and 5 have no rows
    np.testing.assert_allclose(
        find_strengths(family, wide, prior).value, find_strengths(family, part).value, rtol=1e-9, atol=1e-12
    )
    two, kept = np.array([0.4, 0.0, 0.6]), Y != 1
    found = find_strengths(family, part, two)
    assert np.isfinite(found).all()
    if name == "categorical":  # other families pool variances or means, or cut, with all classes
        alone = of(X[kept], (Y[kept] // 2).astype(np.int32), None, 2)
        np.testing.assert_allclose(found.value, find_strengths(family, alone, two[[0, 2]]).value, atol=1e-12)


@every_case
def test_without_another_class_there_is_no_strength(name):
    family, of, X = CASES[name]
    for part, prior in [
        (of(X, np.zeros(N, np.int32), None, 1), np.ones(1)),
        (of(X, np.zeros(N, np.int32), None, 2), np.array([0.5, 0.5])),
        (of(X, Y, None, K), np.array([0.0, 1.0, 0.0])),
        (of(X[:0], Y[:0], None, K), PRIOR),
    ]:
        found = find_strengths(family, part, prior)
        np.testing.assert_array_equal(np.array(found), np.zeros((3, 3)))


def test_a_column_that_one_class_never_had():
    x = np.where((Y == 2)[:, None], np.nan, NUMBERS)
    found = find_strengths(Gaussian(prior_rows=1.0), Moments.of(x, Y, None, K))
    assert np.isfinite(found).all()
    assert (found.value > 0).all()


def test_what_is_impossible_in_a_class_is_infinitely_strong():
    part = Levels(np.array([[5.0, 5.0], [0.0, 5.0]]), np.array([0, 2]))
    found = find_strengths(Categorical(alpha=0.0), part, np.array([0.5, 0.5]))
    assert found.value.tolist() == [np.inf]
    assert not np.isnan(found).any()


def test_a_family_of_other_features_says_so():
    with pytest.raises(UndefinedError, match="Bernoulli"):
        find_strengths(Bernoulli(), Counts.of(COUNTS, Y, None, K))


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("choice", [{}, {"most": 6}], ids=str)
def test_a_text_is_as_strong_as_its_words_together(event, choice):
    X, y = corpus(K=K)
    family, part = Text("words", event, 0.5, **choice), bags(X, y, K)
    kept = family.select_words(part).places
    theta = np.exp(family.log_theta(part))[:, kept]
    length = np.array([X[y == k][:, kept].sum() / (y == k).sum() for k in range(K)])

    def kl(k, l):
        if event == "multinomial":
            return length[k] * entropy(theta[k], theta[l])
        return entropy([theta[k], 1 - theta[k]], [theta[l], 1 - theta[l]]).sum()

    found = find_strengths(family, part)
    np.testing.assert_allclose(found.value, [average_over_pairs(kl)], rtol=1e-10)
    assert found.low < found.value < found.high


def test_a_text_that_nothing_is_known_of_has_no_strength():
    nothing = bags(np.zeros((3, 4)), [0, 1, 2], K)
    assert find_strengths(Text("words"), nothing).value.tolist() == [0.0]
    assert find_strengths(Text("words"), bags([[1.0, 2]], [0], K)).value.tolist() == [0.0]
    hard = find_strengths(Text("words", alpha=0.0), bags([[1.0, 0], [0, 1], [1, 1]], [0, 1, 2], K))
    assert hard.value.tolist() == [np.inf]
    with pytest.raises(UndefinedError):
        find_strengths(Text("words", "complement"), nothing)
