"""Predictions are equal whatever the method, storage, dtype or moment of the call."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

import deciban
from deciban.engines.threads import limit_products_to_one_core
from deciban.errors import InputError, SchemaError, UndefinedError
from deciban.kernels import execution

TENTHS = np.repeat([[0.1, 0.1], [0.3, 0.3]], 3, axis=0)
TWO = np.repeat([0, 1], 3)


@pytest.mark.parametrize("kernels", [False, True], ids=["definition", "kernel"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_lies_above_the_threshold_does_not_depend_on_who_compares(dtype, store, kernels, monkeypatch):
    """A single-precision 0.1 is not above 0.1, although as a double it would be."""
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0 if kernels else 1 << 60)
    X = store(TENTHS.astype(dtype))
    model = deciban.BernoulliNB(binarize=0.1).fit(X, TWO)
    assert model.feature_count_.tolist() == [[0, 0], [3, 3]]
    assert model.predict(X).tolist() == TWO.tolist()
    assert model.explain(X).winner.tolist() == TWO.tolist()


def test_kernels_that_were_loaded_change_no_bit_of_a_small_answer():
    """Equal calls of one model have equal results, whatever ran before in the process."""
    import pkgutil
    from importlib import import_module

    import deciban.kernels

    rng = np.random.default_rng(5)
    X, y = rng.gamma(2.0, size=(300, 7)), rng.integers(0, 3, 300)
    code = (
        "import sys, numpy as np, deciban; rng = np.random.default_rng(5);"
        "X, y = rng.gamma(2.0, size=(300, 7)), rng.integers(0, 3, 300);"
        "p = [getattr(deciban, n)().fit(X, y).predict_proba(X) for n in sys.argv[1:]];"
        "assert 'numba' not in sys.modules; sys.stdout.buffer.write(np.stack(p).tobytes())"
    )
    names = ["GaussianNB", "GaussianBayes", "MultinomialNB", "BernoulliNB", "PoissonNB", "LogisticRegression"]
    fresh = subprocess.run([sys.executable, "-c", code, *names], stdout=subprocess.PIPE, check=True).stdout
    for module in pkgutil.iter_modules(deciban.kernels.__path__):
        import_module(f"deciban.kernels.{module.name}")
    large = rng.gamma(2.0, size=(200_000, 7))
    models = [getattr(deciban, name)().fit(X, y) for name in names]
    for model in models:
        model.predict_proba(large)
    assert np.stack([model.predict_proba(X) for model in models]).tobytes() == fresh


def test_models_that_read_values_differently_do_not_mix():
    X = [[0, 2], [3, 1]]
    plain, high = deciban.BernoulliNB().fit(X, [0, 1]), deciban.BernoulliNB(binarize=1.0).fit(X, [0, 1])
    words = deciban.MultinomialNB().fit(X, [0, 1])
    with pytest.raises(SchemaError, match=r"\[x > 0.0\].*\[x > 1.0\]"):
        plain.ledger_ + high.ledger_
    with pytest.raises(SchemaError, match=r"\[x > 0.0\]"):
        deciban.BernoulliNB().fit(X, [0, 1]).set_params(binarize=1.0).partial_fit(X, [0, 1])
    with pytest.raises(SchemaError, match=r"\[x > 0.0\]"):
        deciban.BernoulliNB(alpha=words.ledger_).fit(X, [0, 1])


@pytest.mark.parametrize("name", ["CategoricalNB", "JointBayes"])
@pytest.mark.parametrize("question", ["predict", "score_samples", "explain", "log_likelihood"])
def test_an_unseen_level_is_refused_by_every_question(name, question):
    model = getattr(deciban, name)(unseen="error").fit([[0, 1], [1, 0]], ["a", "b"])
    row = [[9, float("nan")]]
    with pytest.raises(InputError, match="column 0 has level 9"):
        getattr(model, question)(row, ["a"]) if question == "log_likelihood" else getattr(model, question)(row)
    with pytest.raises(InputError, match="column 0 has level 9"):
        model.predict(sparse.csr_array([[9, 0]]))


@pytest.mark.parametrize(
    ("model", "row"),
    [
        (deciban.MultinomialNB(), [[np.nan, 1]]),
        (deciban.MultinomialNB(), [[-5, 1]]),
        (deciban.GaussianNB(missing="error"), [[np.nan, 1]]),
        (deciban.GaussianNB(), [[np.inf, 1]]),
        (deciban.BernoulliNB(binarize=None), [[2, 1]]),
    ],
    ids=str,
)
def test_a_pair_of_classes_is_weighed_only_over_values_that_may_be_asked_about(model, row):
    model.fit([[0, 1], [1, 0]], ["a", "b"])
    with pytest.raises(InputError):
        model.explain(row, classes=("a", "b"))


def test_equal_ledgers_answer_equally():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    plain = deciban.GaussianBayes().fit(X, y)
    back = deciban.GaussianBayes().fit(X, y).partial_fit([[np.nan, 1.0]], [0]).forget([[np.nan, 1.0]], [0])
    np.testing.assert_allclose(back.log_likelihood(), plain.log_likelihood(), rtol=1e-10)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "CategoricalNB", "JointBayes", "GaussianNB"])
def test_the_training_likelihood_is_that_of_the_real_rows_under_imagined_ones_too(name):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (30, 3)), np.arange(30) % 2
    imagined = getattr(deciban, name)().fit(1 - X[:6], y[:6]).ledger_
    prior = {"parameter_prior": imagined} if name == "GaussianNB" else {"alpha": imagined}
    model = getattr(deciban, name)(**prior).fit(X, y)
    assert model.log_likelihood() == pytest.approx(model.log_likelihood(X, y), rel=1e-10)


def test_wide_rows_are_explained_sparsely_without_pseudo_counts_too():
    X = sparse.random_array((6, 5000), density=0.01, rng=0, format="csr")
    X.data[:] = 1
    y = np.arange(6) % 2
    for name in ("MultinomialNB", "BernoulliNB"):
        model = getattr(deciban, name)(alpha=0.0).fit(X, y)
        result, dense = model.explain(X, classes=(0, 1)), model.explain(X.toarray(), classes=(0, 1))
        assert sparse.issparse(result.evidence)
        np.testing.assert_array_equal(result.total, dense.total)


def test_the_threads_of_matrix_products_are_as_before_after_calls_side_by_side():
    """The last call to end runs in another thread than the first to begin, which is still alive."""
    before, step = product_threads(), threading.Barrier(2)

    def first():
        with limit_products_to_one_core(True):
            step.wait(10)
            step.wait(10)
        step.wait(10)
        step.wait(10)

    starter = threading.Thread(target=first)
    starter.start()
    step.wait(10)
    with limit_products_to_one_core(True):
        step.wait(10)
        step.wait(10)
        assert set(product_threads()) == {1}
    assert product_threads() == before
    step.wait(10)
    starter.join()


def product_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_refusals_say_what_they_are_about():
    model = deciban.BernoulliNB().fit([[0], [1]], ["a", "b"])
    with pytest.raises(ValueError, match="not fitted"):
        model.merge(deciban.BernoulliNB())
    with pytest.raises(InputError, match="mix int, str"):
        deciban.GaussianNB().fit([[0.0], [1.0]], np.array(["x", 1], dtype=object))
    with pytest.raises(InputError, match="names a class twice"):
        deciban.GaussianNB().partial_fit([[0.0]], [0], classes=[0, 1, 1])
    with pytest.raises(InputError, match="'zz'"):
        model.with_priors({"a": 0.5, "b": 0.2, "zz": 0.3})
    with pytest.raises(InputError, match="'x'"):
        model.decay("x")
    with pytest.raises(InputError, match="nothing to shrink"):
        deciban.GaussianBayes(covariance="identity", shrinkage=0.5).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(UndefinedError, match="MultinomialNB"):
        deciban.ComplementNB().fit([[0, 1], [1, 0]], [0, 1]).sample(1)


def test_nothing_can_be_drawn_too():
    for name in ("BernoulliNB", "MultinomialNB", "CategoricalNB", "JointBayes", "PoissonNB", "GaussianNB"):
        X, y = getattr(deciban, name)().fit([[0, 1], [1, 0]], [0, 1]).sample(0, random_state=0)
        assert X.shape == (0, 2)
        assert y.shape == (0,)
