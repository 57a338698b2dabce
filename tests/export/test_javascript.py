"""The JavaScript module gives in Node what Python gives."""

import csv
import json
import math
import os
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.cli.example import FOLDER
from deciban.errors import InputError
from deciban.export.javascript import write_javascript
from deciban.export.portable import make_document
from tests.export.models import CASES, SPELLINGS, flagged, posterior, trained
from tests.text.readers import READERS, UNUSUAL

pytestmark = [
    pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed"),
]

SCRIPT = """
import model from "./model.mjs";
import { readFileSync } from "node:fs";
const { rows, texts } = JSON.parse(readFileSync("rows.json", "utf8"));
const spell = (_, v) => (typeof v === "number" && !Number.isFinite(v) ? String(v) : v);
console.log(JSON.stringify({
  rows: rows.map((row) => ({ ...model.predict(row), ...model.explain(row) })),
  tokens: texts.map((text) => model.tokens(text)),
}, spell));
"""


def run_node(folder, model, rows=(), texts=()):
    (folder / "model.mjs").write_text(write_javascript(make_document(model)))
    (folder / "script.mjs").write_text(SCRIPT)
    (folder / "rows.json").write_text(json.dumps({"rows": list(rows), "texts": list(texts)}))
    done = subprocess.run(["node", "script.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def to_cells(rows):
    """Return rows as JavaScript gets them: dates as ISO texts."""
    return [
        {name: cell.isoformat() if hasattr(cell, "isoformat") else cell for name, cell in row.items()}
        for row in rows.to_pylist()
    ]


def check(found, model, rows):
    p = np.array([row["probabilities"] for row in found], dtype=float)
    np.testing.assert_allclose(p, posterior(model, rows), rtol=0, atol=1e-12)
    assert [row["prediction"] for row in found] == [str(label) for label in model.predict(rows).to_pylist()]
    explained = model.explain(rows)
    for i, row in enumerate(found):
        assert row["for"] == str(explained.winner[i])
        assert row["against"] == str(explained.runner_up[i])
        names = [entry["name"] for entry in row["evidence"]]
        assert names == list(explained.features)
        close(row["total"], explained.total[i])
        if not math.isfinite(explained.total[i]):
            continue
        close(row["prior"], explained.prior[i])
        for entry, expected in zip(row["evidence"], explained.evidence[i]):
            close(entry["decibans"], expected)
        others = {entry["name"]: entry["decibans"] for entry in row["extras"]}
        for name, values in explained.extras.items():
            close(others.get(name, 0.0), values[i])


def close(ours, expected):
    ours, expected = float(ours), float(expected)
    same = math.isnan(ours) and math.isnan(expected)
    assert same or ours == expected or math.isclose(ours, expected, rel_tol=1e-9, abs_tol=1e-7), (ours, expected)


@pytest.mark.parametrize("name", CASES)
def test_rows_have_the_same_posterior_and_explanation(name, tmp_path):
    model, rows = trained(name)
    check(run_node(tmp_path, model, to_cells(rows))["rows"], model, rows)


@pytest.mark.parametrize(
    ("name", "target"), [("patients", "diagnosis"), ("messages", "topic"), ("tennis", "play"), ("iris", "species")]
)
def test_every_example_table_is_scored_from_its_own_cells(name, target, tmp_path):
    model = deciban.train(FOLDER / f"{name}.csv", target=target, judge=False)
    with open(FOLDER / f"{name}.csv", newline="", encoding="utf-8") as file:
        cells = [{column: cell or None for column, cell in row.items()} for row in csv.DictReader(file)]
    expected = model.predict_proba(FOLDER / f"{name}.csv").read_all()
    found = run_node(tmp_path, model, cells)["rows"]
    p = np.array([row["probabilities"] for row in found])
    np.testing.assert_allclose(p, np.column_stack([np.asarray(c) for c in expected.columns]), rtol=0, atol=1e-12)
    explained = model.explain(FOLDER / f"{name}.csv")
    np.testing.assert_allclose([row["total"] for row in found], explained.total, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("name", READERS)
def test_tokens_are_those_of_python(name, tmp_path):
    words = READERS[name][0]
    rows = {"text": ["the cat sat", "a dog ran", "the cat ran", "dogs sit"] * 3, "kind": ["a", "b"] * 6}
    model = deciban.train(rows, target="kind", roles={"text": "text"}, words=words, judge=False)
    texts = [*UNUSUAL, *map(" ".join, zip(UNUSUAL, reversed(UNUSUAL)))]
    found = run_node(tmp_path, model, [], texts)["tokens"]
    assert found == [words.tokens_of(text) for text in texts]


@pytest.mark.parametrize(
    "words", [{"values": "presence"}, {"values": "log", "length": "l2"}, {"length": "l1"}, {"ngrams": 2}]
)
@pytest.mark.parametrize("learner", ["bayes", "logistic", "evidence"])
def test_texts_beside_numbers(words, learner, tmp_path):
    rng = np.random.default_rng(0)
    kinds = rng.choice(["x", "y", "z"], 90)
    texts = [" ".join(rng.choice(list("abcdef") + [k * 2] * 3, 8)) + " Äpfel" for k in kinds]
    table = pa.table({"text": texts, "size": rng.normal(size=90), "kind": kinds})
    model = deciban.train(
        table, target="kind", roles={"text": "text"}, words={"least_length": 1, **words}, learner=learner, judge=False
    )
    rows = pa.table({"text": [*texts[:20], None, "", "unknown words", "a a b xx ÄPFEL"], "size": [0.5] * 24})
    check(run_node(tmp_path, model, to_cells(rows))["rows"], model, rows)


@pytest.mark.parametrize("learned", SPELLINGS)
def test_every_spelling_of_a_boolean_is_read(learned, tmp_path):
    model, rows = flagged(learned)
    cells = [row for spelling in SPELLINGS for row in to_cells(flagged(spelling)[1])]
    check(run_node(tmp_path, model, cells)["rows"], model, pa.concat_tables([rows] * len(SPELLINGS)))


DATES = """
import model from "./model.mjs";
import { readFileSync } from "node:fs";
function read(cell) {
  try { return model.date(cell, "seen").toISOString(); } catch (error) { return String(error); }
}
console.log(JSON.stringify([...JSON.parse(readFileSync("cells.json")), new Date(Date.UTC(2024, 1, 1, 5))].map(read)));
"""


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_dates_are_read_alike_in_every_time_zone_and_those_that_are_not_iso_are_refused(zone, tmp_path):
    (tmp_path / "model.mjs").write_text(write_javascript(make_document(trained("two classes")[0])))
    (tmp_path / "script.mjs").write_text(DATES)
    valid = {
        "2024-02-01": "2024-02-01T00:00", " 2024-02-29 ": "2024-02-29T00:00", "2024-02-01 23:05": "2024-02-01T23:05",
        "2024-02-01T23:05:06.123456": "2024-02-01T23:05", "2024-02-01T23:05:06Z": "2024-02-01T23:05",
        "2024-02-01T23:05+02:00": "2024-02-01T23:05", "12:30": "1970-01-01T12:30", "12:30:15": "1970-01-01T12:30",
    }  # fmt: skip
    invalid = [
        "03.01.2024", "2024/02/01", "02/01/2024", "Feb 1, 2024", "2024", "2024-02", "2024-2-1", "2024-02-30",
        "2024-13-01", "2024-02-01T", "2024-02-01T24:00", "2024-02-01T12:60", "25:00", "12", "", "soon", 1706745600000,
    ]  # fmt: skip
    (tmp_path / "cells.json").write_text(json.dumps([*valid, *invalid]))
    done = subprocess.run(
        ["node", "script.mjs"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TZ": zone},
    )
    *read, date = json.loads(done.stdout)
    assert [text[:16] for text in read[: len(valid)]] == list(valid.values())
    assert date[:16] == "2024-02-01T05:00"
    assert read[len(valid) :] == [
        f"RangeError: column seen holds {cell}, which is not a Date or an ISO text such as 2024-02-01T14:30"
        for cell in invalid
    ]


def test_hashed_words_are_refused():
    model = deciban.train(
        {"t": ["a b", "c d"] * 5, "k": ["x", "y"] * 5},
        target="k",
        roles={"t": "text"},
        words={"hashed": 8},
        judge=False,
    )
    with pytest.raises(InputError, match="hashes"):
        write_javascript(make_document(model))
