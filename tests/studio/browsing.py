"""A studio in a process of its own, and Debian's Chromium that opens it, driven by Playwright."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def find_missing() -> str:
    """Return why no browser can be driven; empty where one can."""
    if CHROMIUM is None:
        return "chromium is not installed"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return ""


@contextmanager
def start_studio(*words: str, cwd: Any = None) -> Iterator[str]:
    """Run `deciban studio`, and yield the address that it prints."""
    command = [sys.executable, "-m", "deciban", "studio", "--no-browser", *words]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = re.search(r"http://\S+token=[\w-]+", line)
            assert found, line + process.stderr.read()
            yield found[0]
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def open_browser() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def serve_studio(workspace: Any, access: Any) -> Iterator[str]:
    """Serve a studio by a thread of this process, and yield its address without a token."""
    import threading

    import uvicorn

    from deciban.server.run_server import format_address, listen
    from deciban.server.settings import Settings
    from deciban.studio.application import create_studio

    with listen(Settings((), port=0)) as listener:
        config = uvicorn.Config(create_studio(workspace, access), lifespan="off", ws="none", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield format_address(listener)
        finally:
            server.should_exit = True
            thread.join(10)
