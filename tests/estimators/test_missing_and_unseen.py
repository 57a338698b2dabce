"""Missing cells are left out and unseen levels are ignored, smoothed or refused (MATHS 3.1 and 3.2)."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

import deciban
from deciban.errors import InputError
from tests.estimators.examples import EXAMPLES, IDS, NAN_ACCEPTING, NAN_REFUSING

nan_accepting = pytest.mark.parametrize("example", NAN_ACCEPTING, **IDS)
NAIVE = [f for f in NAN_ACCEPTING if f.name in ("BernoulliNB", "CategoricalNB", "PoissonNB", "GaussianNB")]


def with_missing_cells(X, seed=4, share=0.2):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@nan_accepting
def test_missing_cells_are_learned_around_and_answered(example):
    X, y = example.data()
    posterior = example.make().fit(with_missing_cells(X), y).predict_proba(with_missing_cells(X, seed=5))
    assert np.isfinite(posterior).all()
    np.testing.assert_allclose(posterior.sum(1), 1)


@nan_accepting
def test_a_row_of_nothing_but_missing_cells_leaves_the_prior(example):
    X, y = example.data()
    model = example.make().fit(np.vstack([X, X[y == "ant"]]), np.r_[y, y[y == "ant"]])
    blank = np.full((1, X.shape[1]), np.nan)
    np.testing.assert_allclose(model.predict_proba(blank), [[0.5, 0.25, 0.25]], rtol=1e-9)


@pytest.mark.parametrize("example", NAIVE, **IDS)
def test_a_missing_cell_is_left_out_of_the_score(example):
    """With feature 1 missing, the scores are those of a model that never had the column."""
    X, y = example.data()
    parameters = {"var_smoothing": 0} if example.name == "GaussianNB" else {}
    hidden = X.copy()
    hidden[:, 1] = np.nan
    scores = example.make_fitted(**parameters).predict_joint_log_proba(hidden)
    narrow = example.make(**parameters).fit(np.delete(X, 1, axis=1), y)
    expected = narrow.predict_joint_log_proba(np.delete(X, 1, axis=1))
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


@pytest.mark.parametrize("example", NAIVE, **IDS)
def test_a_missing_cell_is_left_out_of_the_sums(example):
    """Each column alone learns from the rows in which it is present."""
    X, y = example.data()
    X = with_missing_cells(X)
    parameters = {"var_smoothing": 0} if example.name == "GaussianNB" else {}
    evidence = example.make(**parameters).fit(X, y).explain(X, classes=("ant", "bee")).evidence
    for j in range(X.shape[1]):
        seen = ~np.isnan(X[:, j])
        alone = example.make(**parameters).fit(X[seen][:, [j]], y[seen])
        expected = alone.explain(X[seen][:, [j]], classes=("ant", "bee")).evidence[:, 0]
        np.testing.assert_allclose(evidence[seen, j], expected, rtol=1e-9, atol=1e-10)
        assert not evidence[~seen, j].any()


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_a_gaussian_row_with_a_hole_is_scored_by_the_marginal(covariance):
    example = next(f for f in EXAMPLES if f.name == f"GaussianBayes-{covariance}")
    X, y = example.data()
    scatter = [np.cov(X[y == k].T, bias=True) for k in ("ant", "bee", "cat")]
    scatter = [sum(scatter) / 3] * 3 if covariance == "tied" else scatter
    seen = [0, 2, 3]
    expected = np.column_stack(
        [
            multivariate_normal(X[y == k][:, seen].mean(0), C[np.ix_(seen, seen)]).logpdf(X[:, seen])
            for k, C in zip(("ant", "bee", "cat"), scatter)
        ]
    ) - np.log(3)
    hidden = X.copy()
    hidden[:, 1] = np.nan
    scores = example.make_fitted().predict_joint_log_proba(hidden)
    np.testing.assert_allclose(scores - scores[:, :1], expected - expected[:, :1], rtol=1e-8, atol=1e-8)


@nan_accepting
def test_missing_cells_are_learned_in_any_split_and_forgotten_again(example):
    X, y = example.data()
    X = with_missing_cells(X)
    whole, part = example.make().fit(X, y), example.make().fit(X[:25], y[:25])
    parts = example.make().partial_fit(X[25:], y[25:], classes=np.unique(y)).partial_fit(X[:25], y[:25])
    same = {"rtol": 1e-7, "atol": 1e-8}  # a class with fewer rows than features has eigenvalues of 1e-9
    np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), **same)
    parts.forget(X[25:], y[25:])
    np.testing.assert_allclose(parts.predict_log_proba(X), part.predict_log_proba(X), **same)


@nan_accepting
def test_missing_cells_may_be_refused(example):
    X, y = example.data()
    strict = example.make(missing="error")
    with pytest.raises(InputError, match=r"(?i)nan|missing"):
        strict.fit(with_missing_cells(X), y)
    with pytest.raises(InputError, match=r"(?i)nan|missing"):
        strict.fit(X, y).predict(with_missing_cells(X))


@pytest.mark.parametrize("example", NAN_REFUSING, **IDS)
def test_word_counts_refuse_nan_and_name_the_family_that_takes_it(example):
    X, y = example.data()
    with pytest.raises(InputError, match="PoissonNB"):
        example.make().fit(with_missing_cells(X), y)
    with pytest.raises(InputError, match="PoissonNB"):
        example.make_fitted().predict(with_missing_cells(X))


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_zeros_of_a_sparse_matrix_are_zeros_not_missing(example):
    X, y = example.data()
    X = X * (np.arange(X.size).reshape(X.shape) % 3 > 0)
    dense, wide = example.make().fit(X, y), example.make().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(
        wide.predict_log_proba(sparse.csr_matrix(X)), dense.predict_log_proba(X), rtol=1e-9, atol=1e-9
    )


codes, labels = np.array([[0, 1], [1, 0], [1, 1], [2, 0], [0, 0]]), np.array(list("aabbb"))


def test_an_unseen_level_is_no_evidence_when_ignored():
    model = deciban.CategoricalNB().fit(codes, labels)
    np.testing.assert_array_equal(model.predict_proba([[9, 1]]), model.predict_proba([[np.nan, 1]]))


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_an_unseen_level_is_one_more_level_when_smoothed(alpha):
    """The denominator is n + α(V+1) for all levels, seen or not."""
    model = deciban.CategoricalNB(alpha=alpha, unseen="smooth").fit(codes, labels)
    n, pi, second = np.array([2, 3]), np.array([2, 3]) / 5, np.array([1, 1])
    column = lambda count, V: (count + alpha) / (n + alpha * (V + 1))  # noqa: E731
    for level, count in ((9, np.zeros(2)), (1, np.array([1, 1])), (0, np.array([1, 1])), (2, np.array([0, 1]))):
        joint = pi * column(count, 3) * column(second, 2)
        np.testing.assert_allclose(model.predict_proba([[level, 1]])[0], joint / joint.sum(), rtol=1e-12)


@pytest.mark.parametrize("model", [deciban.CategoricalNB, deciban.JointBayes], ids=lambda c: c.__name__)
def test_an_unseen_level_may_be_refused_naming_column_and_value(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(codes, columns=["colour", "shape"])
    strict = model(alpha=1.0, unseen="error").fit(frame, labels)
    with pytest.raises(InputError, match=r"colour[\s\S]*9|9[\s\S]*colour"):
        strict.predict(frame.assign(colour=9))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_an_unseen_level_is_refused_in_a_column_with_missing_cells(storage):
    strict = deciban.CategoricalNB(unseen="error").fit(codes, labels)
    with pytest.raises(InputError, match="level 9"):
        strict.predict(storage(np.array([[np.nan, 1.0], [9.0, 1.0]])))
    assert len(strict.predict(storage(np.array([[np.nan, 1.0], [1.0, np.nan]])))) == 2


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_the_joint_table_answers_unseen_levels(unseen):
    model = deciban.JointBayes(alpha=1.0, unseen=unseen).fit(codes, labels)
    posterior = model.predict_proba([[9, 1], [9, 9]])
    assert np.isfinite(posterior).all()
    np.testing.assert_allclose(posterior.sum(1), 1)
    if unseen == "ignore":
        np.testing.assert_allclose(posterior, model.predict_proba([[np.nan, 1], [np.nan, np.nan]]), rtol=1e-12)
