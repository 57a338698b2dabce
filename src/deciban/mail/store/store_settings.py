"""The settings of a store that the program uses, and the values that each may have.

A key that is not listed here belongs to whoever set it, and may have any JSON value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, Literal, get_args

from deciban.errors import InputError
from deciban.mail.store.ageing import check_half_life, check_time

HAM_AT, SPAM_AT = 0.2, 0.95
"""Default thresholds: up to the first probability of spam a message is ham, from the second it is spam."""

MAX_KEY_CHARACTERS: Final = 200

ModelName = Literal["evidence", "bayes", "logistic", "fisher"]
MODELS: Final = get_args(ModelName)


def check_setting(key: str, value: Any) -> Any:
    """Return the value of a setting, if the setting can have it."""
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
    """Return a value that follows the rule of its setting, if the setting has one."""
    return _CHECKS[key](value) if key in _CHECKS else value


def check_limit(most: int) -> int:
    """Return a number of messages that a store can be limited to."""
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most < 1 << 63:
        raise InputError(f"most_messages {most!r:.60}: a store must be allowed at least 1 message, a whole number")
    return most


def check_settings(settings: Any) -> dict[str, Any]:
    """Return the settings of an exported store, if a store can have all of them."""
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise InputError(f"settings {settings!r:.60}: an object of settings is needed")
    present = {key: value for key, value in settings.items() if value is not None}
    if reserved := sorted(set(present) & set(RESERVED_KEYS)):
        raise InputError(f"setting {reserved[0]!r} is kept by the store itself")
    checked = {key: check_setting(key, value) for key, value in present.items()}
    check_threshold_order(checked.get("ham_at"), checked.get("spam_at"))
    return checked


def check_threshold_order(ham_at: float | None, spam_at: float | None) -> None:
    """Refuse thresholds (None: the default) of which the one for ham is not below the one for spam."""
    low, high = HAM_AT if ham_at is None else ham_at, SPAM_AT if spam_at is None else spam_at
    if not 0 <= low < high <= 1:
        raise InputError(
            f"thresholds {low:g} and {high:g}: ham must end below where spam begins, both from 0 to 1. "
            "Hint: --ham-at 0.2 --spam-at 0.95"
        )


def check_model(name: Any) -> ModelName:
    """Return the name of a model, if there is one of that name."""
    if not isinstance(name, str) or name not in MODELS:
        raise InputError(f"model {name!r:.60} is not known. Hint: one of {', '.join(MODELS)}")
    return name  # type: ignore[return-value]


def _check_probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InputError(f"threshold {value!r:.60}: a probability from 0 to 1 is needed")
    return float(value)


def _check_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise InputError(f"count {value!r:.60}: a whole number from 0 is needed")
    return value


def _check_optional_time(value: Any) -> float | None:
    return None if value is None else check_time(value)


def _check_reading(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"reading {value!r:.60}: a text is needed")
    return value


RESERVED_KEYS: Final = frozenset(
    {"half_life", "origin", "changes", "last_learned", "next_number", "reading", "watched"}
)
"""Settings that only methods of the store write; they are not among the settings of an exported text."""

_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "model": check_model, "ham_at": _check_probability, "spam_at": _check_probability,
    "most_messages": check_limit, "half_life": check_half_life, "origin": _check_optional_time,
    "last_learned": _check_optional_time, "changes": _check_count, "next_number": _check_count,
    "reading": _check_reading,
}  # fmt: skip
