"""The settings of a store that others rely on: which values each may have.

A key that is not listed here belongs to whoever set it, and may have any value that JSON can say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from deciban.errors import InputError
from deciban.mail.store.ageing import check_half_life, check_time

HAM_AT, SPAM_AT = 0.2, 0.95
"""Up to the first probability of spam a message is ham, from the second it is spam."""

MAX_KEY_CHARACTERS: Final = 200


def check_setting(key: str, value: Any) -> Any:
    """A value that a setting can have."""
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_CHARACTERS or not key.isprintable():
        raise InputError(f"setting {key!r:.60}: a key has 1 to {MAX_KEY_CHARACTERS} characters that can be printed")
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False, sort_keys=True).encode()
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            f"setting {key!r}: a JSON value with finite numbers and without lone surrogates is needed"
        ) from None
    return check_value(key, value)


def check_value(key: str, value: Any) -> Any:
    """A value that follows the rule of its setting; those of others have none."""
    return _CHECKS[key](value) if key in _CHECKS else value


def checked_bound(most: int) -> int:
    """A number of messages that a store can be kept to."""
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most < 1 << 63:
        raise InputError(f"most_messages {most!r:.60}: a store must be allowed at least 1 message, a whole number")
    return most


def check_settings(settings: Any) -> dict[str, Any]:
    """The settings of an exported store, if a store can have all of them."""
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise InputError(f"settings {settings!r:.60}: an object of settings is needed")
    known = {key: value for key, value in settings.items() if value is not None}
    if own := sorted(set(known) & set(RESERVED)):
        raise InputError(f"setting {own[0]!r} is kept by the store itself")
    checked = {key: check_setting(key, value) for key, value in known.items()}
    check_threshold_order(checked.get("ham_at"), checked.get("spam_at"))
    return checked


def check_threshold_order(ham_at: float | None, spam_at: float | None) -> None:
    """Refuse thresholds (None: the usual one) of which the one for ham is not below the one for spam."""
    low, high = HAM_AT if ham_at is None else ham_at, SPAM_AT if spam_at is None else spam_at
    if not 0 <= low < high <= 1:
        raise InputError(
            f"thresholds {low:g} and {high:g}: ham must end below where spam begins, both from 0 to 1. "
            "Hint: --ham-at 0.2 --spam-at 0.95"
        )


def _checked_probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InputError(f"threshold {value!r:.60}: a probability from 0 to 1 is needed")
    return float(value)


def _checked_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise InputError(f"count {value!r:.60}: a whole number from 0 is needed")
    return value


def _checked_time_if_any(value: Any) -> float | None:
    return None if value is None else check_time(value)


def _checked_reading(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"reading {value!r:.60}: a text is needed")
    return value


def _checked_model(value: Any) -> str:
    from deciban.mail.model.mail_models import check_model  # it loads NumPy, which learning can do without

    return check_model(value)


RESERVED: Final = frozenset({"half_life", "origin", "changes", "last_learned", "next_number", "reading", "watched"})
"""Settings that only methods of the store write; they are not among the settings of an exported text."""

_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "model": _checked_model, "ham_at": _checked_probability, "spam_at": _checked_probability,
    "most_messages": checked_bound, "half_life": check_half_life, "origin": _checked_time_if_any,
    "last_learned": _checked_time_if_any, "changes": _checked_count, "next_number": _checked_count,
    "reading": _checked_reading,
}  # fmt: skip
