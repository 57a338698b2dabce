"""Values as JSON has them: labels and numbers of NumPy's become plain, and nothing goes beyond the standard."""

from __future__ import annotations

import json
import math
from typing import Any


def plain(value: Any) -> Any:
    """Lists, names, numbers and texts; None for a number that is not finite, a text for what JSON has no word for.

    >>> plain({"classes": ("a", 2), "log_loss": math.inf})
    {'classes': ['a', 2], 'log_loss': None}
    """
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # an array, or a number or text of NumPy's
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def json_text(value: Any, indent: int | None = None) -> str:
    """Anything as JSON that every reader takes: NaN and Infinity, which Python would write, are no part of it."""
    return json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


plain_text = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
"""The same of what is plain already, which need not be gone through; a ValueError where a number is not finite."""
