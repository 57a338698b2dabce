"""IMAP folders, read and never touched: opened by EXAMINE, fetched by BODY.PEEK, so that no message becomes seen."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from imaplib import Internaldate2tuple
from itertools import islice
from typing import Any

from deciban.errors import MOST_NAMED, InputError, did_you_mean
from deciban.mail.sources.imap_address import Address, off_the_line, on_the_line
from deciban.mail.sources.imap_connection import CHATTER, Line, connected, in_words, password_for, said
from deciban.mail.sources.raw_message import (
    Problem,
    ProblemHandler,
    RawMessage,
    max_read_bytes,
    report_trashed,
    warn_of_problem,
)

TOGETHER = 1 << 23
"""Bytes of messages asked for at a time."""

MOST_TOGETHER = 200
"""Messages asked for, or asked about, at a time."""

SEARCHED = 50_000
"""UIDs searched at a time: the answer is one line, and imaplib bears lines up to a million bytes."""

LARGEST = 1 << 30
"""No message is larger, whatever a server says."""

_LETTERS = {rb"\flagged": "F", rb"\answered": "R", rb"\seen": "S", rb"\deleted": "T", rb"\draft": "D"}
_QUOTED_BODY = re.compile(rb'BODY\[\](?:<0>)? (?:NIL|"((?:[^"\\]|\\.)*)")', re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Noted:
    """What a server notes of a message."""

    uid: int
    size: int
    time: float | None
    flags: str


class ImapFolder:
    """An open folder: which messages it has, by UID, and what they are. `validity` changes when UIDs start anew."""

    def __init__(self, address: Address, password: str) -> None:
        self.address = address
        self._line: Line = connected(address, password)
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        """Looks again at what the folder has."""
        with in_words(self.address):
            answer = _examine(self._line, self.address.folder)
        if answer is None:
            raise self._no_such_folder()
        self.messages, self.validity, self.next_uid = answer

    def _no_such_folder(self) -> InputError:
        with in_words(self.address):
            names = _folder_names(self._line)
        shown = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
        near = did_you_mean(self.address.folder, names) or "."
        return InputError(f"{self.address}: there is no folder {self.address.folder!r}{near} Hint: there are {shown}")

    def __enter__(self) -> ImapFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Says goodbye, if anybody is there to hear it."""
        self._line.leave()

    def uids(self, since: int = 1) -> Iterator[int]:
        """The messages there are, from a UID on, in order."""
        if self.messages <= SEARCHED or not self.next_uid:
            yield from self._search(f"{since}:*", since)
            return
        for begin in range(since, self.next_uid, SEARCHED):
            yield from self._search(f"{begin}:{begin + SEARCHED - 1}", begin)

    def _search(self, uids: str, since: int) -> list[int]:
        answer = self._ask("SEARCH", "UID", uids)
        found = {int(word) for line in answer if isinstance(line, bytes) for word in line.split() if word.isdigit()}
        return sorted(uid for uid in found if uid >= since)  # "7:*" has the last message even if it is below 7

    def noted(self, uids: list[int]) -> list[Noted]:
        """Sizes, times and flags, without the messages."""
        if not uids:
            return []
        answer = self._ask("FETCH", _set_of(uids), "(UID RFC822.SIZE INTERNALDATE FLAGS)")
        notes = [note for line in answer if (note := _note(line if isinstance(line, bytes) else line[0])) is not None]
        return sorted((note for note in notes if note.uid in set(uids)), key=lambda note: note.uid)

    def fetch(self, notes: list[Noted]) -> Iterator[RawMessage]:
        """The messages themselves, each up to its bound."""
        wanted = {note.uid: note for note in notes}
        allowed = sum(note.size for note in notes)
        answer = self._ask(
            "FETCH", _set_of(list(wanted)), f"(UID BODY.PEEK[]<0.{max_read_bytes()}>)", allowed=allowed
        )
        for uid, raw in _bodies(answer):
            note = wanted.pop(uid, None)
            if note:
                yield RawMessage(f"{self.address};uid={uid}", raw, note.time, note.flags)

    def _ask(self, command: str, *words: str, allowed: int = 0) -> list[Any]:
        with in_words(self.address):
            self._line.allowed = allowed + CHATTER
            kind, answer = self._line.uid(command, *words)
            if kind == "NO" and command == "FETCH":  # some of them are gone: the others were sent all the same
                answer = self._line.response("FETCH")[1]
            elif kind != "OK":
                raise InputError(f"{self.address}: the server refused to {command.lower()}: {said(answer)}")
            return [part for part in answer if part is not None]


def imap_messages(
    address: str,
    *,
    trashed: bool = False,
    problems: ProblemHandler = warn_of_problem,
    password: Callable[[Address], str] = password_for,
) -> Iterator[RawMessage]:
    """The messages of an IMAP folder by UID, a few megabytes of them at a time."""
    return _read(Address.of(address), trashed, problems, password)


def _read(
    address: Address, trashed: bool, problems: ProblemHandler, password: Callable[[Address], str]
) -> Iterator[RawMessage]:
    with ImapFolder(address, password(address)) as folder:
        uids, left_out, gone = folder.uids(), 0, 0
        while batch := list(islice(uids, MOST_TOGETHER)):
            notes = folder.noted(batch)
            wanted = [note for note in notes if trashed or "T" not in note.flags]
            left_out += len(notes) - len(wanted)
            gone += len(batch) - len(notes)
            for few in few_at_a_time(wanted):
                found = list(folder.fetch(few))
                gone += len(few) - len(found)
                yield from found
    report_trashed(str(address), left_out, problems)
    if gone:
        problems(Problem(str(address), f"{gone} of the messages vanished while the folder was read", gone))


def few_at_a_time(notes: list[Noted]) -> Iterator[list[Noted]]:
    """Messages in groups that are not too large to be held at once."""
    group: list[Noted] = []
    for note in notes:
        if group and sum(held.size for held in group) + note.size > TOGETHER:
            yield group
            group = []
        group.append(note)
    if group:
        yield group


def _examine(line: Line, folder: str) -> tuple[int, int, int] | None:
    """How many messages a folder has, its UIDVALIDITY and its UIDNEXT (0: not told); None if there is none."""
    for name in dict.fromkeys((folder, folder.replace("/", _delimiter(line) if "/" in folder else "/"))):
        line.allowed = CHATTER
        kind, answer = line.select(on_the_line(name), readonly=True)
        if kind == "OK":
            return _number(answer), _number(line.response("UIDVALIDITY")[1]), _number(line.response("UIDNEXT")[1])
    return None


def _delimiter(line: Line) -> str:
    """What stands between a folder and the folders in it, on this server."""
    found = re.search(rb'\) "(.)" ', _first(line.list('""', '""')[1]))
    return found[1].decode("latin-1") if found else "/"


def _folder_names(line: Line) -> list[str]:
    line.allowed = CHATTER
    listed = [row for row in line.list()[1] if isinstance(row, bytes)]
    found = [re.search(rb'\) (?:NIL|"[^"]*") "?(.*?)"?$', row) for row in listed]
    return sorted(off_the_line(name[1].decode("latin-1").replace('\\"', '"')) for name in found if name)


def _first(answer: list[Any]) -> bytes:
    return answer[-1] if answer and isinstance(answer[-1], bytes) else b""


def _number(answer: list[Any]) -> int:
    found = re.match(rb"\d{1,10}\b", _first(answer))
    return int(found[0]) if found else 0


def _set_of(uids: list[int]) -> str:
    """UIDs as IMAP writes a set of them.

    >>> _set_of([3, 4, 5, 9])
    '3:5,9'
    """
    runs: list[list[int]] = []
    for uid in sorted(uids):
        if runs and uid == runs[-1][1] + 1:
            runs[-1][1] = uid
        else:
            runs.append([uid, uid])
    return ",".join(f"{begin}:{end}" if end > begin else str(begin) for begin, end in runs)


def _note(line: bytes) -> Noted | None:
    uid, size = re.search(rb"\bUID (\d{1,10})\b", line), re.search(rb"\bRFC822\.SIZE (\d{1,18})\b", line)
    if not uid:
        return None
    flags = re.search(rb"\bFLAGS \(([^()]*)\)", line)
    named = flags[1].lower().split() if flags else []
    letters = "".join(sorted(letter for flag, letter in _LETTERS.items() if flag in named))
    when = Internaldate2tuple(line)
    return Noted(int(uid[1]), min(int(size[1]), LARGEST) if size else 0, time.mktime(when) if when else None, letters)


def _bodies(answer: list[Any]) -> Iterator[tuple[int, bytes]]:
    """UIDs and messages of a FETCH: the UID may stand before the message or after it, and other news in between."""
    for at, part in enumerate(answer):
        if isinstance(part, tuple):
            rest = answer[at + 1] if at + 1 < len(answer) and isinstance(answer[at + 1], bytes) else b""
            uid = re.search(
                rb"\bUID (\d{1,10})\b", part[0] + b" " + re.sub(rb"^\d+ \(.*", b"", rest, flags=re.DOTALL)
            )
            raw = part[1]
        else:
            uid, quoted = re.search(rb"\bUID (\d{1,10})\b", part), _QUOTED_BODY.search(part)
            if not quoted:
                continue
            raw = re.sub(rb"\\(.)", rb"\1", quoted[1] or b"", flags=re.DOTALL)
        if uid:
            yield int(uid[1]), raw[: max_read_bytes()]
