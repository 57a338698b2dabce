"""JSON from a file that nobody vouches for: bounded in size, depth and number of parts; every key once."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from deciban.errors import ModelFileError

MOST_HEADER = 16 << 20
"""Bytes of JSON that are ever read: long lists are arrays, and 10⁵ columns with their reasons take 10 MB."""

MOST_PARTS = 1 << 18
"""Lists and objects that one JSON text may have."""

MAX_DIGITS = 300
"""Digits of a whole number, with its sign: a double holds numbers of 308 digits."""

DEEPEST = 32
"""Lists and objects within one another."""


def parse(text: bytes | str, what: str) -> dict[str, Any]:
    """A JSON object, or a ModelFileError that says what is wrong with it."""
    try:
        written = text.decode("utf-8") if isinstance(text, bytes) else text
        if written.count("[") + written.count("{") > MOST_PARTS:
            raise ValueError(f"more than {MOST_PARTS} lists and objects")
        value = json.loads(
            written, object_pairs_hook=_each_key_once, parse_constant=_no_number, parse_int=_bounded_int
        )
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise ModelFileError(f"{what} cannot be read as JSON: {reason}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} should be a JSON object, and is a {type(value).__name__}")
    if _deeper(value, DEEPEST):
        raise ModelFileError(f"{what} is nested more than {DEEPEST} deep")
    return value


def write(value: Any) -> str:
    """JSON in ASCII, and nothing that `parse` would not take."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the header of a model file cannot be written as JSON: {error}") from None
    parse(text, "the header of a model file")
    return text


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _bounded_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits, and at most {MAX_DIGITS} are read")
    return int(digits)


def _deeper(value: Any, most: int) -> bool:
    """Whether lists and objects lie more than `most` deep; layer by layer, so that depth costs no stack."""
    layer = [value]
    for _ in range(most):
        layer = [inner for outer in layer for inner in _inside(outer)]
    return any(isinstance(value, (dict, list)) for value in layer)


def _inside(value: Any) -> list[Any]:
    """What a list or object holds."""
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
