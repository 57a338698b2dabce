"""Studios with a model of a bundled table, which is trained once for all tests."""

from functools import cache

import deciban
from deciban.cli.example import FOLDER

TARGETS = {"patients": "diagnosis", "messages": "topic", "iris": "species"}


@cache
def train_example(name, learner="bayes"):
    return deciban.train(FOLDER / f"{name}.csv", target=TARGETS[name], learner=learner)


def open_trained(studio, name="patients", learner="bayes"):
    """Open a bundled table in a studio, and a model of it."""
    studio.post("/open/example", data={"name": name})
    model = train_example(name, learner)
    assert studio.workspace.target == model.target
    studio.workspace.set_model(model, f"{name}.deciban", model.held_out)
    studio.workspace.trained_models.append(model)
    return studio
