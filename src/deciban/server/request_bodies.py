"""Bodies of requests, received within limits of bytes and time: long ones are in a temporary file."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from starlette.requests import Request

from deciban.server.problems import Problem
from deciban.server.settings import Limits

MEMORY_BYTES = 1 << 20
"""Bytes of a body that are kept in memory."""

CLOSE = {"connection": "close"}
"""The header of answers to requests whose bodies are not read to their end."""


def _too_long(limit: int, hint: str) -> Problem:
    return Problem(413, f"the body is longer than {limit} bytes, the limit of this server. Hint: {hint}", CLOSE)


@asynccontextmanager
async def receive_body(request: Request, form: str, limits: Limits) -> AsyncIterator[tuple[bytes, str | None]]:
    """Yield the bytes of a body; those of a long one are empty, and in the file that is named beside them."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem(415, "a body with a Content-Encoding is not read. Hint: send it uncompressed", CLOSE)
    is_json = form == "json"
    limit = min(limits.json_bytes, limits.body_bytes) if is_json else limits.body_bytes
    hint = "JSON lines, CSV or Arrow may be longer" if is_json and limit < limits.body_bytes else "send it in parts"
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise _too_long(limit, hint)
    data, size, file, path = bytearray(), 0, None, None
    with tempfile.TemporaryDirectory(prefix="deciban-") if _is_long(length, is_json) else nullcontext() as folder:
        try:
            async with asyncio.timeout(limits.seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > limit:
                        raise _too_long(limit, hint)
                    data += chunk
                    if len(data) > MEMORY_BYTES and folder is not None:
                        if file is None:
                            path = os.path.join(folder, "body")
                            file = open(path, "wb")  # noqa: SIM115
                        file.write(data)
                        data.clear()
            if file is not None:
                file.write(data)
                data.clear()
        except TimeoutError:
            raise Problem(
                408, f"the body did not come within {limits.seconds:g} seconds. Hint: send it in parts", CLOSE
            ) from None
        finally:
            if file is not None:
                file.close()
        yield bytes(data), path


def _is_long(length: str, is_json: bool) -> bool:
    """Return whether a body may be too long for memory; one of unknown length may be."""
    return not is_json and (not length.isdigit() or int(length) > MEMORY_BYTES)
