"""JSON from an untrusted file: bounded in size, depth and number of lists and objects; every key once."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from deciban.errors import ModelFileError

MAX_HEADER_BYTES = 16 << 20
"""Largest number of bytes of JSON that are read: long lists are arrays; 10⁵ columns with their reasons take 10 MB."""

MAX_CONTAINERS = 1 << 18
"""Largest number of lists and objects in one JSON text."""

MAX_DIGITS = 300
"""Digits of a whole number, with its sign: a double holds numbers of 308 digits."""

MAX_DEPTH = 32
"""Largest number of lists and objects nested within one another."""


def parse_json(text: bytes | str, what: str) -> dict[str, Any]:
    """Return a JSON object, or raise a ModelFileError that names what is wrong with it."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        if decoded.count("[") + decoded.count("{") > MAX_CONTAINERS:
            raise ValueError(f"more than {MAX_CONTAINERS} lists and objects")
        value = json.loads(
            decoded,
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
            parse_int=_parse_bounded_int,
        )
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise ModelFileError(f"{what} cannot be read as JSON: {reason}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} should be a JSON object, and is a {type(value).__name__}")
    if _is_deeper(value, MAX_DEPTH):
        raise ModelFileError(f"{what} is nested more than {MAX_DEPTH} deep")
    return value


def format_json(value: Any) -> str:
    """Return JSON in ASCII, which `parse_json` accepts."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the header of a model file cannot be written as JSON: {error}") from None
    parse_json(text, "the header of a model file")
    return text


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _parse_bounded_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits, and at most {MAX_DIGITS} are read")
    return int(digits)


def _is_deeper(value: Any, depth: int) -> bool:
    """Return whether lists and objects are nested more than `depth` deep; layer by layer, so depth costs no stack."""
    layer = [value]
    for _ in range(depth):
        layer = [inner for outer in layer for inner in _list_items(outer)]
    return any(isinstance(value, (dict, list)) for value in layer)


def _list_items(value: Any) -> list[Any]:
    """Return the items of a list, the values of an object, nothing of any other value."""
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
