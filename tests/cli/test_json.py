"""The output for programs is strict JSON, whatever the numbers."""

import csv
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import deciban
from deciban.plain_json import to_json, to_plain
from tests.cli.terminal import PATIENTS, done, table


def strict(text):
    """JSON as the standard has it: no NaN, no Infinity."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_strict_where_evidence_has_no_end(tmp_path):
    data = table(tmp_path / "sure.csv", "x,z,y", [("ab"[i % 2], i % 3, "pq"[i % 2]) for i in range(40)])
    models = [tmp_path / "ml.deciban", tmp_path / "prior.deciban"]
    for model, more in zip(models, (["--alpha", "0"], ["--prior", "p=0,q=1"])):
        strict(done("train", data, "--target", "y", "--as", "z=category", *more, "-o", model, "--json").stdout)
        strict(done("inspect", model, "--json").stdout)
        assert "Strongest columns" in done("inspect", model).stdout
        output = strict(done("explain", model, data, "--classes", "p,q", "--json").stdout)
        assert any(entry["decibans"] is None for reason in output for entry in reason["evidence"])
        strict(done("evaluate", data, "--model", model, "--json").stdout)
        for line in done("predict", model, data, "--json", "--proba").stdout.splitlines():
            strict(line)
    found = strict(done("diff", *models, "--json").stdout)
    assert [entry["first"] for entry in found["evidence"] if entry["column"] == "x"] == [None]
    assert "Evidence" in done("diff", *models).stdout


def test_cells_that_json_has_no_word_for_become_null_or_text(tmp_path):
    model = tmp_path / "m.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--no-judge", "-o", model)
    header, *rows = csv.reader(PATIENTS.open())
    frame = pa.table({name: [row[i] or None for row in rows[:3]] for i, name in enumerate(header)})
    odd = {"inf": pa.array([math.inf, -math.inf, math.nan]), "day": pa.array([0, 1, 2], pa.date32())}
    for name, column in odd.items():
        frame = frame.append_column(name, column)
    pa.parquet.write_table(frame, tmp_path / "odd.parquet")
    shown = done("predict", model, tmp_path / "odd.parquet", "--keep", "inf", "--keep", "day", "--json").stdout
    output = [strict(line) for line in shown.splitlines()]
    assert [(row["inf"], row["day"]) for row in output] == [
        (None, "1970-01-01"),
        (None, "1970-01-02"),
        (None, "1970-01-03"),
    ]


def test_parameters_of_an_estimator_are_numbers_where_they_are_numbers(tmp_path):
    path = tmp_path / "matrix.deciban"
    deciban.GaussianNB(priors=np.array([0.25, 0.75])).fit([[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1]).save(path)
    output = strict(done("inspect", path, "--json").stdout)
    assert output["parameters"]["priors"] == [0.25, 0.75]
    assert output["classes"] == [0, 1]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.inf, None),
        (np.float64("nan"), None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("é"), "é"),
        (np.array([[1.0, -np.inf]]), [[1.0, None]]),
        ({1: (np.float32(0.5), "a")}, {"1": [0.5, "a"]}),
        (None, None),
        (np.datetime64("2024-01-02"), "2024-01-02"),
        (2**70, 2**70),
    ],
    ids=repr,
)
def test_values_become_what_json_knows(value, expected):
    assert to_plain(value) == expected
    assert type(to_plain(value)) is type(expected)
    assert strict(to_json(value)) == expected
