"""The models without a bound that `benchmarks.lab_bounds` compares with those of tables."""

import numpy as np
import pytest
from benchmarks import lab_bounds

import deciban


@pytest.mark.parametrize("model", ["number", "joined"])
def test_a_weight_of_gross_errors_bounds_the_evidence_and_none_does_not(model):
    y = np.arange(400) % 2
    X = np.random.default_rng(0).normal(20.0 * y[:, None], 1.0, (400, 2))
    table, row, found = {"a": X[:, 0], "b": X[:, 1], "y": y}, {"a": [20.0], "b": [20.0]}, []
    for weight in lab_bounds.WEIGHTS:
        with lab_bounds.set_weight(weight):
            trained = deciban.train(table, target="y", judge=False, **lab_bounds.SETTINGS[model])
            found.append(np.diff(np.asarray(trained.predict_log_proba(row)))[0, 0])
    assert found[0] > 300
    assert found[-1] < 20
    assert found == sorted(found, reverse=True)
