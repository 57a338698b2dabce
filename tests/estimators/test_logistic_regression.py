"""LogisticRegression as an estimator: warm starts, files, copies, frames, labels, layouts, threads, decisions."""

import io
import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import deciban
from deciban import LogisticRegression
from deciban.errors import DecibanWarning, InputError, ModelFileError, UndefinedError

CLASSES = np.array(["ant", "bee", "cat"])


def draw_data(n=90, K=3, seed=0):
    rng = np.random.default_rng(seed)
    k = rng.permutation(np.arange(n) % K)
    return rng.normal(size=(n, 4)) + 1.2 * rng.normal(size=(K, 4))[k], CLASSES[k]


KINDS = {
    "as it comes": {},
    "no penalty": {"C": np.inf},
    "sizes": {"l1_ratio": 1.0, "C": 0.3},
    "classes weighed": {"class_weight": {"ant": 2.0, "bee": 0.5}},
    "balanced": {"class_weight": "balanced", "start": "bayes", "missing": "error"},
    "chosen": {"C": "auto", "fit_intercept": False},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_a_saved_model_answers_explains_and_tells_the_same(kind, tmp_path):
    X, y = draw_data()
    model = LogisticRegression(**KINDS[kind]).fit(X, y)
    model.save(tmp_path / "a.model")
    again = deciban.load(tmp_path / "a.model")
    assert type(again) is LogisticRegression
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict_log_proba(X), model.predict_log_proba(X))
    np.testing.assert_array_equal(again.explain(X).evidence, model.explain(X).evidence)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    for figure in ("C_", "objective_", "loss_", "n_iter_", "n_parameters_", "n_features_in_"):
        assert getattr(again, figure) == getattr(model, figure)


def test_weights_of_classes_that_are_numbers_are_saved_too(tmp_path):
    X, y = draw_data()
    model = LogisticRegression(class_weight={0: 1.0, 1: 2.5}).fit(X, np.searchsorted(CLASSES, y))
    model.save(tmp_path / "a.model")
    assert deciban.load(tmp_path / "a.model").class_weight == {0: 1.0, 1: 2.5}


def test_names_of_columns_are_saved_and_explained(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = draw_data()
    frame = pandas.DataFrame(X, columns=["wing", "leg", "eye", "tail"])
    LogisticRegression().fit(frame, y).save(tmp_path / "a.model")
    again = deciban.load(tmp_path / "a.model")
    assert list(again.feature_names_in_) == list(frame.columns)
    assert list(again.explain(frame[:1]).features) == list(frame.columns)


def test_a_random_state_that_is_no_number_cannot_be_saved(tmp_path):
    model = LogisticRegression(random_state=np.random.RandomState(0)).fit(*draw_data())
    with pytest.raises(ModelFileError, match="random_state"):
        model.save(tmp_path / "a.model")
    assert not (tmp_path / "a.model").exists()


def test_a_warm_start_goes_on_where_the_last_fit_ended():
    X, y = draw_data(900)
    model = LogisticRegression(warm_start=True, tol=1e-7, max_iter=1000).fit(X, y)
    cold, first = model.n_iter_[0], model.coef_
    model.fit(X, y)
    assert model.n_iter_[0] < cold
    np.testing.assert_allclose(model.coef_, first, atol=1e-4)
    assert LogisticRegression(tol=1e-7, max_iter=1000).fit(X, y).fit(X, y).n_iter_[0] == cold


def test_a_warm_start_from_other_classes_or_columns_is_a_cold_one():
    X, y = draw_data()
    model = LogisticRegression(warm_start=True).fit(X, y)
    np.testing.assert_array_equal(model.fit(X[:, :2], y).coef_, LogisticRegression().fit(X[:, :2], y).coef_)
    two = y != "cat"
    np.testing.assert_array_equal(model.fit(X[two], y[two]).coef_, LogisticRegression().fit(X[two], y[two]).coef_)


def test_a_search_that_is_cut_short_says_so():
    X, y = draw_data()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        LogisticRegression(max_iter=1, tol=1e-12).fit(X * [1, 10, 100, 1000], y)


def test_separable_classes_without_a_penalty_give_finite_weights_and_a_warning():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.warns(DecibanWarning, match="separated without error"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.predict(X).tolist() == y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression().fit(X, y)


@pytest.mark.parametrize("journey", ["pickle", "joblib", "clone"])
def test_copies_answer_the_same(journey):
    X, y = draw_data()
    model = LogisticRegression(C=0.5).fit(X, y)
    if journey == "clone":
        copy = clone(model)
        assert not hasattr(copy, "classes_")
        copy.fit(X, y)
    elif journey == "pickle":
        copy = pickle.loads(pickle.dumps(model))
    else:
        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        buffer.seek(0)
        copy = joblib.load(buffer)
    np.testing.assert_array_equal(copy.predict_log_proba(X), model.predict_log_proba(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_carry_their_column_names(library):
    frames = pytest.importorskip(library)
    X, y = draw_data()
    frame = frames.DataFrame({f"col{j}": X[:, j] for j in range(4)})
    model = LogisticRegression().fit(frame, y)
    assert list(model.feature_names_in_) == ["col0", "col1", "col2", "col3"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = model.predict_proba(frame)
    np.testing.assert_allclose(answers, LogisticRegression().fit(X, y).predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["col1", "col0", "col2", "col3"]])


LAYOUTS = {
    "column order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "columns of a larger array": lambda X: np.hstack([X, X])[:, :4],
    "big-endian": lambda X: X.astype(">f8"),
    "a list": lambda X: X.tolist(),
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_the_rows_does_not_matter(layout):
    X, y = draw_data()
    answers = LogisticRegression().fit(LAYOUTS[layout](X), y).predict_proba(LAYOUTS[layout](X))
    np.testing.assert_allclose(answers, LogisticRegression().fit(X, y).predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_the_type_of_the_numbers_does_not_matter(dtype):
    X, y = draw_data()
    X = np.abs(2 * X).astype(dtype)
    answers = LogisticRegression(tol=1e-7).fit(X, y).predict_proba(X)
    expected = LogisticRegression(tol=1e-7).fit(X.astype(float), y).predict_proba(X.astype(float))
    np.testing.assert_allclose(answers, expected, atol=1e-4)


def test_what_was_given_stays_as_it_is():
    X, y = draw_data()
    X[3, 1] = np.nan
    kept, frozen = X.copy(), X.copy()
    frozen.flags.writeable = False
    LogisticRegression(start="bayes", C="auto").fit(frozen, y)
    np.testing.assert_array_equal(frozen, kept)


@pytest.mark.parametrize("start", ["zero", "bayes"])
def test_the_number_of_threads_changes_no_bit(start):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60_000, 12)), rng.integers(0, 3, 60_000)
    X[:, 0] += y
    one, two = (LogisticRegression(n_jobs=n_jobs, start=start).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_searches_pipelines_and_calibrators_of_scikit_learn_take_it():
    X, y = draw_data()
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0, "auto"], "l1_ratio": [0.0, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    assert cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), X, y, cv=3).mean() > 0.5
    assert CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, y).score(X, y) > 0.5


def test_cross_validate_classifies_it_by_refits():
    X, y = draw_data()
    report = deciban.cross_validate(LogisticRegression(), X, y, folds=5)
    codes = np.searchsorted(CLASSES, y)
    hits = [
        LogisticRegression().fit(X[report.folds != f], y[report.folds != f]).predict(X[report.folds == f])
        == y[report.folds == f]
        for f in range(5)
    ]
    assert report.accuracy == np.concatenate(hits).mean()
    assert len(codes) == report.rows


def test_it_can_be_calibrated_and_asked_for_decisions(tmp_path):
    X, y = draw_data()
    model = LogisticRegression(C=1e4).fit(X, y).calibrated(X, y, method="temperature")
    assert model.calibration_.method == "temperature"
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    result = model.explain(X, classes=("ant", "bee"))
    log_p = model.predict_log_proba(X)
    np.testing.assert_allclose(result.total, 10 / np.log(10) * (log_p[:, 0] - log_p[:, 1]), atol=1e-8)
    model.save(tmp_path / "a.model")
    np.testing.assert_array_equal(deciban.load(tmp_path / "a.model").predict_proba(X), model.predict_proba(X))
    assert (LogisticRegression().fit(X, y).predict(X, reject=0.01) == None).any()  # noqa: E711


def test_questions_about_the_rows_themselves_are_refused_with_a_way_out():
    X, y = draw_data()
    model = LogisticRegression().fit(X, y)
    with pytest.raises(UndefinedError, match=r"has no p\(x\).*Hint: naive Bayes has one"):
        model.fit_novelty(X, y)
    with pytest.raises(UndefinedError, match=r"has no p\(x\).*Hint: naive Bayes has one"):
        model.predict(X, reject_novel=0.01)


def test_the_weights_cannot_be_written_over_by_accident():
    model = LogisticRegression().fit(*draw_data())
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[:] = 0


def test_no_penalty_says_that_it_ignores_C():
    with pytest.warns(DecibanWarning, match="C=2.0 is ignored"):
        LogisticRegression(None, C=2.0).fit(*draw_data())


def test_unfitted_models_say_so():
    with pytest.raises(NotFittedError):
        LogisticRegression().predict([[1.0]])
    with pytest.raises(NotFittedError):
        LogisticRegression().decision_function([[1.0]])
    assert not hasattr(LogisticRegression(), "coef_")


WRONG = {
    "C below zero": {"C": -1.0},
    "C nothing": {"C": 0.0},
    "C a word": {"C": "much"},
    "a mixture beyond one": {"l1_ratio": 1.5},
    "an unknown start": {"start": "somewhere"},
    "an unknown penalty": {"penalty": "l3"},
    "an unknown solver": {"solver": "guess"},
    "no mixture": {"penalty": "elasticnet", "l1_ratio": None},
    "an unknown class": {"class_weight": {"dog": 1.0}},
    "a class below zero": {"class_weight": {"ant": -1.0}},
    "a class in words": {"class_weight": {"ant": "much"}},
    "a class that is no number": {"class_weight": {"ant": float("nan")}},
    "no threads": {"n_jobs": 0},
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused_when_fitting_and_nothing_changes(case):
    X, y = draw_data()
    model = LogisticRegression(**WRONG[case])
    with pytest.raises(ValueError):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_a_refused_fit_leaves_the_fitted_model_as_it_was():
    X, y = draw_data()
    model = LogisticRegression().fit(X, y)
    before = model.coef_
    with pytest.raises(InputError, match="only one class: 'ant'"):
        model.fit(X[:, :2], ["ant"] * len(y))
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_features_in_ == 4
