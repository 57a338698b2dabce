"""Rows drawn from a model look like it, and its ledger knows the likelihood of what it learned."""

import numpy as np
import pytest

from deciban.errors import UndefinedError
from deciban.families.binned import Binned
from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical, Joint
from tests.engines.paths import Case, clustered_numbers, codes, flags, measurements, words

N, K = 20_000, 3
SHAPES = ["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"]


def pairs(rng, n):
    return codes(rng, n)[:, :2]


CASES = [
    Case("bernoulli", Bernoulli(), flags),
    Case("bernoulli, maximum likelihood", Bernoulli(alpha=0.0, threshold=1.0), flags),
    Case("multinomial", Multinomial(alpha=0.5), words, holes=False),
    Case("multinomial, maximum likelihood", Multinomial(alpha=0.0), words, holes=False),
    Case("categorical", Categorical(), codes),
    Case("categorical, maximum likelihood", Categorical(alpha=0.0), codes),
    Case("categorical, smoothed", Categorical(unseen="smooth"), codes),
    Case("categorical, pooled", Categorical(holes="unseen", most=3), codes),
    Case("binned", Binned(), clustered_numbers, informative=True),
    Case("joint", Joint(alpha=0.5), pairs),
    Case("joint, smoothed", Joint(alpha=0.5, unseen="smooth"), pairs),
    Case("poisson", Poisson(), words),
    *(Case(f"gaussian, {shape}", Gaussian(shape), measurements) for shape in SHAPES),
    Case("gaussian, shrunk", Gaussian("full", shrinkage=0.3), measurements),
    Case("gaussian, prior", Gaussian(prior_rows=3.0, var_smoothing=0.1), measurements),
]
WITHOUT_LEDGER_LIKELIHOOD = [Gaussian("full"), Gaussian("tied"), Gaussian("full", shrinkage=0.3)]
"""With missing values, the likelihood of these is not a function of the ledger."""
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def indicators(case, form, X):
    """Return the numbers whose means are compared: values, or indicators of level, cell or bin."""
    if isinstance(case.family, Binned):
        lookup, bins = form.lookup, form.bins(X)
        sizes = np.diff(lookup.offset)
        return np.concatenate([bins[:, [j]] == np.arange(B) for j, B in enumerate(sizes)], axis=1).astype(float)
    if isinstance(case.family, Categorical | Joint):
        each = [(v == X).astype(float) for v in range(4)]
        if isinstance(case.family, Joint):
            each.append(((X[:, :1] * 4 + X[:, 1:]) == np.arange(16)).astype(float))
        return np.concatenate(each, axis=1)
    return X.astype(float)


@every_case
def test_rows_drawn_come_out_as_the_parameters_say(case):
    """A model refitted to its own draws has the same parameters, within five standard errors."""
    X, y, _ = case.rows(n=300)
    model = case.model(X, y)
    (draws,), k = model.sample(N, np.random.default_rng(0))
    share = np.bincount(k, minlength=K) / N
    assert np.abs(share - model.solved.prior).max() < 5 * np.sqrt(0.25 / N)
    (form,) = model.solved.forms
    for c in range(K):
        mine = indicators(case, form, draws[k == c])
        error = mine.std(axis=0) / np.sqrt(len(mine)) + 1e-9
        assert (np.abs(mine.mean(axis=0) - means_of(case, model, form, c)) < 5 * error + 1e-3 * (error < 1e-8)).all()


def means_of(case, model, form, c):
    family, part = case.family, model.ledger.parts[0]
    if isinstance(family, Bernoulli):
        return family.theta(part)[c] * (2 if family.threshold == 1.0 else 1)
    if isinstance(family, Poisson):
        return family.rates(part)[c]
    if isinstance(family, Multinomial):
        return family.theta(part)[c] * part.total[c].sum() / part.weight[c, 0]
    if isinstance(family, Gaussian):
        return form.mean[c]
    if isinstance(family, Binned):
        return np.exp(form.log_theta[c])
    return table_means(family, form, c)


def table_means(family, form, c):
    d = 2 if isinstance(family, Joint) else 6
    alone = [[np.where(np.arange(d) == j, v, -1) for j in range(d)] for v in range(4)]
    p = np.exp([form.log_likelihoods(np.array(rows))[:, c] for rows in alone])
    p = p / p.sum(axis=0)  # only known levels are drawn
    if d == 6:
        return p.ravel()
    cells = np.exp(form.log_likelihoods(np.indices((4, 4)).reshape(2, 16).T)[:, c])
    cells /= cells.sum()
    return np.concatenate([p.ravel(), cells])


@pytest.mark.parametrize("shape", SHAPES)
def test_gaussians_are_drawn_with_their_covariance(shape):
    case = Case("", Gaussian(shape), measurements)
    X, y, _ = case.rows(n=300)
    model = case.model(X, y)
    (draws,), k = model.sample(N, np.random.default_rng(0))
    (form,) = model.solved.forms
    for c in range(K):
        shown = np.cov(draws[k == c].T)
        true = (
            np.diag(form.variance[c])
            if hasattr(form, "variance")
            else form.covariance[min(c, len(form.covariance) - 1)]
        )
        v = np.diag(true)
        error = np.sqrt((np.outer(v, v) + true**2) / (k == c).sum())
        assert (np.abs(shown - true) < 5 * error).all()


@every_case
@pytest.mark.parametrize("weights", [False, True], ids=["unit", "weights"])
@pytest.mark.parametrize("holes", [0.0, 0.2], ids=["whole", "holes"])
def test_the_ledger_knows_the_likelihood_of_its_rows(case, weights, holes):
    X, y, w = case.rows(n=80, weights=weights, holes=holes)
    model = case.model(X, y, w)
    if isinstance(case.family, Poisson) or (
        holes and (case.family in WITHOUT_LEDGER_LIKELIHOOD or isinstance(case.family, Joint))
    ):
        with pytest.raises(UndefinedError, match=r"log_likelihood\(X, y\)"):
            model.training_log_likelihood()
        return
    assert model.training_log_likelihood() == pytest.approx(model.log_likelihood([X], y, w, 1), rel=1e-10)


def test_complement_has_nothing_to_draw_and_no_likelihood():
    case = Case("complement", Complement(), words)
    X, y, _ = case.rows()
    model = case.model(X, y)
    for refused in (
        lambda: model.sample(1, np.random.default_rng(0)),
        model.training_log_likelihood,
        lambda: model.log_likelihood([X], y, None, 1),
        lambda: model.scores([X], "density", 1),
    ):
        with pytest.raises(UndefinedError, match="complement naive Bayes"):
            refused()


@pytest.mark.parametrize(
    "family",
    [
        Categorical(),
        Categorical(unseen="smooth"),
        Categorical(holes="unseen", most=1),
        Joint(alpha=0.5),
        Joint(alpha=0.5, unseen="smooth"),
        Bernoulli(),
        Binned(),
    ],
    ids=str,
)
def test_the_bayes_error_of_a_table_is_that_of_its_own_draws(family):
    case = Case(
        "", family, clustered_numbers if isinstance(family, Binned) else pairs, informative=isinstance(family, Binned)
    )
    X, y, _ = case.rows(n=60)
    model = case.model(X, y)
    exact = model.bayes_error(0, np.random.default_rng(0), 1)
    parts, _ = model.sample(N, np.random.default_rng(0))
    drawn = 1 - model.scores(parts, "posterior", 1).max(axis=1)
    assert abs(exact - drawn.mean()) < 5 * drawn.std() / np.sqrt(N) + 1e-12


def test_the_bayes_error_leaves_out_a_column_that_nobody_has():
    case = Case("", Categorical(), codes)
    X = np.array([[0, np.nan], [1, np.nan], [1, np.nan]])
    y = np.array([0, 1, 1], np.int32)
    with_it, without = case.model(X, y, K=2), case.model(X[:, :1], y, K=2)
    expected = without.bayes_error(0, np.random.default_rng(0), 1)
    assert with_it.bayes_error(0, np.random.default_rng(0), 1) == pytest.approx(expected)
