"""Tables of a few rows of noise: the answer is near to guessing."""

import numpy as np
import pandas as pd
import pytest

from tests.relations.cases import Outcome, probabilities, train
from tests.relations.tables import TARGET, Task


def noise(rng, n):
    """Return n rows of two classes and columns that say nothing of them, a class of at least three rows each."""
    labels = np.where(rng.permutation(np.arange(n)) < max(3, rng.binomial(n, 0.5)), "p", "q")
    frame = pd.DataFrame({"a": rng.normal(0, 1, n), "b": rng.normal(0, 1, n), "c": rng.choice(list("uvw"), n)})
    return frame.assign(target=labels)


slow = pytest.mark.thorough(reason="chooses a learner on each of 50 tables: a minute")


@pytest.mark.parametrize("options", [{}, pytest.param({"learner": "auto"}, marks=slow)], ids=str)
def test_a_few_rows_of_noise_cost_little_more_than_guessing(options):
    losses = []
    for seed in range(50):
        rng = np.random.default_rng([seed, 12])
        learned, held_out = noise(rng, int(rng.integers(8, 13))), noise(rng, 400)
        task = Task(learned, held_out)
        model = train(learned, **options)
        assert set(learned[TARGET]) == {"p", "q"}
        losses.append(Outcome(task, model, probabilities(model, held_out)).log_loss)
    assert np.mean(losses) <= 1.2 * np.log(2)
