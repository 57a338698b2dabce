"""IMAP folders, opened by EXAMINE and fetched by BODY.PEEK, so that no message becomes seen; nothing is changed, but
that `move` moves a message to another folder.

Built on imaplib: imapclient 4.1 opens its connections in a private method, so that the limits of `imap_connection`
would need to override it, and it discards the messages of a FETCH that ends in NO because some of them are gone.
"""

import imaplib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from imaplib import Internaldate2tuple
from itertools import islice
from typing import Any

from deciban.errors import MAX_LISTED_NAMES, InputError, did_you_mean, list_names
from deciban.mail.sources import imap_connection, message_files
from deciban.mail.sources.imap_connection import Address, decode_folder, password_for, translate_errors
from deciban.mail.sources.message_files import Problem, ProblemHandler, RawMessage, max_read_bytes, warn_of_problem

FETCH_BYTES = 1 << 23
"""Bytes of messages requested at a time."""

FETCH_MESSAGES = 200
"""Messages requested, or whose attributes are requested, at a time."""

SEARCH_UIDS = 50_000
"""UIDs searched at a time: the response is one line, and imaplib accepts lines up to a million bytes."""

MAX_MESSAGE_SIZE = 1 << 30
"""The largest message size in bytes that is accepted of a server."""

imaplib.Commands.setdefault("MOVE", ("SELECTED",))  # older Pythons do not know RFC 6851

_UID = re.compile(rb"\bUID (\d{1,10})\b")
_QUOTED = rb'"((?:[^"\\]|\\.)*)"'
_FOLDER = re.compile(rb"\(([^()]*)\) (?:NIL|" + _QUOTED + rb") (?:" + _QUOTED + rb"|(.*))", re.DOTALL)
_QUOTED_BODY = re.compile(rb"BODY\[\](?:<0>)? (?:NIL|" + _QUOTED + rb")", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of a message on the server."""

    uid: int
    size: int
    time: float | None
    is_trashed: bool


class ImapFolder:
    """An open folder: its messages by UID, and their contents. `validity` changes when UIDs are assigned again."""

    def __init__(self, address: Address, password: str) -> None:
        self.address = address
        self._connection = imap_connection.connect(address, password)
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        """Open the folder again, for reading, to see new messages; InputError that names others if there is none."""
        folder = self.address.folder
        with translate_errors(self.address):
            separator = "/"
            if "/" in folder:  # which may be another character on this server
                found = _FOLDER.search(_last_line(self._connection.list('""', '""')[1]))
                separator = _unescape(found[2]).decode("latin-1") if found and found[2] else "/"
            for name in dict.fromkeys((folder, folder.replace("/", separator))):
                self._connection.allowed = imap_connection.MAX_RESPONSE_BYTES
                kind, response = self._connection.select(imap_connection.encode_folder(name), readonly=True)
                if kind == "OK":
                    self.server_name, self.messages = name, _parse_number(response)
                    self.validity, self.next_uid = map(self._read_code, ("UIDVALIDITY", "UIDNEXT"))
                    return
            names = sorted(name for name, _ in list_folders(self._connection))
        near, listed = did_you_mean(folder, names) or ".", list_names(names, MAX_LISTED_NAMES)
        raise InputError(f"{self.address}: there is no folder {folder!r}{near} Hint: there are {listed}")

    def _read_code(self, code: str) -> int:
        """Return the number of a response code; 0 if the server did not send it."""
        return _parse_number(self._connection.response(code)[1])

    def move(self, uid: int, target: "ImapFolder") -> int:
        """Move a message to another folder of the account; return its UID there, 0 if the server does not tell.

        Only MOVE (RFC 6851) is used, which moves a message or leaves it: a copy and a deletion could lose it.
        """
        with translate_errors(self.address):
            if not imap_connection.has_capability(self._connection, "MOVE"):
                raise InputError(
                    f"{self.address}: the server does not offer MOVE (RFC 6851), and without it a message could only "
                    "be copied and deleted, which is not done. Hint: leave out --move"
                )
            kind, response = self._connection.select(imap_connection.encode_folder(self.server_name))
            if kind != "OK" or self._read_code("UIDVALIDITY") != self.validity:
                reason = "its UIDs were assigned again" if kind == "OK" else imap_connection.format_response(response)
                raise InputError(f"{self.address}: nothing can be moved from the folder: {reason}")
            self._connection.response("COPYUID")  # forget that of an earlier move
            kind, response = self._connection.uid("MOVE", str(uid), imap_connection.encode_folder(target.server_name))
            if kind != "OK":
                reason = imap_connection.format_response(response)
                raise InputError(f"{self.address}: message {uid} was not moved to {target.address.folder}: {reason}")
            copied = re.fullmatch(rb"\d+ \d+ (\d{1,10})", _last_line(self._connection.response("COPYUID")[1]))
        self.refresh()  # the folder is open for reading only again
        return int(copied[1]) if copied else 0

    def close(self) -> None:
        """Log out, if the connection still works."""
        self._connection.leave()

    def uids(self, since: int = 1) -> Iterator[int]:
        """Yield the UIDs of the messages, from a UID on, in order."""
        ranges = [(since, "*")]
        if self.messages > SEARCH_UIDS and self.next_uid:
            begins = range(since, self.next_uid, SEARCH_UIDS)
            ranges = [(begin, str(begin + SEARCH_UIDS - 1)) for begin in begins]
        for begin, end in ranges:
            lines = [line for line in self._send("SEARCH", "UID", f"{begin}:{end}") if isinstance(line, bytes)]
            found = {int(word) for line in lines for word in line.split() if word.isdigit()}
            yield from sorted(uid for uid in found if uid >= begin)  # "7:*" has the last message even if below 7

    def fetch_attributes(self, uids: list[int]) -> list[Attributes]:
        """Fetch sizes, times and flags, by rising UID; messages that are gone are absent."""
        response = self._send("FETCH", _format_uids(uids), "(UID RFC822.SIZE INTERNALDATE FLAGS)")
        found = [_parse_attributes(line if isinstance(line, bytes) else line[0]) for line in response]
        wanted = set(uids)
        return sorted((each for each in found if each and each.uid in wanted), key=lambda each: each.uid)

    def fetch(self, messages: list[Attributes]) -> Iterator[RawMessage]:
        """Fetch the messages themselves, each up to the size limit; those that are gone are absent."""
        wanted = {message.uid: message for message in messages}
        items = f"(UID BODY.PEEK[]<0.{max_read_bytes()}>)"
        size = sum(message.size for message in messages)
        for uid, raw in _parse_bodies(self._send("FETCH", _format_uids(list(wanted)), items, allowed=size)):
            if message := wanted.pop(uid, None):
                yield RawMessage(f"{self.address};uid={uid}", raw, message.time, message.is_trashed)

    def fetch_groups(self, uids: Iterator[int], trashed: bool = False) -> Iterator[tuple[int, int, list[RawMessage]]]:
        """Fetch messages in groups: yield the numbers of trashed and of vanished ones, and the messages fetched."""
        while batch := list(islice(uids, FETCH_MESSAGES)):
            found = self.fetch_attributes(batch)
            wanted = [message for message in found if trashed or not message.is_trashed]
            yield len(found) - len(wanted), len(batch) - len(found), []
            for group in group_by_size(wanted):
                messages = list(self.fetch(group))
                yield 0, len(group) - len(messages), messages

    def _send(self, command: str, *words: str, allowed: int = 0) -> list[Any]:
        """Send a UID command and return the parts of the response; `allowed` is how many bytes of messages it has."""
        with translate_errors(self.address):
            self._connection.allowed = allowed + imap_connection.MAX_RESPONSE_BYTES
            kind, response = self._connection.uid(command, *words)
            if kind == "NO" and command == "FETCH":  # some of them are gone: the others were sent all the same
                response = self._connection.response("FETCH")[1]
            elif kind != "OK":
                reason = imap_connection.format_response(response)
                raise InputError(f"{self.address}: the server refused to {command.lower()}: {reason}")
            return [part for part in response if part is not None]


def list_folders(connection: imap_connection.Connection) -> list[tuple[str, frozenset[str]]]:
    """Return the names and attributes (in lower case) of all folders; one for junk may have \\junk (RFC 6154)."""
    connection.allowed = imap_connection.MAX_RESPONSE_BYTES
    kind, rows = "NO", list[Any]()
    if imap_connection.has_capability(connection, "SPECIAL-USE"):
        kind, rows = connection.list('""', '"*" RETURN (SPECIAL-USE)')
    if kind != "OK":
        kind, rows = connection.list()
    return [found for row in rows if (found := _parse_folder(row))]


def _parse_folder(row: Any) -> tuple[str, frozenset[str]] | None:
    """Parse a part of the response to LIST, whose name may be a literal; None where it has no name and attributes."""
    line, literal = row if isinstance(row, tuple) else (row or b"", None)
    if not (found := _FOLDER.search(line)):
        return None
    attributes, _, quoted, plain = found.groups()
    name = _unescape(quoted) if quoted is not None else plain if literal is None else literal
    return decode_folder(name.decode("latin-1")), frozenset(attributes.decode("latin-1").lower().split())


def _unescape(quoted: bytes) -> bytes:
    """Return the text that is written between quotes, in which quotes and backslashes are preceded by a backslash."""
    return re.sub(rb'\\(["\\])', rb"\1", quoted)


def imap_messages(
    address: Address, *, trashed: bool = False, problems: ProblemHandler = warn_of_problem,
    password: Callable[[Address], str] = password_for,
) -> Iterator[RawMessage]:  # fmt: skip
    """Yield the messages of an IMAP folder by UID, a few megabytes of them at a time."""
    omitted = gone = 0
    with closing(ImapFolder(address, password(address))) as folder:
        for more_trashed, more_gone, messages in folder.fetch_groups(folder.uids(), trashed):
            omitted, gone = omitted + more_trashed, gone + more_gone
            yield from messages
    message_files.report_trashed(str(address), omitted, problems)
    if gone:
        problems(Problem(str(address), f"{gone} of the messages vanished while the folder was read", gone))


def group_by_size(messages: list[Attributes]) -> Iterator[list[Attributes]]:
    """Yield messages in groups of at most `FETCH_BYTES`, or of one message that is larger."""
    group: list[Attributes] = []
    for message in messages:
        if group and sum(held.size for held in group) + message.size > FETCH_BYTES:
            yield group
            group = []
        group.append(message)
    if group:
        yield group


def _last_line(response: list[Any]) -> bytes:
    return response[-1] if response and isinstance(response[-1], bytes) else b""


def _parse_number(response: list[Any]) -> int:
    """Return the number at the start of the last line of a response; 0 if there is none."""
    found = re.match(rb"\d{1,10}\b", _last_line(response))
    return int(found[0]) if found else 0


def _format_uids(uids: list[int]) -> str:
    """Format UIDs as an IMAP sequence set.

    >>> _format_uids([3, 4, 5, 9])
    '3:5,9'
    """
    runs: list[list[int]] = []
    for uid in sorted(uids):
        if runs and uid == runs[-1][1] + 1:
            runs[-1][1] = uid
        else:
            runs.append([uid, uid])
    return ",".join(f"{begin}:{end}" if end > begin else str(begin) for begin, end in runs)


def _parse_attributes(line: bytes) -> Attributes | None:
    """Parse a line of the response to FETCH; None without a UID. Size is 0 and time None without a valid one."""
    uid, size = _UID.search(line), re.search(rb"\bRFC822\.SIZE (\d{1,18})\b", line)
    if not uid:
        return None
    flags = re.search(rb"\bFLAGS \(([^()]*)\)", line)
    is_trashed = rb"\deleted" in flags[1].lower().split() if flags else False
    try:
        date = Internaldate2tuple(line)
        arrival = time.mktime(date) if date else None
    except (KeyError, ValueError, OverflowError):  # no such month or year
        arrival = None
    n_bytes = min(int(size[1]), MAX_MESSAGE_SIZE) if size else 0
    return Attributes(int(uid[1]), n_bytes, arrival, is_trashed)


def _parse_bodies(response: list[Any]) -> Iterator[tuple[int, bytes]]:
    """Yield UIDs and messages of a FETCH: the UID may be before the message or after it, with other data between."""
    for at, part in enumerate(response):
        if isinstance(part, tuple):
            after = response[at + 1] if at + 1 < len(response) and isinstance(response[at + 1], bytes) else b""
            uid = _UID.search(part[0] + b" " + re.sub(rb"^\d+ \(.*", b"", after, flags=re.DOTALL))
            raw = part[1]
        else:
            uid, quoted = _UID.search(part), _QUOTED_BODY.search(part)
            if not quoted:
                continue
            raw = _unescape(quoted[1] or b"")
        if uid:
            yield int(uid[1]), raw[: max_read_bytes()]
