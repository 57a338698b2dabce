"""Running the service: a listening socket, one process or several workers, and connections with time limits."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from asyncio import TimerHandle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from deciban.errors import InputError
from deciban.server.application import create_app
from deciban.server.metrics import FOLDER_VARIABLE
from deciban.server.served_model import ServedModel
from deciban.server.settings import Settings

HEAD_SECONDS = 10.0
"""Time for a client to send the first line and the headers of a request, from when it connects or begins."""

KEEP_ALIVE_SECONDS = 15
"""Time that a connection without a request is kept."""

CONNECTIONS_PER_REQUEST = 16
"""Connections that may be open, as a multiple of the requests that are answered at a time."""

BACKLOG = 1024


class TimedProtocol(HttpToolsProtocol):
    """A connection that is closed if the headers of a request do not come in time."""

    _timer: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the time of the first request."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Start the time of a later request with its first byte."""
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._start_timer()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """End the time: limits of bodies are the application's."""
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the time with the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


def listen(settings: Settings) -> socket.socket:
    """Return a socket that listens at the address of the settings; port 0 is any free one. InputError if it fails."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host.strip("[]"), settings.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen at {settings.host}:{settings.port}: {error.strerror or error}. "
            f"Hint: --port 0 takes any port that is free"
        ) from None
    listener.set_inheritable(True)
    return listener


def run_server(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; then finish the requests that have begun, and write what was learned.

    `announce` is called with the address once the models are loaded and clients can connect.
    """
    options: dict[str, Any] = {
        "http": TimedProtocol, "ws": "none", "lifespan": "on", "log_config": None, "access_log": False,
        "server_header": False, "proxy_headers": False, "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": int(settings.limits.seconds) + 1, "backlog": BACKLOG,
        "limit_concurrency": settings.limits.requests * CONNECTIONS_PER_REQUEST,
    }  # fmt: skip
    with ignore_signals():
        if settings.workers == 1:
            app = create_app(settings)
            with listen(settings) as listener:
                announce(format_address(listener))
                uvicorn.Server(uvicorn.Config(app, **options)).run([listener])
            return
        for name, path in settings.models:  # a model that cannot be loaded is an error here, not in each worker
            ServedModel(name, path, settings.learning)
        with listen(settings) as listener, tempfile.TemporaryDirectory(prefix="deciban-metrics-") as folder:
            os.environ[FOLDER_VARIABLE] = folder
            factory = partial(create_app, settings, os.getpid())
            config = uvicorn.Config(factory, factory=True, workers=settings.workers, **options)
            announce(format_address(listener))
            Multiprocess(config, [listener]).run()


@contextmanager
def ignore_signals() -> Iterator[None]:
    """Ignore the signals that uvicorn raises again after it has handled them."""
    former = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def format_address(listener: socket.socket) -> str:
    """Return the address of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
