"""Mixed and shrunk covariances chosen by leave-one-out: against refits by NumPy alone, and in use."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import deciban
from deciban import GaussianBayes
from deciban.errors import InputError, UndefinedError
from deciban.estimators.cross_validate import out_of_fold
from deciban.generative import GenerativeModel
from deciban.validation.covariance_choice import CovarianceSettings, choose_covariance


def data(n=36, seed=3):
    """Three classes in columns of very different units, with covariances of their own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) * (1 + y[:, None]) + 2 * y[:, None]
    return X * [1.0, 1e4, 1e-3], y


def joint_without(i, X, y, w, share, gamma, target, prior_rows=0.0):
    """Return ln p(x_i, k) by the other rows: regularised discriminant analysis, written down."""
    keep = np.arange(len(X)) != i
    x, k, v = X[keep], y[keep], w[keep]
    classes = np.unique(y)
    mean = [np.average(x[k == c], axis=0, weights=v[k == c]) for c in classes]
    own = [np.cov(x[k == c].T, aweights=v[k == c], ddof=0) for c in classes]
    n = np.array([v[k == c].sum() for c in classes])
    pooled = np.average(own, axis=0, weights=n)
    t = np.diag(pooled) if target == "diagonal" else np.full(X.shape[1], np.trace(pooled) / X.shape[1])
    scores = []
    for c in range(len(classes)):
        smoothed = (prior_rows * pooled + n[c] * own[c]) / (prior_rows + n[c])
        sigma = (1 - gamma) * ((1 - share) * smoothed + share * pooled) + gamma * np.diag(t)
        gap = X[i] - mean[c]
        log_det = np.linalg.slogdet(2 * np.pi * sigma)[1]
        scores.append(np.log(n[c] / n.sum()) - 0.5 * (log_det + gap @ np.linalg.solve(sigma, gap)))
    return np.array(scores)


@pytest.mark.parametrize("target", ["diagonal", "spherical"])
@pytest.mark.parametrize(("share", "gamma"), [(0.35, 0.1), (0.0, 0.3), (1.0, 0.03), (0.2, 0.0), (0.5, 1.0)])
@pytest.mark.parametrize("weighed", [False, True], ids=["unit", "weighed"])
def test_the_score_without_a_row_is_that_of_a_refit(target, share, gamma, weighed):
    X, y = data()
    w = 1.0 + np.arange(len(y)) % 3 if weighed else np.ones(len(y))
    estimator = GaussianBayes(covariance="mixed", mixing=share, shrinkage=gamma, shrinkage_target=target)
    found = out_of_fold(estimator, X, y, "loo", sample_weight=w).scores
    expected = np.array([joint_without(i, X, y, w, share, gamma, target) for i in range(len(y))])
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("target", ["diagonal", "spherical"])
def test_the_accuracy_and_brier_score_of_the_choice_are_those_of_refits_and_the_least(target):
    X, y = data()
    w = np.ones(len(y))
    mixings, shrinkages = (0.0, 0.5, 1.0), (0.05, 0.4)
    unfitted = GaussianBayes(covariance="mixed", shrinkage_target=target)
    fitted = clone(unfitted).fit(X, y)
    model = GenerativeModel(fitted._assumption(3, 3), fitted.ledger_)
    choice = choose_covariance(model, X, y.astype(np.int32), None, CovarianceSettings(mixings, shrinkages, [target]))
    losses, hits = {}, {}
    for share in mixings:
        for gamma in shrinkages:
            joint = np.array([joint_without(i, X, y, w, share, gamma, target) for i in range(len(y))])
            posterior = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
            losses[share, gamma] = ((posterior - np.eye(3)[y]) ** 2).sum(axis=1).mean()
            hits[share, gamma] = np.mean(joint.argmax(axis=1) == y)
    best = min(losses, key=losses.get)
    assert (choice.family.mixing, choice.family.shrinkage) == best
    assert choice.accuracy == hits[best]
    assert choice.brier_score == pytest.approx(losses[best], rel=1e-9)


def leave_one_out_accuracy(estimator, X, y):
    return deciban.cross_validate(estimator, X, y, folds="loo").accuracy


def test_shrinkage_by_oas_is_as_good_on_raw_columns_as_on_standardised_ones():
    X, y = load_wine(return_X_y=True)
    raw = leave_one_out_accuracy(GaussianBayes(shrinkage="oas"), X, y)
    assert raw >= 0.985
    assert leave_one_out_accuracy(GaussianBayes(shrinkage="oas", shrinkage_target="spherical"), X, y) < 0.7


def test_units_of_columns_change_nothing():
    X, y = data()
    scaled = StandardScaler().fit_transform(X)
    for arguments in (
        {"shrinkage": 0.2},
        {"shrinkage": "oas"},
        {"covariance": "mixed", "shrinkage": "loo", "shrinkage_target": "diagonal"},
    ):
        raw, standard = (GaussianBayes(**arguments).fit(x, y).predict_proba(x) for x in (X, scaled))
        np.testing.assert_allclose(raw, standard, rtol=1e-7, atol=1e-9)


def test_rows_of_weight_0_take_no_part_in_the_choice():
    X, y = data()
    rng = np.random.default_rng(0)
    n = 7000  # more than are left out: the sample is of the other rows
    both = np.concatenate([rng.normal(size=(n, 3)) * 1e5, X])
    labels, weight = np.concatenate([rng.integers(0, 3, n), y]), np.repeat([0.0, 1.0], [n, len(y)])
    given = {"covariance": "mixed", "shrinkage": "loo", "shrinkage_target": "diagonal"}
    with_them, without = GaussianBayes(**given).fit(both, labels, weight), GaussianBayes(**given).fit(X, y)
    assert (with_them.mixing_, with_them.shrinkage_) == (without.mixing_, without.shrinkage_)
    np.testing.assert_array_equal(with_them.predict_proba(X), without.predict_proba(X))


def test_few_rows_are_predicted_better_than_by_either_covariance_alone():
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 10)) + y[:, None] * 0.5
    test_y = np.arange(3000) % 3
    test = rng.normal(size=(3000, 10)) + test_y[:, None] * 0.5
    chosen = GaussianBayes(covariance="mixed", shrinkage="loo").fit(X, y)
    assert chosen.mixing_ >= 0.5
    assert chosen.score(test, test_y) > GaussianBayes(covariance="full").fit(X, y).score(test, test_y)


def test_the_number_of_components_is_chosen_and_gives_the_posterior_of_the_projections():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 6)) * 0.01])
    model = GaussianBayes(shrinkage="loo", n_components="loo", shrinkage_target="spherical").fit(X, y)
    assert model.n_components_ >= 2
    assert model.score(X, y) >= 0.96
    given = {"shrinkage": model.shrinkage_, "shrinkage_target": "spherical"}
    Z = PCA(model.n_components_).fit_transform(X)
    np.testing.assert_allclose(
        model.predict_proba(X), GaussianBayes(**given).fit(Z, y).predict_proba(Z), rtol=1e-6, atol=1e-9
    )
    rows, _ = model.sample(50, 0)
    assert rows.shape == (50, 10)
    assert np.isfinite(model.score_samples(rows)).all()
    explanation = model.explain(X[:3])
    np.testing.assert_allclose(explanation.total, [sum(v for _, v in e.entries()) for e in explanation], rtol=1e-9)


def test_what_was_chosen_stays_in_files_and_under_other_priors(tmp_path):
    X, y = data()
    model = GaussianBayes(covariance="mixed", shrinkage="loo").fit(X, y)
    model.save(tmp_path / "m.deciban")
    read = deciban.load(tmp_path / "m.deciban")
    assert (read.shrinkage_, read.mixing_, read.shrinkage) == (model.shrinkage_, model.mixing_, "loo")
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    for one in (model, read):
        other = one.with_priors([0.2, 0.2, 0.6])
        assert (other.shrinkage_, other.mixing_) == (model.shrinkage_, model.mixing_)
    given = GaussianBayes(covariance="mixed", shrinkage=model.shrinkage_, mixing=model.mixing_).fit(X, y)
    np.testing.assert_array_equal(given.predict_proba(X), model.predict_proba(X))


def test_a_choice_from_all_rows_is_not_learned_further():
    X, y = data()
    model = GaussianBayes(covariance="mixed", shrinkage="loo")
    with pytest.raises(UndefinedError, match="all rows at once"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    model.fit(X, y)
    before = model.predict_proba(X)
    for change in (lambda: model.partial_fit(X, y), lambda: model.forget(X[:1], y[:1]), lambda: model + model):
        with pytest.raises(UndefinedError, match="Hint: shrinkage="):
            change()
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"covariance": "diagonal", "shrinkage": "loo"}, "not of 'diagonal'"),
        ({"covariance": "spherical", "n_components": "loo"}, "not of 'spherical'"),
        ({"covariance": "full", "mixing": 0.2}, "not of 'full'"),
        ({"covariance": "mixed", "shrinkage": "oas"}, 'Hint: shrinkage="loo"'),
        ({"n_components": 4}, "more than the 3 columns"),
        ({"mixing": 1.5, "covariance": "mixed"}, "mixing"),
        ({"shrinkage_target": "identity"}, "shrinkage_target"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments, words):
    X, y = data()
    with pytest.raises(ValueError, match=words):
        GaussianBayes(**arguments).fit(X, y)


def test_hostile_tables_are_fitted_or_refused():
    X, y = data()
    chosen = GaussianBayes(covariance="mixed", shrinkage="loo")
    for hostile in (
        np.column_stack([X, np.zeros(len(X)), y]),  # a constant, and the class itself
        np.repeat(X, 2, axis=1),
        np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X),
        X[:, :1],
    ):
        assert np.isfinite(chosen.fit(hostile, y).predict_proba(hostile)).all()
    alone = y.copy()
    alone[0] = 9  # a class with one row, which cannot be left out
    assert chosen.fit(X, alone).predict(X)[0] == 9
    with pytest.raises(InputError, match="no column varies"):
        chosen.fit(np.full_like(X, np.nan), y)
    for constant in (np.full_like(X, 2.5), np.column_stack([y, 5 + 2 * y])):
        for arguments in ({"shrinkage": "loo"}, {"n_components": "loo"}, {"shrinkage": "loo", "covariance": "mixed"}):
            with pytest.raises(InputError, match="no column varies within a class"):
                GaussianBayes(**arguments).fit(constant, y)


def test_the_number_of_components_is_at_most_that_of_the_directions_in_which_rows_vary():
    X, y = data()
    model = GaussianBayes(n_components=5).fit(np.column_stack([X, X @ [[1, 0], [1, 1], [0, 2]]]), y)
    assert model.n_components_ == 3
    assert GaussianBayes(n_components=2).fit(X, y).n_components_ == 2
