"""Differences of surfaces that are so by design, each with the reason that a user reads."""

from __future__ import annotations

import re
from typing import Any

REFUSALS = [
    ("", r"averaged one-dependence", "averaged one-dependence has no sum of terms, so it is not exported"),
    (
        "PostgreSQL|DuckDB|SQLite",
        r"differ in upper and lower case",
        "a database takes names of different case for one",
    ),
    (
        "PostgreSQL|DuckDB|SQLite",
        r"impossible in a class, which SQL",
        "SQL has no words that are impossible in a class",
    ),
    ("ONNX", r"no input can have|cannot be the name|combinations of levels", "ONNX has no such input"),
    ("ONNX", r"is a number in ONNX", "an input of ONNX has one type: a flag of 0 and 1 is a number, and no text"),
    ("JavaScript", r"Node is not installed", "Node is not installed"),
    ("train", r".", "a table that is refused in training"),
]
"""Surfaces and messages, as patterns, of refusals, and their reasons."""


def is_refusal(answer: str) -> bool:
    """Return whether a message is that of a refusal, and not of a fault."""
    return not re.match(r"[A-Za-z.]+(Error|OutOfRange|Exception): ", answer)


def find_reason(surface: str, case: Any, what: Any) -> str | None:
    """Return the reason of a refusal, given its message, or of a difference, given its row; None if there is none."""
    if isinstance(what, str):
        found = (reason for who, said, reason in REFUSALS if re.search(who, surface) and re.search(said, what))
        return next(found, None)
    return None
