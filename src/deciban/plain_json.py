"""Conversion to standard JSON: NumPy's labels and numbers become plain values, NaN and infinities null."""

import json
import math
from typing import Any


def to_plain(value: Any) -> Any:
    """Convert to lists, dicts, numbers and texts; None for a number that is not finite, text for other types.

    >>> to_plain({"classes": ("a", 2), "log_loss": math.inf})
    {'classes': ['a', 2], 'log_loss': None}
    """
    if isinstance(value, dict):
        return {str(name): to_plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # an array, or a number or text of NumPy's
        return to_plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def to_json(value: Any, indent: int | None = None) -> str:
    """Return any value as standard JSON, without NaN and Infinity, which Python would write."""
    return json.dumps(to_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


encode_plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
"""Encode a value that is plain already, without a traversal; a ValueError where a number is not finite."""
