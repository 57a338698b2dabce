"""The ASGI application of the service, which can stand alone or be mounted in another."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, Router

import deciban
from deciban.errors import DecibanWarning
from deciban.server.docs_page import POLICY, make_page
from deciban.server.gate import Gate, Handler
from deciban.server.handlers import Service
from deciban.server.inference_protocol import InferenceProtocol
from deciban.server.logs import configure_logs, log_failure
from deciban.server.metrics import Metrics, remove_dead_workers
from deciban.server.openapi import OPERATIONS, make_document
from deciban.server.operations import show_warning
from deciban.server.settings import Settings
from deciban.server.wire_formats import encode

TICK_SECONDS = 0.25
"""The time between two looks at the journals and at the parent process."""


def create_app(settings: Settings, parent: int | None = None) -> Gate:
    """Return the application; its models are loaded. With `parent`, it stops when that process is gone.

    From now on, logs of the web server are structured, and warnings of deciban are collected for their requests.
    """
    configure_logs()
    warnings.simplefilter("always", DecibanWarning)
    warnings.showwarning = show_warning
    metrics = Metrics()
    remove_dead_workers()
    service = Service(settings, metrics)

    @asynccontextmanager
    async def run(app: Router) -> AsyncIterator[None]:
        gc.collect()
        gc.freeze()  # the models stay: later collections need not look at them
        ticks = asyncio.create_task(tick(service, parent))
        try:
            yield
        finally:
            ticks.cancel()
            with suppress(asyncio.CancelledError):
                await ticks
            await asyncio.to_thread(service.close)

    routes = make_routes(service)
    direct = find_direct_handlers(routes, service)
    return Gate(Router(routes, redirect_slashes=False, lifespan=run), settings, metrics, direct)


def find_direct_handlers(routes: list[Route], service: Service) -> dict[str, tuple[Handler, dict[str, str]]]:
    """Return the handlers of predictions, each with the parameters in its path, by their whole paths."""
    return {
        route.path.replace("{name}", name): (route.endpoint, {"name": name})
        for route in routes
        for name in service.models
        if route.path.endswith(("{name}/predict", "{name}/infer"))
    }


def make_routes(service: Service) -> list[Route]:
    """Return the routes of all operations, of the OpenAPI document and of its page."""
    protocol = InferenceProtocol(service)
    routes: list[Route] = []
    for operation in OPERATIONS:
        owner, _, name = operation.handler.rpartition(".")
        handler = record_operation(getattr(protocol if owner else service, name), name)
        routes.append(Route(operation.path, handler, methods=[operation.method]))
        if owner and "/models/{name}" in operation.path:  # the protocol also names a version
            versioned = operation.path.replace("/{name}", "/{name}/versions/{version}")
            routes.append(Route(versioned, handler, methods=[operation.method]))
    needs_token = service.settings.token is not None
    document = make_document(deciban.__version__, needs_token)
    encoded, page = encode(document), make_page(document, needs_token)

    async def show_document(request: Request) -> Response:
        return Response(encoded, media_type="application/json")

    async def show_page(request: Request) -> Response:
        return HTMLResponse(page, headers={"content-security-policy": POLICY})

    routes += [Route("/openapi.json", show_document), Route("/docs", show_page)]
    return routes


def record_operation(handler: Handler, name: str) -> Handler:
    """Return a handler that notes its name for metrics and logs."""

    async def handle(request: Request) -> Response:
        request.scope["deciban"].operation = name
        return await handler(request)

    return handle


async def tick(service: Service, parent: int | None) -> None:
    """Write the journals of quiet models into their files, and end this process when the parent is gone; for ever."""
    while True:
        await asyncio.sleep(TICK_SECONDS)
        if parent is not None and os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
        if service.settings.learning:
            try:
                await asyncio.to_thread(service.write_models)
            except Exception as error:
                log_failure("journal_not_written", error)
