"""The operations of the service, declared once, for the routes, the OpenAPI document and the page at /docs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deciban.server.inference_protocol import CELL_TYPES, OUTPUTS
from deciban.server.problems import PROBLEM_TYPE
from deciban.server.query import EXPLAIN, PREDICT, READING, QueryOption
from deciban.server.wire_formats import MEDIA_TYPES

Schema = Mapping[str, Any]


def _object(properties: Mapping[str, Any], required: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """Return the JSON schema of an object; all properties are required, unless `required` says which."""
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": dict(properties), "required": names, **more}


def _list_of(items: Schema, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


TEXT, NUMBER, WHOLE, FLAG = ({"type": kind} for kind in ("string", "number", "integer", "boolean"))
LABEL = {"type": ["string", "number", "boolean", "null"]}
ANY: dict[str, Any] = {}
"""The schema of bytes that are not JSON: tables have rules that a schema does not know."""

WARNINGS = _list_of(TEXT)
ROWS = _object(
    {"rows": _list_of({"type": "object", "minProperties": 1, "additionalProperties": LABEL}, minItems=1)},
    additionalProperties=False,
)
PREDICTIONS = _object(
    {
        "model": TEXT,
        "predictions": _list_of(_object({"prediction": LABEL, "probability": {"type": ["number", "null"]}})),
        "warnings": WARNINGS,
    }
)
EXPLANATIONS = _object({"model": TEXT, "explanations": _list_of({"type": "object"}), "warnings": WARNINGS})
MODEL = _object(
    {"name": TEXT, "target": TEXT, "classes": _list_of(LABEL), "learner": TEXT, "rows": WHOLE, "learning": FLAG}
)
MODEL_DETAILS = _object(
    {
        **MODEL["properties"], "created": TEXT,
        "columns": _list_of(_object({"name": TEXT, "role": TEXT, "reason": TEXT})),
        "priors": _list_of(_object({"class": LABEL, "prior": NUMBER})), "parameters": WHOLE,
        "report": {"type": ["object", "null"]},
    }
)  # fmt: skip
SHAPE = _list_of({"type": "integer", "minimum": 1}, minItems=1)
TENSOR = _object(
    {"name": {"type": "string", "minLength": 1}, "shape": SHAPE, "datatype": {"enum": list(CELL_TYPES)},
     "data": {"type": "array"}, "parameters": {"type": "object"}},
    ["name", "shape", "datatype", "data"],
)  # fmt: skip
TENSORS = _object(
    {"id": TEXT, "inputs": _list_of(TENSOR, minItems=1), "parameters": {"type": "object"},
     "outputs": _list_of(_object({"name": {"enum": list(OUTPUTS)}, "parameters": {"type": "object"}}, ["name"]))},
    ["inputs"],
)  # fmt: skip
OUTPUT_TENSORS = _object(
    {"model_name": TEXT, "model_version": TEXT, "id": TEXT, "outputs": _list_of(TENSOR)},
    ["model_name", "model_version", "outputs"],
)
TENSOR_MODEL = _object(
    {"name": TEXT, "versions": _list_of(TEXT), "platform": TEXT, "inputs": _list_of({"type": "object"}),
     "outputs": _list_of({"type": "object"})}
)  # fmt: skip
PROBLEM = _object(
    {"type": TEXT, "title": TEXT, "status": WHOLE, "detail": TEXT, "error": TEXT},
    ["type", "title", "status", "detail"],
)

TABLES: Mapping[str, Schema] = {kind: ROWS if form == "json" else ANY for form, kind in MEDIA_TYPES.items()}
"""The media types of bodies that are tables."""

PROBLEMS = {
    400: "The request is malformed.", 401: "The token is missing or wrong.", 403: "The server does not learn.",
    404: "There is no such model.", 405: "The method is not allowed.", 406: "No format that Accept allows.",
    408: "The body did not come in time.", 409: "The model cannot make this update.", 413: "Too many bytes or rows.",
    415: "The Content-Type is not read.", 421: "The Host is not this machine.", 422: "The data break a rule.",
    500: "An internal error.", 503: "Too many requests at a time, or too long a work.", 507: "Not enough memory.",
}  # fmt: skip
EVERYWHERE = (400, 401, 421, 500, 503)
WITH_MODEL = (*EVERYWHERE, 404)
WITH_BODY = (*WITH_MODEL, 406, 408, 413, 415, 422, 507)


@dataclass(frozen=True)
class Operation:
    """An operation: its method and path, its handler's name, what it takes, and what it answers."""

    method: str
    path: str
    handler: str
    summary: str
    answer: Mapping[str, Schema]
    options: tuple[QueryOption, ...] = ()
    body: Mapping[str, Schema] = field(default_factory=dict)
    problems: tuple[int, ...] = EVERYWHERE
    needs_token: bool = True

    @property
    def tag(self) -> str:
        """The group that the operation belongs to."""
        return "inference" if self.path.startswith("/v2") else "models" if self.path.startswith("/v1") else "server"


def _json(schema: Schema) -> dict[str, Schema]:
    return {"application/json": schema}


UPDATE = _object(
    {"model": TEXT, "learned": WHOLE, "forgotten": WHOLE, "rows": WHOLE, "warnings": WARNINGS},
    ["model", "rows", "warnings"],
)
PREDICTED = {kind: PREDICTIONS if form == "json" else ANY for form, kind in MEDIA_TYPES.items()}
EXPLAINED = {kind: EXPLANATIONS if form == "json" else ANY for form, kind in MEDIA_TYPES.items()}
OPERATIONS = (
    Operation("POST", "/v1/models/{name}/predict", "predict", "Predict rows", PREDICTED, PREDICT, TABLES,
              (*WITH_BODY, 409)),
    Operation("POST", "/v2/models/{name}/infer", "protocol.infer", "Predict tensors", _json(OUTPUT_TENSORS),
              body=_json(TENSORS), problems=(*WITH_BODY, 409)),
    Operation("POST", "/v1/models/{name}/explain", "explain", "Explain predictions, in decibans", EXPLAINED,
              EXPLAIN, TABLES, (*WITH_BODY, 409)),
    Operation("POST", "/v1/models/{name}/learn", "learn", "Learn rows (deciban serve --learning)", _json(UPDATE),
              READING, TABLES, (*WITH_BODY, 403, 409)),
    Operation("POST", "/v1/models/{name}/forget", "forget", "Forget rows (deciban serve --learning)", _json(UPDATE),
              READING, TABLES, (*WITH_BODY, 403, 409)),
    Operation("GET", "/v1/models", "list_models", "List the models", _json(_object({"models": _list_of(MODEL)}))),
    Operation("GET", "/v1/models/{name}", "show_model", "Describe a model: columns, classes, report",
              _json(MODEL_DETAILS), problems=WITH_MODEL),
    Operation("GET", "/healthz", "show_health", "Whether the server answers",
              _json(_object({"status": TEXT, "version": TEXT})), needs_token=False),
    Operation("GET", "/metrics", "show_metrics", "Metrics for Prometheus", {"text/plain": TEXT}),
    Operation("GET", "/v2", "protocol.show_server", "Describe the server",
              _json(_object({"name": TEXT, "version": TEXT, "extensions": _list_of(TEXT)}))),
    Operation("GET", "/v2/health/live", "protocol.is_live", "Whether the server runs",
              _json(_object({"live": FLAG})), needs_token=False),
    Operation("GET", "/v2/health/ready", "protocol.is_ready", "Whether all models are loaded",
              _json(_object({"ready": FLAG})), needs_token=False),
    Operation("GET", "/v2/models/{name}", "protocol.show_model", "Describe a model's tensors", _json(TENSOR_MODEL),
              problems=WITH_MODEL),
    Operation("GET", "/v2/models/{name}/ready", "protocol.is_model_ready", "Whether a model is loaded",
              _json(_object({"name": TEXT, "ready": FLAG})), problems=WITH_MODEL),
)  # fmt: skip
"""All operations; those that are called most come first."""


def make_document(version: str, needs_token: bool) -> dict[str, Any]:
    """Return the OpenAPI document of a server, which may need a token."""
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, needs_token)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deciban", "version": version,
            "description": "Predictions, explanations and exact updates of deciban models. Options in the query are "
            "those of the command line. Errors are problem details (RFC 9457).",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _describe(operation: Operation, needs_token: bool) -> dict[str, Any]:
    problem = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    found: dict[str, Any] = {
        "operationId": f"{operation.tag}.{operation.handler.rpartition('.')[2]}",
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": {
            "200": {"description": "The answer.", "content": _content(operation.answer)},
            **{str(n): {"description": PROBLEMS[n], "content": problem} for n in sorted(operation.problems)},
        },
        "security": [{"token": []}] if needs_token and operation.needs_token else [],
    }
    parameters = [_describe_option(option) for option in operation.options]
    if "{name}" in operation.path:
        parameters.insert(0, {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    if parameters:
        found["parameters"] = parameters
    if operation.body:
        found["requestBody"] = {"required": True, "content": _content(operation.body)}
    return found


def _content(schemas: Mapping[str, Schema]) -> dict[str, Any]:
    return {kind: {"schema": schema} for kind, schema in schemas.items()}


def _describe_option(option: QueryOption) -> dict[str, Any]:
    found = {"name": option.name, "in": "query", "description": option.help, "schema": dict(option.schema)}
    return found | ({"style": "form", "explode": True} if option.is_list else {})
