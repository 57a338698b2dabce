"""The schema of a mail store: its tables, the marks that identify its file, and the values that settings may have.

    label     a label: its name, how many messages were learned under it, and their weight
    token     a word and its place ("subject:free"), its number, and the weight of the messages of each
              label that have it, in a column each (label_1, label_2 …, by the label's id); words that no message
              has any more are gone
    message   a message: its digest, label, time and weight, and the numbers of its tokens (see `pack`)
    fit       the fits of models, by name: when, after how many changes, and their parameters (JSON);
              the weights of tokens are in fitted_1, fitted_2 … (by the fit's id): score_1, score_2 … by number
    setting   settings and counters, in JSON; a key that is not listed below belongs to whoever set it, and may have
              any value
    journal   the changes of the store, newest last; of bounded length

Counts are always sums of weights over `message`: they can be recomputed at any time.
"""

import json
import sqlite3
from collections.abc import Callable
from typing import Any, Final, Literal, get_args

from deciban.errors import InputError
from deciban.mail.store.ageing import check_half_life, check_number, check_time

APPLICATION_ID: Final = 0x44624D6C
"""SQLite's application id in the header of the file, which identifies a store: "DbMl"."""

SCHEMA_VERSION: Final = 1
"""Version of the tables below, in the header as well; a store of a later version is refused."""

TOKEN_INDEX: Final = "CREATE UNIQUE INDEX token_word ON token (word)"
"""The statement that makes the index of words; a batch of mostly new words rebuilds it."""

DEFAULT_MAX_MESSAGES: Final = 100_000
"""Messages that are kept unless the setting most_messages is another: some 300 MB."""

TABLES: Final = (
    """CREATE TABLE label (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        messages INTEGER NOT NULL DEFAULT 0,
        weight REAL NOT NULL DEFAULT 0)""",
    """CREATE TABLE token (
        number INTEGER PRIMARY KEY,
        word TEXT NOT NULL)""",
    TOKEN_INDEX,
    """CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        label INTEGER NOT NULL REFERENCES label,
        time REAL NOT NULL,
        weight REAL NOT NULL,
        tokens BLOB NOT NULL)""",
    """CREATE TABLE fit (
        id INTEGER PRIMARY KEY,
        model TEXT NOT NULL UNIQUE,
        time REAL NOT NULL,
        changes INTEGER NOT NULL,
        scores INTEGER NOT NULL,
        meta TEXT NOT NULL)""",
    "CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE journal (id INTEGER PRIMARY KEY, time REAL NOT NULL, what TEXT NOT NULL)",
)


def create_tables(db: sqlite3.Connection) -> None:
    """Make an empty database a store, inside a transaction."""
    for table in TABLES:
        db.execute(table)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def column(label: int) -> str:
    """Return the column of `token` that holds a label's counts."""
    return f"label_{label:d}"


def read_header(db: sqlite3.Connection) -> tuple[int, int, bool]:
    """Return application id, schema version, and whether the database is empty, all of one state."""
    begins = not db.in_transaction
    if begins:  # or else a store that is made between two queries has tables and no application id
        db.execute("BEGIN")
    try:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    finally:
        if begins and db.in_transaction:
            db.execute("ROLLBACK")
    return application, version, is_empty


HAM_AT, SPAM_AT = 0.2, 0.95
"""Default thresholds: up to the first probability of spam a message is ham, from the second it is spam."""

MAX_LOST_HAM: Final = 0.001
"""Rate of lost ham that the threshold for spam is chosen by, unless the setting max_lost_ham is another."""

MAX_LABELS: Final = 200
MAX_LABEL_CHARACTERS: Final = 200
MAX_KEY_CHARACTERS: Final = 200

MAX_INT64: Final = (1 << 63) - 1
"""The largest integer of SQLite."""

ModelName = Literal["evidence", "bayes", "logistic", "fisher"]
MODELS: Final = get_args(ModelName)


def check_label_name(name: object) -> str:
    """Return the name of a label, if it is valid."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_LABEL_CHARACTERS or not name.isprintable():
        raise InputError(
            f"{name!r:.300} cannot be a label: it must be 1 to {MAX_LABEL_CHARACTERS} characters that can be printed"
        )
    return name


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
    if key in _NUMBERS:
        return check_number(value, *_NUMBERS[key])
    return _CHECKS[key](value) if key in _CHECKS else value


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
        which = " (which auto may choose)" if spam_at is None else ""
        raise InputError(
            f"thresholds {low:g} and {high:g}{which}: ham must end below where spam begins, both from 0 to 1. "
            "Hint: --ham-at 0.2 --spam-at 0.95"
        )


def check_model(name: Any) -> ModelName:
    """Return the name of a model, if there is one of that name."""
    if not isinstance(name, str) or name not in MODELS:
        raise InputError(f"model {name!r:.60} is not known. Hint: one of {', '.join(MODELS)}")
    return name  # type: ignore[return-value]


def check_optional_time(value: Any) -> float | None:
    """Return a time, if it is valid; None stays None."""
    return None if value is None else check_time(value)


def _check_reading(value: Any) -> str | None:
    """Return a fingerprint of token options, if it is a text; None stays None."""
    if value is not None and not isinstance(value, str):
        raise InputError(f"reading {value!r:.60}: a text is needed")
    return value


RESERVED_KEYS: Final = frozenset(
    {"half_life", "origin", "changes", "last_learned", "next_number", "reading", "watched", "moves"}
)
"""Settings that only methods of the store write; they are not among the settings of an exported text."""

_PROBABILITY: Final = "threshold", 0, 1, "a probability from 0 to 1 is needed"
_RATE: Final = "max_lost_ham", 1e-6, 0.5, "a rate from 0.000001 to 0.5 is needed"
_COUNT: Final = "count", 0, MAX_INT64, "a whole number from 0 is needed", int
_LIMIT: Final = "most_messages", 1, MAX_INT64, "a store must be allowed at least 1 message, a whole number", int
_NUMBERS: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys(["ham_at", "spam_at"], _PROBABILITY), **dict.fromkeys(["changes", "next_number"], _COUNT),
    "most_messages": _LIMIT, "max_lost_ham": _RATE,
}  # fmt: skip
"""The arguments of `check_number` for each setting that is a number."""

_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "model": check_model, "half_life": check_half_life, "origin": check_optional_time,
    "last_learned": check_optional_time, "reading": _check_reading,
}  # fmt: skip
