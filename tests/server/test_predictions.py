"""Predictions and explanations by HTTP are those of the command line, in every format."""

import asyncio
import io
import json
import time
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from deciban.cli.app import run
from deciban.server.operations import format_predictions
from deciban.server.row_batches import RowBatches, score_parts
from deciban.sources.cell_rows import CellRows

PREDICT, EXPLAIN = "/v1/models/clinic/predict", "/v1/models/clinic/explain"


def to_csv(rows):
    file = io.BytesIO()
    pyarrow.csv.write_csv(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def to_arrow(rows):
    table, file = pa.Table.from_pylist(rows), io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def to_parquet(rows):
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


BODIES = {
    "application/json": lambda rows: json.dumps({"rows": rows}).encode(),
    "application/x-ndjson": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
    "text/csv": to_csv,
    "application/vnd.apache.arrow.stream": to_arrow,
    "application/vnd.apache.parquet": to_parquet,
}


def read_answer(response):
    kind = response.headers["content-type"].partition(";")[0]
    data = io.BytesIO(response.content)
    match kind:
        case "application/json":
            return response.json()["predictions"]
        case "application/x-ndjson":
            return [json.loads(line) for line in response.text.splitlines()]
        case "text/csv":
            return pyarrow.csv.read_csv(data).to_pylist()
        case "application/vnd.apache.parquet":
            return pyarrow.parquet.read_table(data).to_pylist()
    return pa.ipc.open_stream(data).read_all().to_pylist()


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("accept", BODIES)
def test_all_formats_give_the_posterior_of_the_library(clinic, kind, accept):
    rows = clinic.learned[:40]
    expected = np.asarray(clinic.model.predict_proba(pa.Table.from_pylist(rows)).to_pandas())
    response = clinic.client.post(
        PREDICT, params={"proba": "true"}, content=BODIES[kind](rows),
        headers={"content-type": kind, "accept": accept},
    )  # fmt: skip
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith(accept)
    found = read_answer(response)
    posterior = np.array([[row[f"p({label})"] for label in clinic.model.classes] for row in found])
    np.testing.assert_allclose(posterior, expected, rtol=0, atol=1e-6 if accept == "text/csv" else 1e-12)
    assert [row["prediction"] for row in found] == [clinic.model.classes[k] for k in expected.argmax(axis=1)]


def run_command(capsysbinary, *words):
    assert run(list(map(str, words))) == 0
    return capsysbinary.readouterr().out


def test_a_table_of_csv_is_answered_as_deciban_predict_prints_it(clinic, capsysbinary):
    path = clinic.folder / "rows.csv"
    path.write_bytes(to_csv(clinic.learned))
    printed = run_command(capsysbinary, "predict", clinic.path, path, "--keep", "patient", "--proba")
    response = clinic.client.post(
        PREDICT, params={"keep": "patient", "proba": "true"}, content=path.read_bytes(),
        headers={"content-type": "text/csv"},
    )  # fmt: skip
    assert response.content == printed


def test_a_long_table_is_streamed_in_and_out(clinic):
    times = 300
    head, lines = to_csv(clinic.learned).split(b"\n", 1)
    response = clinic.client.post(
        PREDICT, content=iter([head + b"\n", *[lines] * times]), headers={"content-type": "text/csv"}
    )
    assert response.content.count(b"\n") == 1 + times * len(clinic.learned)


def test_one_row_and_many_give_the_same_numbers(clinic):
    rows = [row for row in clinic.learned if None not in row.values()][:30]
    together = clinic.post(PREDICT, rows).json()["predictions"]
    alone = [clinic.post(PREDICT, [row]).json()["predictions"][0] for row in rows]
    by_table = clinic.client.post(PREDICT, json={"rows": rows}, params={"keep": "age"}).json()["predictions"]
    assert together == alone == [{name: row[name] for name in ("prediction", "probability")} for row in by_table]


def test_decisions_follow_the_options_of_the_command(clinic):
    rows = clinic.learned[:20]
    params = {"cost": "ill:well=50", "reject": "0.01", "prior": "uniform"}
    found = clinic.client.post(PREDICT, json={"rows": rows}, params=params).json()["predictions"]
    model = clinic.model.with_priors("uniform")
    expected = model.predict(pa.Table.from_pylist(rows), costs={("ill", "well"): 50}, reject=0.01).to_pylist()
    assert [row["prediction"] for row in found] == expected
    assert None in expected


def test_unseen_values_are_warned_of(clinic):
    row = {**clinic.learned[0], "smoker": "sometimes", "age": 400}
    answer = clinic.post(PREDICT, [row]).json()
    assert any(
        "'smoker' has 1 value never seen in training: sometimes (row 1)" in line for line in answer["warnings"]
    )
    assert any("'age'" in line for line in answer["warnings"])
    as_csv = clinic.client.post(PREDICT, content=to_csv([row]), headers={"content-type": "text/csv"})
    assert json.loads(as_csv.headers["deciban-warnings"]) == answer["warnings"]


def test_bad_cells_may_count_as_missing(clinic):
    row = {**clinic.learned[0], "age": "old"}
    assert clinic.post(PREDICT, [row]).status_code == 422
    answer = clinic.client.post(PREDICT, json={"rows": [row]}, params={"bad-cells": "missing"}).json()
    assert "column 'age' has 1 that is not a number ('old' in row 1)" in answer["warnings"][0]
    missing = clinic.post(PREDICT, [{**row, "age": None}]).json()
    assert answer["predictions"] == missing["predictions"]


def test_explanations_are_those_of_the_command(clinic, capsysbinary):
    path = clinic.folder / "three.csv"
    path.write_bytes(to_csv(clinic.learned[:3]))
    printed = run_command(capsysbinary, "explain", clinic.path, path, "--json", "--work")
    response = clinic.client.post(
        EXPLAIN, params={"work": "true"}, content=path.read_bytes(),
        headers={"content-type": "text/csv", "accept": "application/json"},
    )  # fmt: skip
    assert response.json()["explanations"] == json.loads(printed)


def test_explanations_as_a_table_add_up(clinic):
    row = clinic.learned[0]
    as_json = clinic.post(EXPLAIN, [row]).json()["explanations"][0]
    as_csv = clinic.client.post(EXPLAIN, json={"rows": [row]}, headers={"accept": "text/csv"})
    entries = pyarrow.csv.read_csv(io.BytesIO(as_csv.content)).to_pylist()
    assert sum(entry["decibans"] for entry in entries) == pytest.approx(as_json["total"], abs=1e-5)


def test_a_model_describes_itself(clinic):
    (listed,) = clinic.client.get("/v1/models").json()["models"]
    shown = clinic.client.get("/v1/models/clinic").json()
    assert shown["classes"] == listed["classes"] == clinic.model.classes
    assert {column["name"]: column["role"] for column in shown["columns"]} == clinic.model.roles
    assert {each["class"]: each["prior"] for each in shown["priors"]} == pytest.approx(clinic.model.priors)
    assert shown["rows"] == clinic.model.origin.rows_read


def test_metrics_count_requests_and_rows(clinic):
    clinic.post(PREDICT, clinic.learned[:7])
    text = clinic.client.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines['deciban_requests_total{model="clinic",operation="predict",status="200"}']) >= 1
    assert float(lines['deciban_rows_total{model="clinic",operation="predict"}']) >= 7
    assert 'deciban_request_seconds_bucket{le="0.001",model="clinic",operation="predict"}' in lines


def test_the_page_of_the_operations_needs_nothing_from_elsewhere(clinic):
    page = clinic.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "/v1/models/{name}/predict" in page.text
    assert "src=" not in page.text
    assert page.text.count("http") == page.text.count("http://127.0.0.1")


def test_logs_are_json_without_values_of_cells(clinic):
    secret = "J3ssica"
    clinic.client.post(PREDICT, json={"rows": [{"age": secret}]}, params={"keep": secret})
    clinic.client.get(f"/v1/models/{secret}")
    end = time.monotonic() + 10
    while clinic.events[-1].get("status") != 404 and time.monotonic() < end:  # logged once the answer is sent
        time.sleep(0.01)
    last = clinic.events[-1]
    assert secret not in clinic.log_path.read_text()
    assert last["event"] == "request"
    assert last["status"] == 404
    assert {"time", "method", "operation", "model", "ms"} <= last.keys()


def test_rows_of_json_are_read_as_those_of_json_lines():
    rows = [{"n": "1.5", "flag": True, "kind": 3, "c": "x"}, {"n": 2, "flag": False, "kind": "3", "c": None}]
    table = CellRows.of(rows).table
    assert table.to_pylist() == [
        {"n": "1.5", "flag": True, "kind": "3", "c": "x"}, {"n": "2", "flag": False, "kind": "3", "c": None},
    ]  # fmt: skip


def test_a_request_whose_scores_fail_is_scored_as_a_table_and_does_not_wait():
    class Failing:
        def _score(self, *_):
            raise MemoryError

    snapshot = SimpleNamespace(is_light=True, reader=SimpleNamespace(read=lambda rows: rows), model=Failing())

    async def ask():
        return await asyncio.wait_for(RowBatches().score(snapshot, [np.zeros((1, 2))]), 10)

    assert asyncio.run(ask()) is None
    assert score_parts(snapshot, [[]]) == [None]  # no matrix, as of a model without columns


def test_single_rows_have_the_probabilities_that_tables_have():
    log_posterior = np.array([[0.0, -900.0], [0.0, -np.inf], np.log([0.25, 0.75])])
    answer = json.loads(format_predictions("m", SimpleNamespace(labels=["a", "b"]), log_posterior, True))
    assert [row["probability"] for row in answer["predictions"]] == [0.9999999999999999, 1.0, pytest.approx(0.75)]
    assert [row["p(a)"] for row in answer["predictions"]] == [0.9999999999999999, 1.0, pytest.approx(0.25)]
