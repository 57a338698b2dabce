"""scikit-learn's own tests of naive Bayes, run on our classes.

The installed module sklearn/tests/test_naive_bayes.py is executed again while `sklearn.naive_bayes` names a
stand-in that holds our classes, so that its imports, lists and parametrisations pick ours. Nothing is copied.
"""

import importlib.util
import inspect
import re
import sys
import types
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from sklearn import naive_bayes as theirs

import deciban

SUBSTITUTED = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
LEFT_OUT = {
    "test_gnb_array_api_compliance": "the array API (torch, cupy, …) is not offered",
    "test_gnb_check_update_with_no_data": "calls the private GaussianNB._update_mean_variance",
    "test_check_alpha": "calls the private _check_alpha; its rule is test_alpha_small_or_forced",
    "test_alpha_vector": "calls the private _check_alpha; the rest is test_alpha_may_be_a_vector",
}


def executed_with_our_classes():
    spec = importlib.util.find_spec("sklearn.tests.test_naive_bayes")
    stand_in = types.ModuleType("sklearn.naive_bayes")
    stand_in.__dict__.update({name: getattr(deciban, name) for name in SUBSTITUTED})
    module = types.ModuleType("sklearn_suite_on_deciban")
    code = compile(Path(spec.origin).read_text(encoding="utf-8"), spec.origin, "exec")
    with mock.patch.dict(sys.modules, {"sklearn.naive_bayes": stand_in}):
        exec(code, module.__dict__)
    return module


SUITE = executed_with_our_classes()
THEIR_TESTS = {name: test for name, test in vars(SUITE).items() if name.startswith("test_")}
RUN = {name: test for name, test in THEIR_TESTS.items() if name not in LEFT_OUT}
globals().update(RUN)


@pytest.fixture(params=[42, 7])
def global_random_seed(request):
    """scikit-learn's fixture of this name: any seed from 0 to 99 must do."""
    return request.param


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    """scikit-learn's fixture of this name."""
    return request.param


def test_the_suite_ran_on_our_classes_and_left_theirs_in_place():
    assert all(getattr(SUITE, name) is getattr(deciban, name) for name in SUBSTITUTED)
    assert all(cls.__module__.startswith("deciban") for cls in SUITE.ALL_NAIVE_BAYES_CLASSES)
    assert sys.modules["sklearn.naive_bayes"] is theirs


def test_nothing_but_the_listed_tests_is_left_out():
    assert set(THEIR_TESTS) - {name for name in globals() if name in RUN} == set(LEFT_OUT)
    assert len(RUN) >= 30


@pytest.mark.parametrize("name", LEFT_OUT)
def test_each_left_out_test_needs_a_private_method_or_the_array_api(name):
    source = inspect.getsource(THEIR_TESTS[name])
    assert re.search(r"\w\._(check_alpha|update_mean_variance)\(|array_api_dispatch", source)


def test_alpha_may_be_a_vector():
    X, y = np.array([[1, 0], [1, 1]]), np.array([0, 1])
    model = deciban.MultinomialNB(alpha=np.array([1, 2])).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[1 / 2, 1 / 2], [2 / 5, 3 / 5]])
    np.testing.assert_allclose(model.predict_proba(X), [[5 / 9, 4 / 9], [25 / 49, 24 / 49]])
    with pytest.raises(ValueError, match=r"All values in alpha must be greater than 0\."):
        deciban.MultinomialNB(alpha=np.array([1.0, -0.1])).fit(X, y)
    with pytest.raises(ValueError, match="Got inf"):
        deciban.MultinomialNB(alpha=np.array([1.0, np.inf])).fit(X, y)
    with pytest.raises(ValueError, match="When alpha is an array, it should contains `n_features`"):
        deciban.MultinomialNB(alpha=np.array([1.0, 2.0, 3.0])).fit(X, y)


@pytest.mark.parametrize(("force_alpha", "used"), [(True, 0.0), (False, 1e-10)])
@pytest.mark.parametrize("alpha", [0.0, np.array([0.0, 0.0])], ids=["scalar", "vector"])
def test_alpha_small_or_forced(alpha, force_alpha, used):
    """A too small alpha is raised to 1e-10 with a warning, unless it is forced."""
    X, y = np.array([[1, 0], [1, 1]]), np.array([0, 1])
    model = deciban.BernoulliNB(alpha=alpha, force_alpha=force_alpha)
    if force_alpha:
        model.fit(X, y)
    else:
        with pytest.warns(UserWarning, match="alpha too small will result in numeric errors"):
            model.fit(X, y)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0, 1]), used / (1 + 2 * used), atol=1e-14)
