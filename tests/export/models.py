"""Models of every family, learner, calibration and prior of tables, and rows with every kind of value."""

import datetime
from functools import cache

import numpy as np
import pyarrow as pa

import deciban

N = 240
HOSTILE_NAMES = [
    'say "ah"',
    "it's",
    "new\nline",
    'x"; drop table data; --',
    "select",
    "a`b",
    "100%",
    "ünïcode ☃",
    "a.b",
]
"""Names of columns that SQL must quote."""


def patients(classes=("ill", "well"), n=N, seed=0, names=None, height=1e4):
    """A table with a column of every role but text, and missing cells; `names` renames its columns."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, len(classes), n)
    columns = {
        "age": rng.normal(50 + 8 * code, 10),
        "height": height + rng.normal(code, 1.0),
        "dose": np.exp(rng.normal(0.7 * code, 1.0)),
        "visits": rng.poisson(2 + 2 * code),
        "smoker": np.where(rng.random(n) < 0.2 + 0.2 * code, "yes", "no"),
        "ward": rng.choice(["a", "b'b", "c\\c", "d\n", "é"], n),
        "grade": rng.integers(0, 3, n) + (rng.random(n) < 0.3 * code),
        "seen": [
            datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 17_520, n)
        ],
    }
    table = {}
    for name, values in columns.items():
        cells = values if isinstance(values, list) else values.tolist()
        missing = rng.random(n) < 0.1
        table[name] = [None if gone else cell for cell, gone in zip(cells, missing)]
    arrays = {name: pa.array(cells) for name, cells in table.items()}
    renamed = {(names or {}).get(name, name): array for name, array in arrays.items()}
    return pa.table({**renamed, "diagnosis": [classes[k] for k in code]})


ROLES = {
    "age": "number", "height": "number", "dose": "binned", "visits": "count",
    "smoker": "flag", "ward": "category", "grade": "category", "seen": "date",
}  # fmt: skip


def new_rows(table):
    """Rows to score: learned ones, one without any value, unseen levels, and values far from all others."""
    rows = table.drop_columns(["diagnosis"]).slice(0, 60).to_pylist()
    rows.append(dict.fromkeys(rows[0]))
    far = [1e300, -1e300, 1e160, 0.0, 1e6, -4e6, 1e-300]
    for i, x in enumerate(far):
        row = dict(rows[i + 7])
        for place, name in enumerate(row):
            if place in (0, 1, 2):
                row[name] = x
            if place == 3:
                row[name] = abs(int(min(abs(x), 1e15)))
            if place in (4, 5):
                row[name] = "never seen"
            if place == 6:
                row[name] = 77
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=table.drop_columns(["diagnosis"]).schema)


def posterior(model, rows):
    frame = model.predict_proba(rows)
    return np.column_stack([np.asarray(frame.column(k)) for k in range(frame.num_columns)])


SPELLINGS = {
    "Booleans": [True, False],
    "true": ["true", "false"],
    "True": ["True", "False"],
    "TRUE": ["TRUE", "FALSE"],
    "yes": ["yes", "no"],
    "Y": ["Y", "N"],
    "digits": ["1", "0"],
    "numbers": [1, 0],
    "doubles": [1.0, 0.0],
}
"""A flag as databases have it, and as CSV files of databases, Python, Excel, R and people spell it."""


def flagged(spelling):
    """A model of Booleans in this spelling, of which some are joined with another column, and rows to score."""
    yes, no = SPELLINGS[spelling]
    rows = pa.table({"ok": [yes, no, None] * 8, "other": [yes, yes, no, no] * 6, "side": ["l", "r"] * 12})
    table = rows.append_column("kind", pa.array(["a", "b", "a", "b", "b", "b"] * 4))
    return deciban.train(table, target="kind", blocks=[["other", "side"]], judge=False), rows


THREE = ("flu", "cold", "well")


@cache
def trained(name):
    """Return a model by its name, and rows to score."""
    table, options = CASES[name]()
    with_priors, rows = options.pop("with_priors", None), options.pop("rows", None)
    model = deciban.train(table, target="diagnosis", judge=False, **{"roles": ROLES, **options})
    if with_priors is not None:
        model = model.with_priors(with_priors)
    return model, new_rows(table) if rows is None else rows


def case(classes=("ill", "well"), height=1e4, **options):
    return lambda: (patients(classes, height=height), dict(options))


def without(column, label, classes=THREE):
    """A table in which a class never has a number."""

    def make():
        table = patients(classes)
        cells = [None if k == label else x for x, k in zip(table[column].to_pylist(), table["diagnosis"].to_pylist())]
        place = table.schema.get_field_index(column)
        return table.set_column(place, column, pa.array(cells, table.schema.field(column).type)), {}

    return make


def never(column, label):
    """A table in which a class has only zeros in a column of counts."""
    table = patients(THREE)
    cells = [0 if k == label else x for x, k in zip(table[column].to_pylist(), table["diagnosis"].to_pylist())]
    return table.set_column(table.schema.get_field_index(column), column, pa.array(cells))


def one_value_each(**options):
    """Patients of January who do not smoke, and rows of other months and of smokers, in pairs that no row has."""
    table, rows = patients(THREE), patients(THREE, seed=1).drop_columns(["diagnosis"])
    dates = [None if t is None else t.replace(month=1) for t in table["seen"].to_pylist()]
    smoker = [None if cell is None else "no" for cell in table["smoker"].to_pylist()]
    grade = [
        None if cell is None else ord(cell[0]) % 3 for cell in table["ward"].to_pylist()
    ]  # follows from the ward
    for name, cells in {"seen": dates, "smoker": smoker, "grade": grade}.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(cells))
    return table, {"rows": rows, **options}


CASES = {
    "two classes": case(),
    "three classes": case(THREE),
    "far from zero": case(THREE, height=1e8),
    "far from zero, joined": case(height=1e8, blocks=[["age", "height"]]),
    "logistic": case(learner="logistic", C=1.0),
    "logistic, three classes": case(THREE, learner="logistic", C=1.0),
    "evidence": case(learner="evidence", C=1.0),
    "evidence, three classes": case(THREE, learner="evidence", C=1.0),
    "boosted": case(learner="boosted"),
    "boosted, three classes": case(THREE, learner="boosted"),
    "temperature": case(calibrate="temperature"),
    "platt": case(calibrate="platt"),
    "isotonic": case(calibrate="isotonic"),
    "temperature, three classes": case(THREE, calibrate="temperature"),
    "platt, three classes": case(THREE, calibrate="platt"),
    "isotonic, three classes": case(THREE, calibrate="isotonic"),
    "logistic, isotonic": case(learner="logistic", C=1.0, calibrate="isotonic"),
    "uniform prior": case(THREE, prior="uniform"),
    "other prior": case(with_priors={"ill": 0.9, "well": 0.1}),
    "other prior, calibrated": case(THREE, calibrate="platt", with_priors={"flu": 0.1, "cold": 0.2, "well": 0.7}),
    "impossible class": case(THREE, with_priors={"flu": 0.5, "cold": 0.5, "well": 0.0}),
    "impossible class, isotonic": case(
        THREE, calibrate="isotonic", with_priors={"flu": 0.5, "cold": 0.5, "well": 0.0}
    ),
    "maximum likelihood": case(THREE, alpha=0.0),
    "maximum likelihood, two classes": case(alpha=0.0),
    "chosen pseudo-counts": case(alpha="auto"),
    "smoothed unseen": case(unseen="smooth"),
    "few levels": case(THREE, most_levels=2),
    "joined numbers": case(THREE, blocks=[["age", "height"], ["smoker", "ward"]]),
    "tied numbers": case(blocks=[["age", "height", "dose"]], covariance="tied", roles={**ROLES, "dose": "number"}),
    "mixed numbers": case(
        THREE, blocks=[["age", "height", "dose"]], covariance="mixed", roles={**ROLES, "dose": "number"}
    ),
    "joined, evidence": case(THREE, blocks=[["age", "height"]], learner="evidence", C=1.0),
    "joined, logistic": case(THREE, blocks=[["age", "height"]], learner="logistic", C=1.0),
    "joined, boosted": case(blocks=[["age", "height"]], learner="boosted"),
    "dependent columns": case(THREE, structure="tan"),
    "dependent columns, two classes": case(structure="tan", alpha=0.5),
    "spherical": case(THREE, covariance="spherical"),
    "no prior of parameters": case(THREE, parameter_prior=0.0, alpha=0.0),
    "no prior, joined": case(blocks=[["age", "height"]], parameter_prior=0.0),
    "no counts in a class": lambda: (never("visits", "flu"), {"alpha": 0.0}),
    "values that no row has": one_value_each,
    "values that no row has, dependent columns": lambda: one_value_each(structure="tan"),
    "absent in a class": without("age", "cold"),
    "absent, evidence": lambda: (without("age", "cold")()[0], {"learner": "evidence", "C": 1.0}),
}
