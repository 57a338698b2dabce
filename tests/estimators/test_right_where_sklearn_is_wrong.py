"""Eight points where scikit-learn errs. Ours keeps each rule, and theirs is shown to break it."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
from sklearn import naive_bayes as theirs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import deciban
from deciban.errors import InputError
from tests.estimators.examples import COVARIANCES, EXAMPLES, IDS


def draw_rows():
    rng = np.random.default_rng(3)
    return np.column_stack([rng.normal(0, 1, 90), rng.normal(0, 1e3, 90)]) + np.linspace(0, 4, 90)[:, None]


X, y = draw_rows(), np.arange(90) % 3 + 1


def without_warnings(f, *args, **kwargs):
    """Return the result of a function of scikit-learn without its warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return f(*args, **kwargs)


def fit_in_chunks(model, X, y, sizes, **keywords):
    start = 0
    for n in sizes:
        rows = slice(start, start + n)
        model.partial_fit(X[rows], y[rows], classes=np.unique(y), **{k: v[rows] for k, v in keywords.items()})
        start += n
    return model


# 1. Chunked fit equals whole fit at any var_smoothing: store statistics, derive smoothing.


def chunk_gap(GaussianNB, var_smoothing):
    whole = GaussianNB(var_smoothing=var_smoothing).fit(X, y)
    parts = fit_in_chunks(GaussianNB(var_smoothing=var_smoothing), X, y, [7, 1, 50, 32])
    return np.max(np.abs(parts.var_ / whole.var_ - 1))


@pytest.mark.parametrize("var_smoothing", [1e-9, 1e-3, 0.1, 10.0])
def test_chunked_fit_equals_whole_fit_at_any_smoothing(var_smoothing):
    assert chunk_gap(deciban.GaussianNB, var_smoothing) < 1e-12


def test_chunked_fit_equals_whole_fit_where_scikit_learn_does_not():
    assert chunk_gap(theirs.GaussianNB, 0.1) > 1e-4


# 2. A label outside `classes` is refused by every class, and nothing changes.


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
@pytest.mark.parametrize("declared", [["ant", "bee"], ["ant", "bee", "cat"]], ids=["two", "three"])
def test_a_label_outside_classes_is_refused_and_nothing_changes(example, declared):
    X, y = example.data()
    known = np.isin(y, declared)
    model = example.make().partial_fit(X[known], y[known], classes=declared)
    before, answers = deepcopy(model.ledger_), model.predict_joint_log_proba(X)
    with pytest.raises(ValueError, match="The target label"):
        model.partial_fit(X[:3], np.array(["ant", "wasp", "bee"]))
    assert model.ledger_ == before
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), answers)


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_a_first_batch_with_an_undeclared_label_leaves_the_model_unfitted(example):
    X, y = example.data()
    model = example.make()
    with pytest.raises(ValueError, match="The target label"):
        model.partial_fit(X, y, classes=["ant", "bee"])
    assert not hasattr(model, "ledger_")
    model.partial_fit(X, y, classes=["ant", "bee", "cat"])


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"])
def test_an_undeclared_label_is_refused_where_scikit_learn_counts_it_silently(name):
    flags, labels = [[1, 0], [0, 1], [1, 1]], ["bee", "wasp", "bee"]
    model = getattr(theirs, name)().partial_fit(flags, labels, classes=["ant", "bee"])
    assert model.class_count_.tolist() == [1, 2]  # the wasp was counted as an ant
    with pytest.raises(ValueError, match="wasp"):
        getattr(deciban, name)().partial_fit(flags, labels, classes=["ant", "bee"])


# 3. Rows of weight 0 change nothing.


def weightless_gap(GaussianNB):
    outliers = np.vstack([X, [[1e9, -1e9]] * 3])
    w = np.r_[np.ones(90), np.zeros(3)]
    with_them = GaussianNB().fit(outliers, np.r_[y, 1, 2, 3], sample_weight=w)
    return np.max(np.abs(with_them.var_ / GaussianNB().fit(X, y, sample_weight=np.ones(90)).var_ - 1))


def test_rows_of_weight_zero_change_nothing_where_in_scikit_learn_they_do():
    assert weightless_gap(deciban.GaussianNB) == 0
    assert weightless_gap(theirs.GaussianNB) > 1


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_rows_of_weight_zero_change_nothing(example):
    X, y = example.data()
    w = np.arange(60) % 4
    kept = example.make().fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    weighted = example.make().fit(X, y, sample_weight=w)
    np.testing.assert_allclose(
        weighted.predict_joint_log_proba(X), kept.predict_joint_log_proba(X), rtol=1e-10, atol=1e-10
    )


# 4. Learning one row at a time never gives NaN.


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_learning_one_row_at_a_time_never_gives_nan(example):
    X, y = example.data(n=12)
    model = example.make()
    for i in range(12):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=["ant", "bee", "cat"])
        posterior = model.predict_proba(X)
        assert np.isfinite(posterior).all()
        np.testing.assert_allclose(posterior.sum(1), 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_first_row_alone_gives_scikit_learn_nan():
    model = theirs.GaussianNB().partial_fit(X[:1], y[:1], classes=[1, 2, 3])
    assert np.isnan(without_warnings(model.predict_proba, X)).any()


# 5. A declared class with no rows yet gets its smoothed prior if asked for, else 0, never NaN.


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
@pytest.mark.parametrize("prior", ["smoothed", None])
def test_a_declared_class_without_rows_gets_its_smoothed_prior_or_zero(example, prior):
    X, y = example.data()
    seen = y != "cat"
    model = example.make(**{example.prior_argument: prior})
    posterior = model.partial_fit(X[seen], y[seen], classes=["ant", "bee", "cat"]).predict_proba(X)
    assert np.isfinite(posterior).all()
    expected = np.array([21, 21, 1]) / 43 if prior else np.array([0.5, 0.5, 0])
    class_prior = model.class_prior_ if hasattr(model, "class_prior_") else np.exp(model.class_log_prior_)
    np.testing.assert_allclose(class_prior, expected, rtol=1e-12)
    if example.likelihood and prior is None:
        assert not posterior[:, 2].any()


WITHOUT_SMOOTHING = [
    ("BernoulliNB", {"alpha": 0.0}),
    ("MultinomialNB", {"alpha": 0.0}),
    ("GaussianNB", {"var_smoothing": 0.0}),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "parameters"), WITHOUT_SMOOTHING)
def test_a_class_without_rows_is_impossible_where_scikit_learn_says_nan(name, parameters):
    rows, labels = [[1, 2], [3, 1], [2, 2], [1, 1]], ["ant", "ant", "bee", "bee"]
    for module, bad in ((theirs, True), (deciban, False)):
        model = without_warnings(
            getattr(module, name)(**parameters).partial_fit, rows, labels, classes=["ant", "bee", "cat"]
        )
        posterior = without_warnings(model.predict_proba, rows)
        assert np.isnan(posterior).any() == bad


# 6. The LDA- and QDA-like models take weights and partial_fit.


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_gaussian_bayes_takes_weights_and_chunks(covariance):
    w = np.arange(90) % 3 + 1
    rows = np.repeat(np.arange(90), w)
    whole = deciban.GaussianBayes(covariance=covariance).fit(X[rows], y[rows])
    weighted = deciban.GaussianBayes(covariance=covariance).fit(X, y, sample_weight=w)
    parts = fit_in_chunks(deciban.GaussianBayes(covariance=covariance), X, y, [5, 60, 25], sample_weight=w)
    for model in (weighted, parts):
        np.testing.assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()], ids=str)
def test_scikit_learns_discriminant_analysis_takes_neither(model):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(TypeError):
        model.fit(X, y, sample_weight=np.ones(90))


# 7. An unseen category is not an IndexError.


@pytest.mark.parametrize("unseen", ["ignore", "smooth", "error"])
def test_an_unseen_category_is_ignored_smoothed_or_refused_where_scikit_learn_gives_an_index_error(unseen):
    codes, labels = [[0, 1], [1, 0], [1, 1]], ["ant", "bee", "bee"]
    with pytest.raises(IndexError):
        theirs.CategoricalNB().fit(codes, labels).predict([[7, 1]])
    model = deciban.CategoricalNB(unseen=unseen).fit(codes, labels)
    if unseen == "error":
        with pytest.raises(InputError, match="7"):
            model.predict([[7, 1]])
    else:
        np.testing.assert_allclose(model.predict_proba([[7, 1]]).sum(), 1)


# 8. An error about negative counts names the column and proposes a family.


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "PoissonNB"])
def test_negative_counts_are_refused_naming_the_column_and_a_family(name):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"visits": [1.0, 2.0, 0.0], "balance": [3.0, -1.5, 2.0]})
    refusal = rf"Negative values in data passed to {name} \(input X\)[\s\S]*balance[\s\S]*-1\.5[\s\S]*Gaussian"
    with pytest.raises(InputError, match=refusal):
        getattr(deciban, name)().fit(frame, [0, 1, 1])
    if hasattr(theirs, name):
        with pytest.raises(ValueError) as refused:
            getattr(theirs, name)().fit(frame, [0, 1, 1])
        assert "balance" not in str(refused.value)
