"""A store as text for people and other programs: JSON, a line per message, the first line about the store.

    {"format": "deciban mail store", "version": 1, "messages": 2, "labels": ["spam", "ham"], "reading": null, …}
    {"digest": "61…", "label": "spam", "time": 0.0, "tokens": ["free", "subject:money"]}

Messages are sorted by time and then by digest, and their tokens by name: stores of equal content give equal text.
Counts are not written, as they follow from the messages; nor are fits and the journal.
"""

import json
import math
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from deciban.errors import InputError
from deciban.formatting import format_count
from deciban.mail.store import store_schema, stored_messages
from deciban.mail.store.ageing import check_half_life, check_number
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store_file import StoreFile, check_same_reading
from deciban.mail.store.store_maintenance import newest_time
from deciban.mail.store.store_schema import MAX_LABELS, RESERVED_KEYS, check_label_name
from deciban.mail.store.store_updates import begin_ageing, find_labels, learn
from deciban.mail.store.stored_messages import StoredMessage, TokenBatch, add_counts, check_message, unpack

FORMAT: Final = "deciban mail store"
TEXT_VERSION: Final = 1
IMPORT_BATCH_MESSAGES: Final = 5000
"""Messages that are learned together: new words are inserted faster the more there are."""

FIRST_LINE_KEYS: Final = {"format", "version", "messages", "labels", "reading", "half_life", "origin", "settings"}
"""Keys of the first line."""

MAX_READING_CHARACTERS: Final = 200


class MergeCounts(NamedTuple):
    """The numbers of messages that were new and known, and those known under another label: (digest, here, there)."""

    new: int
    known: int
    disputed: tuple[tuple[bytes, str, str], ...]


def read_messages(file: StoreFile, order: str) -> Iterator[StoredMessage]:
    """Yield all messages of a store; `order` is the ORDER BY of a query of messages."""
    query = "SELECT digest, name, time, tokens FROM message JOIN label ON label.id = message.label ORDER BY"
    with report_damage(file.path):
        words = dict(file.db.execute("SELECT number, word FROM token"))
        for digest, label, time, blob in file.db.execute(f"{query} {order}"):
            numbers, _ = unpack([blob])
            yield StoredMessage(digest, label, [words[number] for number in numbers.tolist()], time)


def format_lines(file: StoreFile) -> Iterator[str]:
    """Yield the text, line by line."""
    with report_damage(file.path):
        settings = {key: file.setting(key) for (key,) in file.db.execute("SELECT key FROM setting").fetchall()}
    about = {
        "format": FORMAT,
        "version": TEXT_VERSION,
        "messages": file.n_messages(),
        "labels": list(file.labels()),
        **{key: settings.get(key) for key in ("reading", "half_life", "origin")},
        "settings": {key: value for key, value in sorted(settings.items()) if key not in RESERVED_KEYS},
    }
    messages = (
        message._asdict() | {"digest": message.digest.hex(), "tokens": sorted(message.tokens)}
        for message in read_messages(file, "time, digest")
    )
    for value in chain([about], messages):
        yield json.dumps(value, ensure_ascii=False) + "\n"


def absorb_store(file: StoreFile, other: StoreFile) -> MergeCounts:
    """Learn the messages of another store that are not known here, with weights by this store's ageing."""
    check_same_reading(file.path, file.setting("reading"), other.setting("reading"))
    newest = newest_time(other)
    if newest is not None:
        begin_ageing(file, newest)
    if file.setting("reading") is None and other.setting("reading") is not None:
        file.put("reading", other.setting("reading"))
    return _absorb(file, read_messages(other, "message.id"))


def absorb_text(file: StoreFile, lines: Iterable[str]) -> MergeCounts:
    """Learn a text's messages, in a transaction that an InputError undoes; an empty store gets its settings too.

    The first line is checked before anything is written, each message before it is learned, and their number last.
    """
    numbered = enumerate(lines, start=1)
    about = _read_first_line(numbered)
    check_same_reading(file.path, file.setting("reading"), about["reading"])
    if not file.n_messages():
        _adopt_settings(file, about)
    merged = _absorb(file, _read_all_messages(numbered))
    _check_count(about, merged.new + merged.known + len(merged.disputed))
    return merged


def check_text(lines: Iterable[str]) -> None:
    """Check all of a text as `absorb_text` does, without a store."""
    numbered = enumerate(lines, start=1)
    about = _read_first_line(numbered)
    _check_count(about, sum(1 for _ in _read_all_messages(numbered)))


def _check_count(about: dict[str, Any], count: int) -> None:
    if about["messages"] != count:
        raise InputError(
            f"the text holds {format_count(count, 'message')}, but its first line says {about['messages']}; "
            "it was cut or joined. Nothing was learned"
        )


def _read_all_messages(numbered: Iterable[tuple[int, str]]) -> Iterator[StoredMessage]:
    return (_read_message(at, line) for at, line in numbered if line.strip())


def _read_first_line(numbered: Iterator[tuple[int, str]]) -> dict[str, Any]:
    """Read the first line with all its keys, if each has a value that a store can have."""
    _, line = next(numbered, (1, ""))
    about = _read_line(1, line)
    if about.get("format") != FORMAT:
        raise InputError(
            f'line 1: a mail store\'s text begins with {{"format": "{FORMAT}" …}}, not with {line[:40]!r}'
        )
    if about.get("version") != TEXT_VERSION or isinstance(about["version"], bool):
        raise InputError(
            f"line 1: version {about.get('version')!r} of a mail store's text; this deciban reads {TEXT_VERSION}"
        )
    try:
        return _check_first_line(about)
    except InputError as error:
        raise InputError(f"line 1 (nothing was learned): {error}") from None


def _check_first_line(about: dict[str, Any]) -> dict[str, Any]:
    """Return all keys but format and version, with None for absent values; InputError for an invalid one."""
    if unknown := sorted(set(about) - FIRST_LINE_KEYS):
        raise InputError(f"key {unknown[0]!r} is not known. Known are {', '.join(sorted(FIRST_LINE_KEYS))}")
    messages, labels, reading = (about.get(key) for key in ("messages", "labels", "reading"))
    check_number(messages, "messages", 0, math.inf, "a number of messages is needed, 0 or more", int)
    if not isinstance(labels, list) or len(labels) > MAX_LABELS:
        raise InputError(f"labels: a list of at most {MAX_LABELS} labels is needed")
    for label in labels:
        check_label_name(label)
    if len(set(labels)) < len(labels):
        raise InputError(f"labels {labels!r:.200}: each label must be there once")
    is_text = isinstance(reading, str) and 0 < len(reading) <= MAX_READING_CHARACTERS
    if reading is not None and not (is_text and stored_messages.replace_surrogates([reading]) == [reading]):
        raise InputError(
            f"reading {reading!r:.60}: a text of 1 to {MAX_READING_CHARACTERS} characters without lone surrogates, "
            "or null, is needed"
        )
    half_life, origin = check_half_life(about.get("half_life")), store_schema.check_optional_time(about.get("origin"))
    settings = store_schema.check_settings(about.get("settings"))
    return {
        "messages": messages, "labels": labels, "reading": reading, "half_life": half_life,
        "origin": None if half_life is None else origin, "settings": settings,
    }  # fmt: skip


def _adopt_settings(file: StoreFile, about: dict[str, Any]) -> None:
    """Make the labels of a first line, and set what it sets and the store does not."""
    for label in about["labels"]:
        file.ensure_label(label)
    if file.setting("half_life") is None and about["half_life"] is not None:
        file.put("half_life", about["half_life"])
        file.put("origin", about["origin"])
    for key, value in [("reading", about["reading"]), *about["settings"].items()]:
        if value is not None and file.setting(key) is None:
            file.put(key, value)
    store_schema.check_threshold_order(file.setting("ham_at"), file.setting("spam_at"))


def _read_line(at: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"line {at}: a JSON object is needed, not {line[:40]!r}. Nothing was learned")
    return value


def _read_message(at: int, line: str) -> StoredMessage:
    value = _read_line(at, line)
    try:
        if set(value) != set(StoredMessage._fields):
            raise KeyError
        message = StoredMessage(**value | {"digest": bytes.fromhex(value["digest"])})
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"line {at}: a message has a digest (32 hexadecimal digits), a label, a time and tokens, "
            f"not {line[:60]!r}. Nothing was learned"
        ) from None
    try:
        check_label_name(message.label)
        if not isinstance(message.tokens, list) or message.time is None:
            raise InputError("a list of tokens and a time are needed, not one text or null")
        return check_message(message)
    except InputError as error:
        raise InputError(f"line {at} (nothing was learned): {error}") from None


def _absorb(file: StoreFile, messages: Iterator[StoredMessage]) -> MergeCounts:
    """Learn messages that are not known; those known under another label stay as they are, and are reported."""
    new = known = 0
    disputed: list[tuple[bytes, str, str]] = []
    while some := list(islice(messages, IMPORT_BATCH_MESSAGES)):
        here = find_labels(file, [message.digest for message in some])
        new_messages: dict[bytes, StoredMessage] = {}
        for message in some:
            label = here.setdefault(message.digest, message.label)
            if label != message.label:
                disputed.append((message.digest, label, message.label))
            else:
                new_messages.setdefault(message.digest, message)
        learned = add_counts(learn(file, TokenBatch.from_messages(new_messages.values())).values())
        new += learned.new
        known += len(some) - learned.new
    known -= len(disputed)
    return MergeCounts(new, known, tuple(disputed))
