"""The Open Inference Protocol, version 2, which KServe, Triton and MLServer speak: tensors in, tensors out.

A row's columns are inputs of the shape [n] or [n, 1], one for each; or all of them are one input of the shape [n, d],
in the order of the model's columns, as clients of scikit-learn models send them. Outputs are the class
(`prediction`), its `probability`, and the `probabilities` of all classes, [n, K]. Tensors are JSON; null is a missing
value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

import deciban
from deciban.command_hints import direct_role_hints_to_training
from deciban.errors import did_you_mean
from deciban.server.gate import get_header, get_record
from deciban.server.handlers import INLINE_BYTES, Service, parse_options, respond_json
from deciban.server.operations import collect_warnings
from deciban.server.problems import Problem
from deciban.server.request_bodies import Body
from deciban.server.served_model import ServedModel, Snapshot
from deciban.server.wire_formats import BODY_NAME, parse_json
from deciban.sources.cell_rows import CellRows

WHOLE_TYPES = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
CELL_TYPES: Mapping[str, tuple[type, ...]] = {
    "BOOL": (bool,), "BYTES": (str,), **dict.fromkeys(WHOLE_TYPES, (int,)),
    **dict.fromkeys(("FP16", "FP32", "FP64"), (int, float)),
}  # fmt: skip
"""The types of tensors, and those of their values in Python."""

OUTPUTS = ("prediction", "probability", "probabilities")
VERSION = "1"
"""The version of every model; the model file is the version."""

ROLE_TYPES = {"number": "FP64", "binned": "FP64", "count": "INT64"}
"""The types of inputs by role; all others are texts."""


class InferenceProtocol:
    """The handlers of the protocol."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def _find(self, request: Request) -> ServedModel:
        """Return the model that a request names; a Problem (404) where there is none, or not in this version."""
        served = self.service.find(request)
        if request.path_params.get("version", VERSION) != VERSION:
            raise Problem(404, f"the model {served.name!r} has one version, {VERSION!r}")
        return served

    async def show_server(self, request: Request) -> Response:
        """Describe the server."""
        parse_options(request)
        return respond_json({"name": "deciban", "version": deciban.__version__, "extensions": []})

    async def is_live(self, request: Request) -> Response:
        """Say that the server runs."""
        parse_options(request)
        return respond_json({"live": True})

    async def is_ready(self, request: Request) -> Response:
        """Say that all models are loaded."""
        parse_options(request)
        return respond_json({"ready": True})

    async def is_model_ready(self, request: Request) -> Response:
        """Say that a model is loaded."""
        served = self._find(request)
        parse_options(request)
        return respond_json({"name": served.name, "ready": True})

    async def show_model(self, request: Request) -> Response:
        """Describe the inputs and outputs of a model."""
        served = self._find(request)
        parse_options(request)
        snapshot = await self.service.refresh(served)
        columns = [column for column in snapshot.model.columns if column.role != "skip"]
        inputs = [{"name": c.name, "datatype": ROLE_TYPES.get(c.role, "BYTES"), "shape": [-1]} for c in columns]
        outputs = [
            {"name": "prediction", "datatype": choose_label_type(snapshot.labels), "shape": [-1]},
            {"name": "probability", "datatype": "FP64", "shape": [-1]},
            {"name": "probabilities", "datatype": "FP64", "shape": [-1, len(snapshot.labels)]},
        ]
        head = {"name": served.name, "versions": [VERSION], "platform": "deciban"}
        return respond_json({**head, "inputs": inputs, "outputs": outputs})

    async def infer(self, request: Request) -> Response:
        """Predict the rows of tensors."""
        served, limits = self._find(request), self.service.settings.limits
        parse_options(request)
        if (get_header(request, b"content-type") or "").partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, "tensors are sent as JSON. Hint: Content-Type: application/json, no binary data")
        async with Body(request, "json", limits) as body:
            snapshot = await self.service.refresh(served)
            asked = parse_json(body.data)
            rows = parse_inputs(asked, snapshot)
            wanted = parse_outputs(asked)
            is_short = len(body.data) <= INLINE_BYTES
            log_posterior = await self.service.batches.score(snapshot, rows) if is_short else None
            if log_posterior is None:
                log_posterior = await self.service.run(partial(score_table, snapshot, rows))
        get_record(request.scope).rows = len(rows)
        answer: dict[str, Any] = {"model_name": served.name, "model_version": VERSION}
        if asked.get("id"):
            answer["id"] = asked["id"]
        tensors = make_tensors(snapshot, np.exp(log_posterior))
        return respond_json({**answer, "outputs": [tensors[name] for name in wanted]})


def score_table(snapshot: Snapshot, rows: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Return ln p(k|x) of rows, read as a table, n×K; warnings are dropped, as the protocol has no place for them."""
    model = snapshot.model
    with collect_warnings(), direct_role_hints_to_training():
        blocks = model._read_blocks(CellRows.of(rows, BODY_NAME))
        return np.concatenate([model._score(parts, "log_posterior") for _, parts in blocks])


def parse_inputs(asked: Any, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the rows of a request's inputs; refuse malformed ones, and inputs of different lengths."""
    if not isinstance(asked, dict) or not isinstance(asked.get("inputs"), list) or not asked["inputs"]:
        raise Problem(400, 'the JSON is not an object with a list "inputs" of at least one tensor')
    if asked.get("id") is not None and not isinstance(asked["id"], str):
        raise Problem(400, '"id" is not a text')
    tensors = [_parse_tensor(each) for each in asked["inputs"]]
    if len(tensors) == 1 and len(tensors[0][1]) == 2 and tensors[0][1][1] > 1:
        return _split_matrix(*tensors[0], snapshot)
    lengths = {shape[0] for _, shape, _ in tensors}
    if any(len(shape) > 2 or shape[1:] not in ([], [1]) for _, shape, _ in tensors) or len(lengths) > 1:
        raise Problem(400, "inputs are columns of one length, of the shape [n] or [n, 1]; or one matrix [n, d]")
    names = [name for name, _, _ in tensors]
    if len(set(names)) < len(names):
        raise Problem(400, "two inputs have the same name")
    return [dict(zip(names, cells)) for cells in zip(*(values for _, _, values in tensors))]


def _split_matrix(name: str, shape: list[int], values: list[Any], snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the rows of one matrix, whose columns are those of the model, in its order."""
    columns = [column.name for column in snapshot.model.columns if column.role != "skip"]
    if shape[1] != len(columns):
        raise Problem(422, f"input {name!r} has {shape[1]} columns, and the model {len(columns)}")
    return [dict(zip(columns, values[i : i + shape[1]])) for i in range(0, len(values), shape[1])]


def _parse_tensor(tensor: Any) -> tuple[str, list[int], list[Any]]:
    """Return the name, the shape and the flat values of a tensor."""
    if not isinstance(tensor, dict) or not isinstance(tensor.get("name"), str) or not tensor["name"]:
        raise Problem(400, 'an input is not an object with a text "name"')
    name, shape, kind, data = tensor["name"], tensor.get("shape"), tensor.get("datatype"), tensor.get("data")
    if not isinstance(shape, list) or not shape or not all(type(n) is int and n > 0 for n in shape):
        raise Problem(400, f'input {name!r} has no "shape", a list of whole numbers above 0')
    if not isinstance(kind, str) or kind not in CELL_TYPES:
        near = did_you_mean(kind, CELL_TYPES) if isinstance(kind, str) else ""
        raise Problem(400, f'input {name!r} has no "datatype"{near or "."} Hint: one of {", ".join(CELL_TYPES)}')
    if not isinstance(data, list):
        raise Problem(400, f'input {name!r} has no list "data". Hint: binary tensors are not read')
    values = _flatten(data)
    if len(values) != prod(shape):
        raise Problem(400, f"input {name!r} has {len(values)} values, and the shape {shape} needs {prod(shape)}")
    allowed = (*CELL_TYPES[kind], type(None))
    for value in values:
        if type(value) not in allowed:
            raise Problem(400, f"input {name!r} has the datatype {kind}, and a value of another type")
    return name, shape, values


def _flatten(data: list[Any]) -> list[Any]:
    """Return the values of nested lists in row-major order."""
    while data and isinstance(data[0], list):
        if not all(isinstance(part, list) for part in data):
            raise Problem(400, "a tensor is nested unevenly")
        data = [value for part in data for value in part]
    return data


def parse_outputs(asked: Mapping[str, Any]) -> list[str]:
    """Return the names of the outputs that a request asks for; all by default."""
    outputs = asked.get("outputs")
    if outputs is None or outputs == []:
        return list(OUTPUTS)
    if not isinstance(outputs, list) or not all(isinstance(each, dict) for each in outputs):
        raise Problem(400, '"outputs" is not a list of objects')
    for each in outputs:
        if each.get("name") not in OUTPUTS:
            raise Problem(400, f"there is no output of that name. Hint: one of {', '.join(OUTPUTS)}")
    return [each["name"] for each in outputs]


def make_tensors(snapshot: Snapshot, posterior: NDArray[np.float64]) -> dict[str, dict[str, Any]]:
    """Return the outputs by name."""
    n, K = posterior.shape
    codes, labels = posterior.argmax(axis=1), snapshot.labels
    chosen = [labels[k] for k in codes.tolist()]
    top = posterior[np.arange(n), codes].tolist()
    return {
        "prediction": {"name": "prediction", "datatype": choose_label_type(labels), "shape": [n], "data": chosen},
        "probability": {"name": "probability", "datatype": "FP64", "shape": [n], "data": top},
        "probabilities": {
            "name": "probabilities", "datatype": "FP64", "shape": [n, K], "data": posterior.reshape(-1).tolist(),
        },
    }  # fmt: skip


def choose_label_type(labels: Sequence[Any]) -> str:
    """Return the datatype of a tensor of labels: BYTES unless all of them are of one type that is not text."""
    kinds = set(map(type, labels))
    return {bool: "BOOL", int: "INT64", float: "FP64"}.get(kinds.pop(), "BYTES") if len(kinds) == 1 else "BYTES"
