"""`import deciban` is light, and small work stays light."""

import json
import subprocess
import sys

import pytest

from tests.thorough import thorough_beyond

HEAVY = ["numba", "sklearn", "scipy", "pyarrow", "duckdb", "pandas", "matplotlib", "typer", "rich", "torch"]
SMALL_FIT = """
import numpy as np
from deciban import {name}
X, y = np.array([[1, 0], [0, 2], [1, 1], [0, 1]]), ["a", "b", "a", "b"]
model = {name}().fit(X, y)
model.predict(X), model.predict_proba(X[:1]), model.partial_fit(X, y), model.forget(X, y), model.explain(X)
"""


def loaded_after(code):
    """Which heavy libraries a fresh process has loaded after this code."""
    script = f"{code}\nimport sys, json; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_importing_loads_nothing_heavy():
    assert loaded_after("import deciban") == set()


def test_looking_around_loads_nothing_heavy():
    assert loaded_after("import deciban; dir(deciban); deciban.__version__") == set()


def test_counting_parameters_loads_nothing_heavy():
    assert loaded_after("import deciban; deciban.parameter_count('joint', features=30)") == set()


def test_a_ledger_loads_nothing_heavy():
    assert loaded_after("from deciban import Ledger, Explanation") == set()


NAMES = ["GaussianNB", "CategoricalNB", "MultinomialNB"]


@pytest.mark.parametrize("name", thorough_beyond(1, NAMES, "starts a process: three seconds each"))
def test_a_small_fit_loads_no_compiler(name):
    assert "numba" not in loaded_after(SMALL_FIT.format(name=name))


def test_a_fit_in_host_memory_loads_no_torch():
    assert "torch" not in loaded_after(SMALL_FIT.format(name="GaussianNB"))


def test_an_unknown_name_is_an_attribute_error():
    import deciban

    with pytest.raises(AttributeError, match="no attribute 'NoSuchThing'"):
        deciban.NoSuchThing  # noqa: B018


def test_every_public_name_can_be_had():
    import deciban

    assert all(hasattr(deciban, name) for name in deciban.__all__)
    assert set(deciban.__all__) <= set(dir(deciban))
