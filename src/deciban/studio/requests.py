"""Functions that handlers of pages share: the workspace, forms, JSON, and work in a thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse

from deciban.server.problems import Problem
from deciban.studio.workspace import Workspace

P = ParamSpec("P")
R = TypeVar("R")

MAX_FORM_BYTES = 1 << 22
"""Bytes of the longest form or JSON document."""

MAX_NUMBER_DIGITS = 15
"""Digits of the largest whole number in a form or an address."""


def get_workspace(request: Request) -> Workspace:
    """Return the workspace of the studio."""
    found: Workspace = request.scope["studio"]
    return found


async def _read_body(request: Request) -> bytes:
    """Return the body of a request; refuse one that is longer than `MAX_FORM_BYTES`."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise Problem(413, f"the form is longer than {MAX_FORM_BYTES} bytes", {"connection": "close"})
    return bytes(body)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form as texts; of several of one name, the last."""
    body = await _read_body(request)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=10_000))
    except ValueError:
        raise Problem(400, "the form cannot be read") from None


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object that a script has sent."""
    try:
        found = json.loads(await _read_body(request))
    except ValueError:
        raise Problem(400, "the request has no valid JSON") from None
    if not isinstance(found, dict):
        raise Problem(400, "the request has no JSON object")
    return found


def parse_whole_number(text: str) -> int | None:
    """Return a whole number ≥ 0 of at most `MAX_NUMBER_DIGITS` digits; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS else None


async def run(workspace: Workspace, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function in a thread that holds the workspace's lock, and return its result."""

    def call() -> R:
        with workspace.lock:
            return function(*args, **kwargs)

    return await asyncio.to_thread(call)


def redirect(path: str) -> RedirectResponse:
    """Return the answer to a form after which the browser goes to another page."""
    return RedirectResponse(path, 303)
