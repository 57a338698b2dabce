"""Structured logs: a JSON object on a line of standard error, without values of cells, queries or tokens."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from functools import lru_cache
from typing import Any

import orjson


@lru_cache(1)
def _format_second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def log(event: str, **fields: Any) -> None:
    """Write an event with its fields, plain values, and the time."""
    now = time.time()
    stamp = f"{_format_second(int(now))}.{int(now % 1 * 1000):03}Z"
    line = orjson.dumps({"time": stamp, "event": event, **fields}).decode()
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # a server goes on without a log


def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Write an unexpected error: its type and its place, not its message, which may quote cells."""
    frames = traceback.extract_tb(error.__traceback__)
    place = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    log(event, error=type(error).__name__, place=place, **fields)


class JsonHandler(logging.Handler):
    """Writes the records of other libraries' loggers in the same form."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; of an exception its type and place."""
        if record.exc_info and record.exc_info[1] is not None:
            log_failure("error", record.exc_info[1], logger=record.name)
        else:
            log("message", logger=record.name, level=record.levelname.lower(), message=record.getMessage())


def configure_logs() -> None:
    """Send warnings and errors of the web server to the structured log."""
    for name in ("uvicorn", "uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = ([JsonHandler()] if name != "uvicorn.error" else []), name != "uvicorn"
        logger.setLevel(logging.WARNING)
