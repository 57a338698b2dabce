"""The handlers of the service's own operations: models, predictions, explanations, learning, health and metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, BinaryIO, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

import deciban
from deciban.engines import thread_count
from deciban.errors import did_you_mean
from deciban.plain_json import to_plain
from deciban.server import operations
from deciban.server.gate import get_header, get_record
from deciban.server.metrics import Metrics
from deciban.server.operations import Answer
from deciban.server.problems import Problem
from deciban.server.query import EXPLAIN, PREDICT, READING, QueryOption, parse_query, select_reading
from deciban.server.request_bodies import Body
from deciban.server.row_batches import RowBatches
from deciban.server.served_model import ServedModel, Snapshot
from deciban.server.settings import Settings
from deciban.server.wire_formats import MEDIA_TYPES, BodyTable, choose_format, encode, parse_content_type, parse_rows

T = TypeVar("T")

INLINE_BYTES = 1 << 14
"""Bodies up to this size are answered without another thread, which takes longer than the work itself."""

ANSWER_CHUNK_BYTES = 1 << 18
"""Bytes of a long answer that are sent at a time."""

MAX_WARNING_BYTES = 4096
"""Bytes of the header with the warnings of an answer that is not JSON."""

FAST_OPTIONS = {"proba", "allow_missing_columns"}
"""The options of predictions that rows without anything unusual may have."""

EXPLAIN_FORMATS = ("json", "jsonl", "csv", "tsv", "arrow", "parquet")
"""The formats of tables in the order in which explanations prefer them."""


class Service:
    """The models of a worker, the threads that work for it, and what its handlers share."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.models = {name: ServedModel(name, path, settings.learning) for name, path in settings.models}
        self.batches = RowBatches()
        self._threads = ThreadPoolExecutor(max(2, thread_count(None)), "deciban-work")

    async def run(self, work: Callable[[], T]) -> T:
        """Run a function in another thread, with the context of the request."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, work)

    def find(self, request: Request) -> ServedModel:
        """Return the model that a request names, and note it in the record; a Problem (404) where there is none."""
        name = request.path_params["name"]
        found = self.models.get(name)
        if found is None:
            near = did_you_mean(name, self.models) or f". Hint: one of {', '.join(self.models)}"
            raise Problem(404, f"there is no model {name[:80]!r}{near}")
        get_record(request.scope).model = name
        return found

    async def refresh(self, served: ServedModel) -> Snapshot:
        """Return the snapshot of a model's present files, read in a thread if they have changed; count loads."""
        if served.is_current:
            return served.snapshot
        n_loads = served.n_loads
        snapshot = await self.run(served.refresh)
        if served.n_loads > n_loads:
            self.metrics.loads.labels(served.name).inc(served.n_loads - n_loads)
        return snapshot

    async def predict(self, request: Request) -> Response:
        """Predict rows."""
        served = self.find(request)
        form, options = _parse_request(request, PREDICT)
        wanted = choose_format(get_header(request, b"accept"), form, list(MEDIA_TYPES))
        async with Body(request, form, self.settings.limits) as body:
            snapshot = await self.refresh(served)
            if form == wanted == "json" and len(body.data) <= INLINE_BYTES and options.keys() <= FAST_OPTIONS:
                rows = parse_rows(body.data)
                log_posterior = await self.batches.score(snapshot, rows)
                if log_posterior is not None:
                    get_record(request.scope).rows = len(rows)
                    proba = options.get("proba", False)
                    answer = operations.format_predictions(served.name, snapshot, log_posterior, proba)
                    return JsonResponse(answer)
            table = BodyTable(form, select_reading(options), body.data, body.path)
            work = partial(operations.predict_table, served, snapshot, table, options, wanted, self.settings.limits)
            return self._respond(request, await self.run(work))

    async def explain(self, request: Request) -> Response:
        """Explain the predictions of rows."""
        served = self.find(request)
        form, options = _parse_request(request, EXPLAIN)
        wanted = choose_format(get_header(request, b"accept"), form, EXPLAIN_FORMATS)
        async with Body(request, form, self.settings.limits) as body:
            snapshot = await self.refresh(served)
            table = BodyTable(form, select_reading(options), body.data, body.path)
            work = partial(operations.explain_table, served, snapshot, table, options, wanted, self.settings.limits)
            return self._respond(request, await self.run(work))

    async def learn(self, request: Request) -> Response:
        """Learn rows."""
        return await self._update(request, "learn")

    async def forget(self, request: Request) -> Response:
        """Forget rows."""
        return await self._update(request, "forget")

    async def _update(self, request: Request, operation: str) -> Response:
        """Learn or forget ("learn", "forget") the rows of a request; a Problem (403) unless the server learns."""
        served = self.find(request)
        if not self.settings.learning:
            raise Problem(403, f"this server does not {operation}. Hint: deciban serve --learning")
        form, options = _parse_request(request, READING)
        choose_format(get_header(request, b"accept"), "json", ["json"])
        async with Body(request, form, self.settings.limits) as body:
            table = BodyTable(form, select_reading(options), body.data, body.path)
            work = partial(operations.update_model, served, operation, table, options, self.settings.limits)
            return self._respond(request, await self.run(work))

    def _respond(self, request: Request, answer: Answer) -> Response:
        """Return an answer as a response, in parts where it is long; note its rows for logs and metrics."""
        get_record(request.scope).rows = answer.rows
        headers = {} if answer.media_type == MEDIA_TYPES["json"] else _make_warning_headers(answer.warnings)
        size = answer.file.seek(0, 2)
        answer.file.seek(0)
        if size <= ANSWER_CHUNK_BYTES:
            with answer.file as file:
                return Response(file.read(), headers=headers, media_type=answer.media_type)
        return SpooledResponse(answer.file, size, headers, answer.media_type, self.settings.limits.seconds)

    async def list_models(self, request: Request) -> Response:
        """List the models."""
        parse_options(request)
        models = [summarise_model(served, await self.refresh(served)) for served in self.models.values()]
        return respond_json({"models": models})

    async def show_model(self, request: Request) -> Response:
        """Describe a model: the columns of its rows, its classes and its report."""
        served = self.find(request)
        parse_options(request)
        snapshot = await self.refresh(served)
        return respond_json(await self.run(partial(describe_served, served, snapshot)))

    async def show_health(self, request: Request) -> Response:
        """Say that the server answers."""
        parse_options(request)
        return respond_json({"status": "ok", "version": deciban.__version__})

    async def show_metrics(self, request: Request) -> Response:
        """Return metrics in Prometheus' text format."""
        parse_options(request)
        text, media_type = self.metrics.format()
        return Response(text, headers={"content-type": media_type})

    def close(self) -> None:
        """End the threads, and write what was learned into the model files."""
        self._threads.shutdown()
        self.write_models(at_once=True)

    def write_models(self, at_once: bool = False) -> None:
        """Write the model files whose journals are due, or `at_once` all that have entries."""
        for served in self.models.values():
            served.write_if_due(at_once)


def summarise_model(served: ServedModel, snapshot: Snapshot) -> dict[str, Any]:
    """Return what the list of models says of one."""
    model = snapshot.model
    return {
        "name": served.name, "target": model.target, "classes": snapshot.labels, "learner": model.learner,
        "rows": model.origin.rows_read, "learning": served.learning,
    }  # fmt: skip


def describe_served(served: ServedModel, snapshot: Snapshot) -> dict[str, Any]:
    """Return all that a client needs to know of a model: columns with their roles, classes, priors and report."""
    model = snapshot.model
    columns = [{"name": column.name, "role": column.role, "reason": column.reason} for column in model.columns]
    priors = [{"class": label, "prior": p} for label, p in zip(snapshot.labels, model.priors.values())]
    return {
        **summarise_model(served, snapshot), "created": model.origin.created, "columns": columns,
        "priors": to_plain(priors), "parameters": model.n_parameters,
        "report": None if model.quality is None else to_plain(dict(model.quality)),
    }  # fmt: skip


def _parse_request(request: Request, options: tuple[QueryOption, ...]) -> tuple[str, dict[str, Any]]:
    """Return the format of the body and the options of a request."""
    form, charset = parse_content_type(get_header(request, b"content-type"))
    values = parse_options(request, options)
    if charset is not None and form in ("csv", "tsv"):
        values.setdefault("encoding", charset)
    return form, values


def parse_options(request: Request, options: tuple[QueryOption, ...] = ()) -> dict[str, Any]:
    """Return the options in the query of a request; by default none are allowed."""
    return parse_query(options, request.query_params.multi_items()) if request.scope["query_string"] else {}


def respond_json(value: Mapping[str, Any]) -> Response:
    """Return a plain value as an answer in JSON."""
    return JsonResponse(encode(value))


def _make_warning_headers(warnings: list[str]) -> dict[str, str]:
    """Return the header with the warnings, as JSON in ASCII: as many as fit; no header where there are none."""
    while warnings and len(json.dumps(warnings)) > MAX_WARNING_BYTES:
        warnings = warnings[:-1]
    return {"deciban-warnings": json.dumps(warnings)} if warnings else {}


class JsonResponse(Response):
    """A short answer in JSON: the headers are written without starlette's loops over them."""

    def __init__(self, body: bytes) -> None:
        self.status_code, self.background, self.body = 200, None, body
        length = str(len(body)).encode()
        self.raw_headers = [(b"content-type", b"application/json"), (b"content-length", length)]


class SpooledResponse(Response):
    """A long answer, sent in parts from its file; a client that takes none in time is disconnected."""

    def __init__(
        self, file: BinaryIO, size: int, headers: Mapping[str, str], media_type: str, seconds: float
    ) -> None:
        super().__init__(headers={**headers, "content-length": str(size)}, media_type=media_type)
        self._file, self._seconds = file, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        with self._file as file:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            chunk = file.read(ANSWER_CHUNK_BYTES)
            while chunk:
                following = file.read(ANSWER_CHUNK_BYTES)
                async with asyncio.timeout(self._seconds):
                    await send({"type": "http.response.body", "body": chunk, "more_body": bool(following)})
                chunk = following
