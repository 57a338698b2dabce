"""Compatibility with scikit-learn: searches, copies, frames, dtypes, labels, threads and forks."""

import multiprocessing
import warnings

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import deciban
from tests.estimators.copies import through_joblib, through_pickle
from tests.estimators.examples import CLASSES, EXAMPLES, IDS

every_estimator = pytest.mark.parametrize("example", EXAMPLES, **IDS)


def test_arguments_at_their_defaults_are_valid_and_others_are_checked():
    names = [
        "BernoulliNB",
        "MultinomialNB",
        "ComplementNB",
        "CategoricalNB",
        "PoissonNB",
        "GaussianNB",
        "GaussianBayes",
    ]
    for name in [*names, "JointBayes", "LogisticRegression", "EvidenceRegression", "BoostedBayes"]:
        estimator = getattr(deciban, name)()
        BaseEstimator._validate_params(estimator)  # `fit` leaves this out
        estimator.set_params(n_jobs="many")
        with pytest.raises(ValueError, match=r"n_jobs.*'many'"):
            estimator.fit([[0.0], [1.0]], [0, 1])


@every_estimator
def test_a_grid_search_runs_in_two_processes(example):
    X, y = example.data()
    grid = {"n_jobs": [1, 2], example.prior_argument: [None, "uniform"]}
    search = GridSearchCV(example.make(), grid, cv=3, n_jobs=2, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.3
    assert np.isfinite(search.predict_proba(X)).all()


@every_estimator
def test_a_clone_has_the_parameters_and_nothing_learned(example):
    model = example.make_fitted()
    copy = clone(model)
    assert copy.get_params().keys() == model.get_params().keys()
    assert not hasattr(copy, "classes_")
    X, y = example.data()
    np.testing.assert_array_equal(copy.fit(X, y).predict_log_proba(X), model.predict_log_proba(X))


@every_estimator
@pytest.mark.parametrize("journey", [through_pickle, through_joblib])
def test_a_pickled_model_answers_the_same_and_can_learn_on(example, journey):
    X, y = example.data()
    model = example.make_fitted()
    copy = journey(model)
    np.testing.assert_array_equal(copy.predict_log_proba(X), model.predict_log_proba(X))
    assert copy.ledger_ == model.ledger_
    np.testing.assert_array_equal(
        copy.partial_fit(X, y).predict_log_proba(X), model.partial_fit(X, y).predict_log_proba(X)
    )


@every_estimator
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_carry_their_column_names(example, library):
    frames = pytest.importorskip(library)
    X, y = example.data()
    names = [f"col{j}" for j in range(X.shape[1])]
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(names)})
    model = example.make().fit(frame, y)
    assert list(model.feature_names_in_) == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = model.predict_log_proba(frame)
    np.testing.assert_array_equal(answers, example.make().fit(X, y).predict_log_proba(X))


@every_estimator
def test_other_column_names_are_refused_and_missing_ones_warned_about(example):
    pandas = pytest.importorskip("pandas")
    X, y = example.data()
    frame = pandas.DataFrame(X, columns=[f"col{j}" for j in range(X.shape[1])])
    model = example.make().fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"col0": "other"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    assert not hasattr(example.make().fit(X, y), "feature_names_in_")


@pytest.mark.parametrize("transform_output", ["default", "pandas", "polars"])
def test_pipelines_that_hand_over_frames_work(transform_output):
    example = EXAMPLES[0]
    X, y = example.data()
    with config_context(transform_output=transform_output):
        pipeline = make_pipeline(FunctionTransformer(feature_names_out="one-to-one"), example.make()).fit(X, y)
        assert pipeline.predict(X).shape == (60,)
        assert np.isfinite(cross_val_score(pipeline, X, y, cv=3)).all()


LABELS = {
    "strings": CLASSES,
    "objects": np.array(["ant", "bee", "cat"], dtype=object),
    "integers": np.array([-3, 0, 12]),
    "floats": np.array([0.0, 1.0, 2.0]),
    "bytes": np.array([1, 2, 3], dtype=np.uint8),
}


@every_estimator
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind_come_back_as_they_were(example, kind):
    X, y = example.data()
    renamed = LABELS[kind][np.searchsorted(CLASSES, y)]
    model = example.make().fit(X, renamed)
    np.testing.assert_array_equal(model.classes_, LABELS[kind])
    answers = model.predict(X)
    assert answers.dtype == renamed.dtype or kind == "objects"  # scikit-learn, too, makes text of these
    np.testing.assert_array_equal(answers, LABELS[kind][np.searchsorted(CLASSES, example.make_fitted().predict(X))])


@every_estimator
def test_labels_may_be_booleans_and_lists(example):
    X, y = example.data()
    model = example.make().fit(X.tolist(), list(y == "ant"))
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X.tolist()).dtype == bool


def make_read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "read-only": make_read_only,
    "column order": np.asfortranarray,
    "every second row of a larger array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards twice": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "columns of a larger array": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "big-endian": lambda X: X.astype(">f8"),
}


@every_estimator
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_the_array_does_not_matter(example, layout):
    X, y = example.data()
    laid_out = LAYOUTS[layout](X)
    kept = laid_out.copy()
    answers = example.make().fit(laid_out, y).predict_log_proba(laid_out)
    np.testing.assert_allclose(answers, example.make_fitted().predict_log_proba(X), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(laid_out, kept)


@every_estimator
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.uint8, bool])
def test_the_type_of_the_numbers_does_not_matter(example, dtype):
    X, y = example.data()
    X = np.abs(X).astype(dtype)
    answers = example.make().fit(X, y).predict_proba(X)
    expected = example.make().fit(X.astype(float), y).predict_proba(X.astype(float))
    np.testing.assert_allclose(answers, expected, rtol=1e-4 if dtype is np.float32 else 1e-9, atol=1e-6)


def draw_large_data(example, n=300_000, d=20):
    """300 000 rows of 20 columns: enough for many row blocks and both threads."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(n, d)) if "Gaussian" in example.name else rng.integers(0, 3, (n, d)).astype(float)
    X = X[:, :4] if example.name == "JointBayes" else X
    return X, rng.integers(0, 5, n)


@every_estimator
def test_the_number_of_threads_changes_no_bit(example):
    X, y = draw_large_data(example)
    w = np.random.default_rng(1).random(len(y))
    one, two = (example.make(n_jobs=n_jobs).fit(X, y, sample_weight=w) for n_jobs in (1, 2))
    assert one.ledger_ == two.ledger_
    np.testing.assert_array_equal(one.predict_joint_log_proba(X), two.predict_joint_log_proba(X))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def predict_in_child(example, model, connection):
    X, y = draw_large_data(example, n=100_000)
    refitted = example.make(n_jobs=2).fit(X, y)
    connection.send((refitted.predict_log_proba(X[:500]), model.predict_log_proba(X[:500])))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("example", [EXAMPLES[0], EXAMPLES[5], EXAMPLES[6]], **IDS)
def test_a_forked_child_can_fit_and_predict_after_the_parent_used_threads(example):
    X, y = draw_large_data(example, n=100_000)
    model = example.make(n_jobs=2).fit(X, y)
    expected = model.predict_log_proba(X[:500])
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=predict_in_child, args=(example, model, there))
    child.start()
    answered = here.poll(120)
    if not answered:
        child.kill()
    assert answered, "the child hangs"
    for answers in here.recv():
        np.testing.assert_array_equal(answers, expected)
    child.join(30)


def test_two_threads_may_use_one_model():
    example = EXAMPLES[5]
    model, (X, _) = example.make_fitted(), example.data(n=3000)
    answers = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(model.predict_proba)(X) for _ in range(8))
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


def test_importing_the_package_alone_loads_no_heavy_library():
    import subprocess
    import sys

    code = "import sys, deciban; print([m for m in ('numba', 'sklearn', 'scipy', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert deciban.__name__ == "deciban"
