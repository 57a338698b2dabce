"""Names of classes, columns and levels, and the types of their values, change nothing."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import deciban

LEARNERS = {"bayes": 1e-9, "aode": 1e-9, "logistic": 1e-6, "evidence": 1e-6}
"""The learners, and by how much their probabilities may differ: the last two search a minimum."""


def fruit(n=150):
    """Flags, levels, counts and numbers of three classes; some cells are missing, and levels are equally frequent."""
    rng = np.random.default_rng(0)
    k = rng.permutation(np.arange(n) % 3)
    columns = {
        "colour": np.array(["red", "green", "blue", "white"])[np.minimum(3, k + rng.integers(0, 3, n))],
        "shop": rng.permutation(np.repeat(["x", "y", "z"], n // 3)),
        "ripe": np.array(["yes", "no"])[(rng.random(n) < 0.3 + 0.2 * k).astype(int)],
        "mass": np.where(rng.random(n) < 0.05, np.nan, rng.normal(k, 1.5)),
        "seeds": rng.poisson(1 + k),
    }
    return pd.DataFrame(columns).assign(y=np.array(["lemon", "apple", "plum"])[k])


def flowers():
    bunch = datasets.load_iris(as_frame=True)
    rows = bunch.data.set_axis([*"abcd"], axis=1).assign(y=bunch.target_names[bunch.target])
    return rows.sample(frac=1, random_state=0).reset_index(drop=True)


TABLES = {"fruit": fruit, "flowers": flowers}


def reverse(names):
    """Return new names of values, which are sorted in the opposite order."""
    distinct = sorted(set(names))
    return {name: f"n{len(distinct) - i:02}" for i, name in enumerate(distinct)}


def rename_classes(rows):
    return rows.assign(y=rows["y"].map(reverse(rows["y"])))


def number_classes(kind):
    places = {
        name: place for place, name in enumerate(["plum", "virginica", "apple", "setosa", "lemon", "versicolor"])
    }
    return lambda rows: rows.assign(y=rows["y"].map(places).astype(kind))


def rename_columns(rows):
    return rows.rename(columns=reverse(rows.columns.drop("y")))


def change_texts(convert):
    def change(rows):
        texts = [name for name in rows.columns.drop("y") if not pd.api.types.is_numeric_dtype(rows[name].dtype)]
        return rows.assign(**{name: convert(rows[name]) for name in texts})

    return change


def as_categorical(column):
    return pd.Categorical(column, categories=sorted(set(column.dropna()), reverse=True))


def change_shop(rows, kind):
    return rows.assign(shop=rows["shop"].map({"x": 30, "y": 7, "z": 100}).astype(kind)) if "shop" in rows else rows


CHANGES = {
    "classes renamed": rename_classes,
    "classes as whole numbers": number_classes(int),
    "classes as floats": number_classes(float),
    "classes categorical": lambda rows: rows.assign(y=as_categorical(rows["y"])),
    "columns renamed": rename_columns,
    "levels renamed": change_texts(lambda column: column.map(reverse(column))),
    "levels categorical": change_texts(as_categorical),
    "levels as whole numbers": lambda rows: change_shop(rows, int),
    "levels as floats": lambda rows: change_shop(rows, float),
    "whole numbers as floats": lambda rows: rows.astype({"seeds": float}) if "seeds" in rows else rows,
}


def predict(rows, learner, **more):
    """Return the posterior of the class of each row's i-th class by appearance, so that names play no part."""
    roles = {name: "category" for name in rows.columns if name == "shop"}  # where it may be a number
    model = deciban.train(rows, target="y", learner=learner, roles=roles, **more)
    order = [list(model.classes).index(name) for name in dict.fromkeys(rows["y"].tolist())]
    return np.asarray(model.predict_proba(rows))[:, order]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("table", TABLES)
def test_names_and_types_change_nothing(table, learner):
    rows, is_fitted = TABLES[table](), learner in ("logistic", "evidence")
    more = {"judge": False} if is_fitted else {}
    expected = predict(rows, learner, **more)
    for name, change in CHANGES.items():
        found = predict(change(rows), learner, **more)
        np.testing.assert_allclose(found, expected, rtol=0, atol=LEARNERS[learner], err_msg=name)


@pytest.mark.parametrize("method", [deciban.evaluate, deciban.compare], ids=["evaluate", "compare"])
def test_folds_do_not_depend_on_names(method):
    rows = fruit()
    asked = {"target": "y", "folds": 3}
    if method is deciban.compare:
        asked["learners"] = ["bayes", "logistic"]
        losses = [
            [row.report.log_loss for row in method(each, **asked).rows] for each in (rows, rename_classes(rows))
        ]
    else:
        losses = [method(each, learner="evidence", **asked).log_loss for each in (rows, rename_classes(rows))]
    np.testing.assert_allclose(*losses, atol=1e-6)


@pytest.mark.parametrize("name", ["LogisticRegression", "EvidenceRegression", "BernoulliNB", "GaussianBayes"])
def test_folds_of_estimators_do_not_depend_on_the_names_of_classes(name):
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(90) % 3)
    X = rng.poisson(1.0 + (np.arange(6) % 3 == y[:, None]), (90, 6)).astype(float)
    arguments = {"C": "auto"} if name.endswith("Regression") else {}
    model = getattr(deciban, name)(**arguments)
    first, second = (np.argsort([*dict.fromkeys(labels.tolist())]).argsort() for labels in (y, 2 - y))
    found = [model.fit(X, labels).calibrated(X, labels, "temperature").predict_proba(X) for labels in (y, 2 - y)]
    np.testing.assert_allclose(found[0][:, first], found[1][:, second], atol=1e-6)
