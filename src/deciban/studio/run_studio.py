"""Running the studio: a socket of this machine, a temporary folder, and a browser."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from deciban.server.logs import configure_logs
from deciban.server.run_server import format_address, ignore_signals, listen
from deciban.server.settings import Settings
from deciban.studio.access import Access
from deciban.studio.application import create_studio
from deciban.studio.opening import open_file
from deciban.studio.settings import StudioSettings
from deciban.studio.workspace import Workspace

STUDIO_SHUTDOWN_SECONDS = 2
"""The time that requests get to finish at the end."""


def run_studio(
    opened: str | None,
    examples: Path,
    announce: Callable[[str, bool], None],
    *,
    port: int,
    browser: bool,
    **more: Any,
) -> None:
    """Serve the studio until Ctrl-C; `announce` is called with each address that opens it, and if it is the first.

    `opened` is a table or a model file; `more` are further settings (`StudioSettings`).
    """
    configure_logs()
    with ignore_signals(), listen(Settings((), port=port)) as listener, tempfile.TemporaryDirectory(
        prefix="deciban-studio-"
    ) as folder:  # fmt: skip
        address = format_address(listener)
        settings = StudioSettings(
            Path(folder), examples, listener.getsockname()[1],
            report_address=lambda path: announce(address + path, False), **more,
        )  # fmt: skip
        workspace, access = Workspace(settings), Access(settings.port)
        if opened is not None:
            open_file(workspace, opened)
        app = create_studio(workspace, access)
        announce(address + access.path, True)
        if browser:
            webbrowser.open(address + access.path)
        config = uvicorn.Config(
            app, lifespan="off", ws="none", log_config=None, access_log=False, server_header=False,
            proxy_headers=False, timeout_graceful_shutdown=STUDIO_SHUTDOWN_SECONDS,
        )  # fmt: skip
        uvicorn.Server(config).run([listener])
