"""Tables to draw, and models of them: few and many classes, few and many columns, a row of each class, long names."""

from functools import cache

import numpy as np

import deciban
from tests.thorough import thorough

LONG = "a class whose name is far longer than any picture has room for, number "
COLUMN = "a column with a name that nobody would care to type, number "


@cache
def clinic():
    """Every kind of column, with gaps."""
    rng = np.random.default_rng(3)
    n = 120
    ill = rng.random(n) < 0.4
    return {
        "fever": [None if rng.random() < 0.1 else round(float(x), 2) for x in rng.normal(37 + 1.5 * ill, 0.4)],
        "visits": rng.poisson(1 + 3 * ill).tolist(),
        "smoker": np.where(rng.random(n) < 0.3 + 0.3 * ill, "yes", "no").tolist(),
        "cough": rng.choice(["none", "dry", "productive"], n).tolist(),
        "protein": np.exp(rng.normal(2 * ill, 1.0)).round(3).tolist(),
        "who": np.where(ill, "ill", "well").tolist(),
    }


ROLES = {"fever": "number", "visits": "count", "smoker": "flag", "cough": "category", "protein": "binned"}


@cache
def clinic_model(**given):
    return deciban.train(clinic(), target="who", roles=ROLES, judge=False, **given)


def posterior(model, table, row):
    """p(k|x) of a row, by class."""
    return dict(zip(model.classes, model.predict_proba(table)[row].tolist()))


@cache
def many(classes, columns, rows=4):
    """Numbers of so many classes and columns, one column a category, under long names."""
    rng = np.random.default_rng(classes + columns)
    y = np.repeat(np.arange(classes), rows)
    middle = rng.normal(size=(classes, columns)) * 2
    X = middle[y] + rng.normal(size=(len(y), columns))
    table = {f"{COLUMN}{j}": X[:, j].round(3).tolist() for j in range(columns)}
    table["kind"] = [f"kind {k % 5} of them" for k in y + rng.integers(0, 2, len(y))]
    return {**table, "label": [f"{LONG}{k}" for k in y]}


@cache
def many_model(classes, columns, rows=4):
    table = many(classes, columns, rows)
    roles = {name: "number" for name in table if name not in ("kind", "label")}
    return deciban.train(table, target="label", roles={**roles, "kind": "category"}, judge=False)


EXTREMES = [
    (2, 3, 4),
    (26, 3, 4),
    (2, 1, 1),
    *(thorough(*case, reason="draws hundreds of columns: seconds") for case in [(2, 300, 4), (26, 300, 2)]),
]
"""Classes, columns, and rows of each class."""
