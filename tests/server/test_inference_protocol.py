"""The Open Inference Protocol, by requests as KServe's specification and MLServer's clients write them."""

import numpy as np
import pytest

import deciban
from deciban.server.inference_protocol import choose_label_type, parse_inputs
from deciban.server.journal import JournalState
from deciban.server.problems import Problem
from deciban.server.served_model import Snapshot
from tests.server.test_hostile import assert_problem

INFER = "/v2/models/clinic/infer"
TYPES = {"age": "FP64", "dose": "FP64", "visits": "INT64"}


def make_inputs(rows, shape=None):
    columns = [name for name in rows[0] if name not in ("patient", "diagnosis", "ward")]
    return [
        {"name": name, "datatype": TYPES.get(name, "BYTES"), "shape": shape or [len(rows)],
         "data": [row[name] for row in rows]}
        for name in columns
    ]  # fmt: skip


def test_servers_and_models_are_described(clinic):
    assert clinic.client.get("/v2/health/live").json() == {"live": True}
    assert clinic.client.get("/v2/health/ready").json() == {"ready": True}
    server = clinic.client.get("/v2").json()
    assert server == {"name": "deciban", "version": deciban.__version__, "extensions": []}
    assert clinic.client.get("/v2/models/clinic/ready").json() == {"name": "clinic", "ready": True}
    model = clinic.client.get("/v2/models/clinic").json()
    assert model["platform"] == "deciban"
    assert {"name": "age", "datatype": "FP64", "shape": [-1]} in model["inputs"]
    assert "patient" not in [each["name"] for each in model["inputs"]]
    assert model["outputs"][2] == {"name": "probabilities", "datatype": "FP64", "shape": [-1, 2]}
    assert clinic.client.get("/v2/models/clinic/versions/1").json() == model
    assert "error" in clinic.client.get("/v2/models/nobody").json()


def test_inference_gives_the_posterior_of_the_predictions(clinic):
    rows = clinic.learned[:25]
    answer = clinic.client.post(INFER, json={"id": "42", "inputs": make_inputs(rows)}).json()
    assert answer["id"] == "42"
    assert answer["model_name"] == "clinic"
    prediction, probability, probabilities = answer["outputs"]
    expected = clinic.client.post("/v1/models/clinic/predict?proba=true", json={"rows": rows}).json()["predictions"]
    assert prediction == {
        "name": "prediction", "datatype": "BYTES", "shape": [25], "data": [row["prediction"] for row in expected],
    }  # fmt: skip
    np.testing.assert_allclose(probability["data"], [row["probability"] for row in expected], rtol=1e-12)
    assert probabilities["shape"] == [25, 2]
    posterior = [[row["p(ill)"], row["p(well)"]] for row in expected]
    np.testing.assert_allclose(np.reshape(probabilities["data"], (25, 2)), posterior, rtol=1e-12)


def test_columns_may_be_matrices_of_one_column_and_outputs_be_chosen(clinic):
    rows = clinic.learned[:3]
    inputs = make_inputs(rows, [3, 1])
    for each in inputs:
        each["data"] = [[cell] for cell in each["data"]]
    asked = {"inputs": inputs, "outputs": [{"name": "probability"}], "parameters": {}}
    for path in (INFER, INFER.replace("clinic/", "clinic/versions/1/")):
        (output,) = clinic.client.post(path, json=asked).json()["outputs"]
        assert output["name"] == "probability"
        assert output["shape"] == [3]


BROKEN = [
    ({}, 400), ({"inputs": []}, 400), ({"inputs": [3]}, 400), ({"inputs": [{"name": "age"}]}, 400),
    ({"inputs": [{"name": "age", "shape": [2], "datatype": "FP64", "data": [1]}]}, 400),
    ({"inputs": [{"name": "age", "shape": [0], "datatype": "FP64", "data": []}]}, 400),
    ({"inputs": [{"name": "age", "shape": [1], "datatype": "FP65", "data": [1]}]}, 400),
    ({"inputs": [{"name": "age", "shape": [1], "datatype": "INT8", "data": ["1"]}]}, 400),
    ({"inputs": [{"name": "age", "shape": [1], "datatype": "BOOL", "data": [1]}]}, 400),
    ({"inputs": [{"name": "age", "shape": [2, 1], "datatype": "FP64", "data": [[1], 2]}]}, 400),
    ({"inputs": [{"name": "age", "shape": [1], "datatype": "FP64", "data": [1]}]}, 422),
    ({"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP64", "data": [1, 2, 3]}]}, 422),
    ({"inputs": [{"name": "x", "shape": [1], "datatype": "FP64", "data": [1]}] * 2}, 400),
    ({"id": 3, "inputs": [{"name": "x", "shape": [1], "datatype": "FP64", "data": [1]}]}, 400),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "status"), BROKEN, ids=range(len(BROKEN)))
def test_malformed_tensors_are_problems_with_the_protocols_own_member(clinic, asked, status):
    response = clinic.client.post(INFER, json=asked)
    assert response.json()["error"] == assert_problem(response, status)


def test_binary_tensors_and_other_versions_are_refused(clinic):
    binary = {"content-type": "application/octet-stream", "inference-header-content-length": "10"}
    assert_problem(clinic.client.post(INFER, content=b"x" * 20, headers=binary), 415, "tensors are sent as JSON")
    asked = {"inputs": make_inputs(clinic.learned[:1])}
    assert_problem(clinic.client.post("/v2/models/clinic/versions/7/infer", json=asked), 404, "one version")
    for path in ("", "/ready"):
        assert_problem(clinic.client.get(f"/v2/models/clinic/versions/7{path}"), 404, "one version")


def test_one_matrix_has_the_columns_of_the_model_in_order():
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=60), "b": rng.normal(size=60), "c": [0, 1] * 30}
    model = deciban.train(table, target="c", judge=False, numbers="number")
    snapshot = Snapshot(model, (), "", JournalState())
    matrix = {"name": "input-0", "shape": [2, 2], "datatype": "FP32", "data": [1, 2, 3, 4]}
    assert parse_inputs({"inputs": [matrix]}, snapshot) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    assert choose_label_type(snapshot.labels) == "INT64"
    with pytest.raises(Problem, match="has 3 columns, and the model 2"):
        parse_inputs({"inputs": [{**matrix, "shape": [1, 3], "data": [1, 2, 3]}]}, snapshot)
