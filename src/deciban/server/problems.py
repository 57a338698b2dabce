"""Errors as problem details (RFC 9457), in the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from deciban.command_hints import adapt_hint
from deciban.errors import DecibanError, ForgetError, SchemaError, UndefinedError, UsageError

PROBLEM_TYPE = "application/problem+json"


class Problem(Exception):
    """A request that is answered by a problem: a status, and what is wrong, in a sentence with a hint."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = HTTPStatus(status), detail, dict(headers or {})

    def to_dict(self) -> dict[str, Any]:
        """Return the problem details."""
        return {
            "type": "about:blank", "title": self.status.phrase, "status": self.status.value, "detail": self.detail,
        }  # fmt: skip


def to_problem(error: Exception) -> Problem:
    """Return the problem that reports an error; of one that is not expected, its type only.

    Wrong arguments are 400, data that break a rule 422, an update that the model cannot make 409.
    """
    match error:
        case Problem():
            return error
        case UsageError():
            return Problem(400, adapt_hint(str(error)))
        case ForgetError() | SchemaError() | UndefinedError():
            return Problem(409, adapt_hint(str(error)))
        case DecibanError():
            return Problem(422, adapt_hint(str(error)))
        case TimeoutError():
            return Problem(503, "the work took longer than this server allows. Hint: send fewer rows at a time")
        case MemoryError():
            return Problem(507, "the server has not enough memory for this. Hint: send fewer rows at a time")
    return Problem(500, f"an internal error of the server ({type(error).__name__}). Hint: its log has the place")
