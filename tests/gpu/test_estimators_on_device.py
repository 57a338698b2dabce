"""Estimators of tensors: the algebra of models, errors that change nothing, and scikit-learn's convention."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deciban
from deciban.errors import DeviceMemoryError, InputError
from deciban.gpu import sums, tensors

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")


def rows(device, n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 4)) + y[:, None]
    return torch.as_tensor(X, device=device), torch.as_tensor(y, device=device)


def test_a_model_of_tensors_adds_to_one_of_arrays(device):
    (X, y), (Q, z) = rows(device), rows(device, seed=1)
    both = deciban.GaussianNB().fit(torch.cat([X, Q]), torch.cat([y, z]))
    mixed = deciban.GaussianNB().fit(X, y) + deciban.GaussianNB().fit(Q.cpu().numpy(), z.cpu().numpy())
    np.testing.assert_allclose(mixed.var_, both.var_, rtol=1e-12)
    left = both.forget(Q, z)
    np.testing.assert_allclose(left.theta_, deciban.GaussianNB().fit(X, y).theta_, rtol=1e-12)


def test_batches_give_the_model_of_one_pass(device):
    X, y = rows(device)
    whole, parts = deciban.GaussianBayes().fit(X, y), deciban.GaussianBayes()
    for block in (slice(0, 100), slice(100, 101), slice(101, 300)):
        parts.partial_fit(X[block], y[block], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.covariance_, whole.covariance_, rtol=1e-10)


def test_a_model_of_tensors_is_saved_explained_and_calibrated(device, tmp_path):
    X, y = rows(device)
    model = deciban.GaussianNB().calibrated(X, y, method="temperature")
    model.save(tmp_path / "m.deciban")
    loaded = deciban.load(tmp_path / "m.deciban")
    expected = loaded.predict_proba(X.cpu().numpy())
    np.testing.assert_allclose(loaded.predict_proba(X).cpu().numpy(), expected, atol=1e-12)
    assert loaded.predict_proba(X).device.type == device
    assert len(model.explain(X[:3]).winner) == 3
    assert model.log_likelihood(X, y) == pytest.approx(model.log_likelihood(X.cpu().numpy(), y.cpu().numpy()))


def test_costs_decide_on_tensors(device):
    X, y = rows(device)
    model = deciban.GaussianNB().fit(X, y)
    costs = {(2, 0): 50.0}
    decided = model.predict(X, costs=costs)
    assert (decided.cpu().numpy() == model.predict(X.cpu().numpy(), costs=costs)).all()
    assert model.predict(X, reject=0.1).dtype == object


def test_logistic_regression_scores_tensors(device):
    X, y = rows(device)
    model = deciban.LogisticRegression().fit(X, y)
    same = deciban.LogisticRegression().fit(X.cpu().numpy(), y.cpu().numpy())
    np.testing.assert_array_equal(model.coef_, same.coef_)
    expected = same.predict_proba(X.cpu().numpy())
    np.testing.assert_allclose(model.predict_proba(X).cpu().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"C": 0.01}])
@pytest.mark.interpreted(4)
def test_logistic_regression_is_fitted_on_the_device(K, dtype, settings, way, monkeypatch):
    from deciban.estimators import logistic_regression

    monkeypatch.setattr(logistic_regression, "MIN_DEVICE_ROWS", 100)
    monkeypatch.setattr(logistic_regression.checks, "to_host", lambda X: pytest.fail("copied to host memory"))
    rng = np.random.default_rng(0)
    X = rng.normal(2, 3, (900, 5)) @ rng.normal(size=(5, 5))
    y = (X @ rng.normal(size=(5, K)) + 4 * rng.gumbel(size=(900, K))).argmax(1)
    X, weight = X.astype(dtype), rng.choice([0.0, 0.5, 2.0], 900)
    T, labels, w = (torch.as_tensor(a, device=way) for a in (X, y, weight))
    X[5, 2] = np.nan
    T[5, 2] = torch.nan
    ours = deciban.LogisticRegression(**settings).fit(T, labels)
    monkeypatch.undo()
    theirs = deciban.LogisticRegression(**settings).fit(X, y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    monkeypatch.setattr(logistic_regression, "MIN_DEVICE_ROWS", 100)
    monkeypatch.setattr("deciban.engines.gpu.is_for_host", lambda x: False)
    monkeypatch.setattr(tensors, "_is_dispatching", lambda: True)
    ours = deciban.LogisticRegression(tol=1e-9, **settings).fit(T, labels, w)
    theirs = deciban.LogisticRegression(tol=1e-9, **settings).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_logistic_regression_starts_where_it_ended(device, monkeypatch):
    from deciban.estimators import logistic_regression

    monkeypatch.setattr(logistic_regression, "MIN_DEVICE_ROWS", 100)
    X, y = rows(device)
    model = deciban.LogisticRegression(warm_start=True, tol=1e-6).fit(X, y)
    assert model.fit(X, y).n_iter_[0] <= 1


BAD = {
    "infinite": (deciban.GaussianNB(), (7, 2, np.inf), "row 7"),
    "missing": (deciban.GaussianNB(missing="error"), (5, 1, np.nan), "row 5"),
    "negative": (deciban.MultinomialNB(), (9, 0, -2.0), "-2 in row 9"),
    "level": (deciban.CategoricalNB(), (3, 0, -1.0), "-1 in row 3"),
    "unit": (deciban.BernoulliNB(binarize=None), (4, 0, 3.0), "row 4"),
}


@pytest.mark.parametrize("rule", BAD)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.interpreted(None)
def test_invalid_values_are_named_and_nothing_changes(rule, dtype, device):
    from sklearn.base import clone

    model, (i, j, value), words = clone(BAD[rule][0]), *BAD[rule][1:]
    X, y = rows(device)
    X = X.abs().clamp(0, 1).round().to(dtype)
    model.fit(X, y)
    before = model.ledger_
    X[i, j] = value
    with pytest.raises(InputError, match=words):
        model.partial_fit(X, y)
    assert model.ledger_ is before


def test_shapes_lengths_and_types_are_checked(device):
    X, y = rows(device)
    model = deciban.GaussianNB().fit(X, y)
    with pytest.raises(InputError, match=r"Expected 2D array, got 1D.*reshape"):
        model.predict(X[0])
    with pytest.raises(InputError, match="0 sample"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="3 features, but GaussianNB is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(InputError, match="X has 300, y 299"):
        deciban.GaussianNB().fit(X, y[1:])
    with pytest.raises(InputError, match="1d array"):
        deciban.GaussianNB().fit(X, y[:, None])
    with pytest.raises(ValueError, match="Unknown label type"):
        deciban.GaussianNB().fit(X, y + 0.5 * torch.rand(300, device=device))
    with pytest.raises(InputError, match="complex"):
        deciban.GaussianNB().fit(X.to(torch.complex64), y)
    with pytest.raises(InputError, match=r"sparse.*to_dense"):
        deciban.GaussianNB().fit(X.to_sparse(), y)
    with pytest.raises(InputError, match=r"\[7\].*do not exist"):
        model.partial_fit(X, torch.full_like(y, 7))
    with pytest.raises(InputError, match="Negative values"):
        deciban.GaussianNB().fit(X, y, -torch.ones(300, device=device))


def test_two_devices_are_refused(device):
    X, y = rows(device)
    with pytest.raises(InputError, match=r"X is on .* and y on meta.*Hint: y.to\(X.device\)"):
        deciban.GaussianNB().fit(X, y.to("meta"))


def test_errors_name_their_argument(device):
    X, y = rows(device)
    with pytest.raises(InputError, match=r"^y holds values of type uint16"):
        deciban.GaussianNB().fit(X, y.to(torch.uint16))
    with pytest.raises(InputError, match=r"^sample_weight holds values of type complex64"):
        deciban.GaussianNB().fit(X, y, torch.ones(300, dtype=torch.complex64, device=device))
    for y_and_weight in ((y.to("meta"), None), (y.cpu().numpy(), torch.ones(300, device="meta"))):
        with pytest.raises(InputError, match=r"tensor on meta has no values that can be copied"):
            deciban.GaussianNB().fit(X.cpu().numpy(), *y_and_weight)


class NamedTensor(torch.Tensor):
    """A tensor of a class that another module than torch defines."""


def test_subclasses_of_tensors_are_tensors(device):
    X, y = rows(device)
    assert tensors.is_tensor(X.as_subclass(NamedTensor))
    model = deciban.GaussianNB().fit(X.as_subclass(NamedTensor), y.as_subclass(NamedTensor))
    assert model.ledger_ == deciban.GaussianNB().fit(X, y).ledger_
    assert (model.predict(X.as_subclass(NamedTensor)) == model.predict(X)).all()


@pytest.mark.parametrize("dtype", [">i8", ">i4", ">f8", np.longdouble, np.uint16])
@pytest.mark.interpreted(None)
def test_labels_in_host_memory_may_be_of_any_type(dtype, device):
    X, y = rows(device)
    labels = (y.cpu().numpy() * 3 + 1).astype(dtype)
    model = deciban.GaussianNB().fit(X, labels)
    expected = deciban.GaussianNB().fit(X.cpu().numpy(), labels).predict(X.cpu().numpy())
    found = model.predict(X)
    assert (np.asarray(found.cpu() if torch.is_tensor(found) else found) == expected).all()


def test_a_full_device_is_an_error_that_changes_nothing(device, monkeypatch):
    X, y = rows(device)
    model = deciban.GaussianNB().fit(X, y)
    before = model.ledger_

    def fail(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has ...")

    monkeypatch.setattr(sums, "find_centre", fail)
    with pytest.raises(DeviceMemoryError, match=r"out of memory.*Nothing was changed.*partial_fit"):
        model.partial_fit(X, y)
    assert model.ledger_ is before
    assert issubclass(DeviceMemoryError, MemoryError)


CONVENTION = """
import numpy as np, torch, sklearn
from deciban import GaussianNB
X, y = torch.randn(200, 3), torch.arange(200) % 2
model = GaussianNB().fit(X, y)
print(type(model.predict(X)).__name__)
with sklearn.config_context(array_api_dispatch=True):
    print(type(GaussianNB().fit(X, y).predict_proba(X)).__name__)
"""


def test_tensors_in_host_memory_follow_the_convention_of_scikit_learn():
    run = subprocess.run(
        [sys.executable, "-c", CONVENTION], env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True
    )
    if "array_api_compat" in run.stderr or "array-api-compat" in run.stderr:
        pytest.skip("scikit-learn needs array-api-compat for its dispatch")
    assert run.stdout.split() == ["ndarray", "Tensor"], run.stderr


def test_arrays_of_cupy_come_back_as_such(device):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if device == "cpu":
        pytest.skip("no GPU")
    X, y = rows(device)
    model = deciban.GaussianNB().fit(cupy.asarray(X), cupy.asarray(y))
    for method in ("predict", "predict_proba", "score_samples"):
        result = getattr(model, method)(cupy.asarray(X))
        assert isinstance(result, cupy.ndarray)
        np.testing.assert_allclose(result.get(), getattr(model, method)(X.cpu().numpy()), atol=1e-11)


def test_small_tensors_are_computed_in_host_memory(monkeypatch):
    if not torch.cuda.is_available():
        monkeypatch.setattr(tensors, "_is_dispatching", lambda: True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    X, y = rows(device, n=50)
    monkeypatch.setattr(sums, "find_centre", lambda x: pytest.fail("on the device"))
    assert deciban.GaussianNB().fit(X, y).predict_proba(X).device.type == device


def test_the_guide_runs(device):
    """The examples of the guide print what they say; in host memory where there is no GPU."""
    text = (Path(__file__).parents[2] / "docs" / "guides" / "gpu.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    code = "\n".join(blocks).replace("cuda", device)
    expected = re.findall(r"# → (.*)", code)
    printed = []
    exec(code, {"print": lambda value: printed.append(str(value))})
    assert printed == expected
