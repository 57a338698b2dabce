"""The models whose files of each format are kept for ever. `python -m tests.files.fixture` wrote those of format 1.

The files are never written again: a new format gets files of its own.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from tests.estimators.facades import FACADES

import deciban
import deciban.engines.sparse

HERE = Path(__file__).parent


def one():
    """The model of `format-1.deciban`: column names, text labels, a missing value, a prior of its own."""
    patients = pd.DataFrame(
        {
            "temperature °C": [36.6, 38.9, 39.4, 36.9, np.nan, 37.0, 36.4, 38.2, 38.8, 39.9, 36.8, 37.1],
            "pulse": [61.0, 98.0, 87.0, 70.0, 90.0, 66.0, 74.0, 79.0, 92.0, 84.0, 81.0, 58.0],
        }
    )
    ill = [1, 4, 2, 7, 8, 9]
    state = ["flu" if i in ill else "well" for i in range(12)]
    return deciban.GaussianBayes(priors=[0.25, 0.75], parameter_prior=1.0).fit(patients, state)


def others():
    """A model of every other kind of statistic and score."""
    made = {facade.name: facade.fitted(12) for facade in FACADES}
    deciban.engines.sparse.DENSE_CELLS = 10
    words = csr_array(np.random.default_rng(0).poisson(0.4, (12, 8)).astype(float))
    made["kept-sparse"] = deciban.MultinomialNB().fit(words, np.arange(12) % 4)
    levels = next(facade for facade in FACADES if facade.name == "CategoricalNB")
    made["imagined"] = levels.fitted(12, alpha=levels.fitted(3, seed=1).ledger_)
    return made


def rows(model):
    """Rows to be asked about."""
    return np.arange(3.0 * model.n_features_in_).reshape(3, -1) % 4


def answers(model):
    """What the model says, and how much it has learned."""
    return {
        "joint": model.predict_joint_log_proba(rows(model)).tolist(),
        "rows": model.ledger_.rows.tolist(),
        "classes": model.classes_.tolist(),
    }


if __name__ == "__main__":
    one().save(HERE / "format-1.deciban")
    folder = HERE / "format-1"
    folder.mkdir(exist_ok=True)
    models = others()
    for name, model in models.items():
        model.save(folder / f"{name}.deciban")
    expected = {name: answers(model) for name, model in models.items()}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
