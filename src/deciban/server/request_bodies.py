"""Bodies of requests, received within limits of bytes and time: long ones are in a temporary file."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import ExitStack
from typing import BinaryIO, Self

from starlette.requests import ClientDisconnect, Request

from deciban.server.gate import get_record
from deciban.server.problems import Problem
from deciban.server.settings import Limits

MEMORY_BYTES = 1 << 20
"""Bytes of a body that are kept in memory."""

CLOSE = {"connection": "close"}
"""The header of answers to requests whose bodies are not read to their end."""


class Body:
    """A body received within limits, or else a Problem: its bytes, or a file for the block where it is long."""

    def __init__(self, request: Request, form: str, limits: Limits) -> None:
        self.data = b""
        self.path: str | None = None
        self._request, self._limits, self._is_json = request, limits, form == "json"
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    async def __aenter__(self) -> Self:
        headers = get_record(self._request.scope).headers
        length = headers.get(b"content-length", b"")
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Problem(415, "a body with a Content-Encoding is not read. Hint: send it uncompressed", CLOSE)
        self._check_length(int(length) if length.isdigit() else 0)
        try:
            async with asyncio.timeout(self._limits.seconds):
                await self._receive()
        except BaseException as error:
            await self.__aexit__()  # which is not called where this raises
            if not isinstance(error, TimeoutError):
                raise
            late = f"the body did not come within {self._limits.seconds:g} seconds. Hint: send it in parts"
            raise Problem(408, late, CLOSE) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    async def _receive(self) -> None:
        """Receive all parts of the body; a long table is written into a file as they come."""
        size, parts, has_more = 0, bytearray(), True
        with ExitStack() as open_file:
            file: BinaryIO | None = None
            while has_more:
                message = await self._request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                chunk, has_more = message.get("body", b""), message.get("more_body", False)
                size += len(chunk)
                self._check_length(size)
                parts += chunk
                if len(parts) > MEMORY_BYTES and not self._is_json:
                    file = file or open_file.enter_context(self._create_file())
                    file.write(parts)
                    parts.clear()
            if file is not None:
                file.write(parts)
                parts.clear()
        self.data = bytes(parts)

    def _create_file(self) -> BinaryIO:
        """Return a new file for the body, in a temporary folder that `__aexit__` removes."""
        self._folder = tempfile.TemporaryDirectory(prefix="deciban-")
        self.path = os.path.join(self._folder.name, "body")
        return open(self.path, "wb")

    def _check_length(self, size: int) -> None:
        """Refuse a body that is longer than those of its format may be."""
        limits = self._limits
        limit = min(limits.json_bytes, limits.body_bytes) if self._is_json else limits.body_bytes
        if size > limit:
            hint = "JSON lines, CSV or Arrow may be longer" if limit < limits.body_bytes else "send it in parts"
            too_long = f"the body is longer than {limit} bytes, the limit of this server. Hint: {hint}"
            raise Problem(413, too_long, CLOSE)
