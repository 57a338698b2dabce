"""The gate that every request passes: host, token, number of requests at a time, problems, metrics and logs."""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deciban.server.logs import log, log_failure
from deciban.server.metrics import Metrics
from deciban.server.problems import PROBLEM_TYPE, Problem, to_problem
from deciban.server.settings import Settings, is_loopback
from deciban.server.wire_formats import encode

OPEN_PATHS = frozenset({"/healthz", "/docs", "/openapi.json", "/v2/health/live", "/v2/health/ready"})
"""The paths that need no token: they say nothing of the models."""

CLIENT_GONE = 499
"""The status in logs and metrics of a request whose client left; nobody sees it."""


@dataclass
class RequestRecord:
    """The fields of a request that are logged and counted; handlers fill them in."""

    headers: Mapping[bytes, bytes]
    operation: str = "other"
    model: str = ""
    rows: int = 0
    status: int = 0
    error: str = ""


def get_record(scope: Scope) -> RequestRecord:
    """Return the record of a request."""
    found: RequestRecord = scope["deciban"]
    return found


def get_header(request: Request, name: bytes) -> str | None:
    """Return a header by its name in lower case; None where there is none."""
    found = get_record(request.scope).headers.get(name)
    return None if found is None else found.decode("latin-1")


def make_problem_response(problem: Problem, path: str) -> Response:
    """Return a problem as an answer; for the Open Inference Protocol with its member `error` too."""
    details = problem.to_dict()
    if path.startswith("/v2"):
        details["error"] = problem.detail
    return Response(encode(details), problem.status, problem.headers, PROBLEM_TYPE)


def check_host(host: str) -> None:
    """Refuse a Host that is not this machine: by its own name a web page could reach a server without a token."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    if not is_loopback(name):
        raise Problem(421, f"Host {host[:80]!r} is not this machine. Hint: 127.0.0.1, or a server with a token")


Handler = Callable[[Request], Awaitable[Response]]
"""A function that answers a request."""


class Gate:
    """An ASGI application around all routes.

    `direct` has handlers by their whole path, with the parameters in it: of predictions, for which the search among
    all routes and starlette's own handling of exceptions would take a third of the time.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        metrics: Metrics,
        direct: Mapping[str, tuple[Handler, Mapping[str, str]]],
    ) -> None:
        self.app, self.settings, self.metrics, self._direct = app, settings, metrics, direct
        self._expected = None if settings.token is None else f"Bearer {settings.token}".encode()
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        record = scope["deciban"] = RequestRecord(dict(scope["headers"]))
        start = time.perf_counter()
        self._in_progress += 1
        self.metrics.in_progress.set(self._in_progress)

        async def watch_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
            await send(message)

        try:
            self._check(scope)
            found = self._direct.get(scope["path"])
            if found is not None and scope["method"] == "POST":
                handler, scope["path_params"] = found
                response = await handler(Request(scope, receive))
                await response(scope, receive, watch_send)
            else:
                scope["app"] = self  # for which starlette raises an exception where there is no route
                await self.app(scope, receive, watch_send)
        except ClientDisconnect:
            record.status = CLIENT_GONE
        except HTTPException as error:  # there is no such path or method
            what = f"{scope['method']} {scope['path'][:200]} is not an operation of this server"
            problem = Problem(error.status_code, f"{what}. Hint: /docs lists them", error.headers)
            await make_problem_response(problem, scope["path"])(scope, receive, watch_send)
        except Exception as error:
            await self._answer_error(error, scope, receive, watch_send)
        finally:
            self._in_progress -= 1
            self.metrics.in_progress.set(self._in_progress)
            seconds = time.perf_counter() - start
            self.metrics.count(record.operation, record.model, record.status, seconds, record.rows)
            self._log(scope, record, seconds)

    async def _answer_error(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by a problem, and log an unexpected error; raise it if the answer has begun."""
        record, problem = get_record(scope), to_problem(error)
        record.error = type(error).__name__
        if problem.status == 500:
            key = uuid4().hex[:12]
            log_failure("failure", error, id=key)
            problem = Problem(500, f"{problem.detail} ({key})")
        if record.status:  # the answer has begun: closing the connection is all that is left
            raise error
        await make_problem_response(problem, scope["path"])(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """Refuse a request that may not be answered now, or not by us."""
        headers = get_record(scope).headers
        if self._expected is None:
            check_host(headers.get(b"host", b"").decode("latin-1"))
        elif scope["path"] not in OPEN_PATHS:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                raise Problem(
                    401, "a valid token is needed. Hint: the header Authorization: Bearer TOKEN",
                    {"www-authenticate": "Bearer"},
                )  # fmt: skip
        if self._in_progress > self.settings.limits.requests and scope["path"] not in OPEN_PATHS:
            raise Problem(
                503, f"{self.settings.limits.requests} requests are being answered, the limit of this server. "
                "Hint: try again soon", {"retry-after": "1", "connection": "close"},
            )  # fmt: skip

    @staticmethod
    def _log(scope: Scope, record: RequestRecord, seconds: float) -> None:
        fields = {"operation": record.operation, "model": record.model, "status": record.status}
        more = {name: value for name, value in (("rows", record.rows), ("error", record.error)) if value}
        log("request", method=scope["method"], **fields, **more, ms=round(seconds * 1000, 3))
