"""Spam that is moved to Junk on an IMAP server, a journal of it, and its way back.

A move is written down before it is made: after a crash `recover` finds out whether it was made. Messages are moved by
the server's MOVE, one by one; none is ever copied, deleted or marked.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from typing import get_args

from deciban.errors import InputError
from deciban.mail.message.message import compute_digest
from deciban.mail.sources.imap import ImapFolder
from deciban.mail.sources.imap_connection import Address, Password, ask_once, password_for
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store import Store

MAX_JOURNAL_MOVES = 10_000
"""Moves that the journal keeps; of more, the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class Move:
    """A message that was moved or, unless `is_done`, is about to be; folders are addresses, `ca` is part of both.

    `next_uid` is the first UID that the message can have had in the target, `moved_uid` the one that it has there, 0
    if the server did not tell; `look` is the time at which the folder was looked at.
    """

    digest: str
    look: float
    source: str
    uid: int
    validity: int
    target: str
    target_validity: int
    next_uid: int
    moved_uid: int = 0
    is_done: bool = False
    ca: str | None = None

    def find(self, target: ImapFolder) -> int | None:
        """Return the UID of the message in the target, found by its digest; None if it is not there."""
        is_same = target.validity == self.target_validity
        candidates = [iter([self.moved_uid])] if is_same and self.moved_uid else []
        for uids in (*candidates, target.uids(self.next_uid if is_same else 1)):
            for _, _, messages in target.fetch_groups(uids, trashed=True):
                for message in messages:
                    if compute_digest(message.raw).hex() == self.digest:
                        return int(message.name.rpartition("=")[2])
        return None


def _is_move(entry: object) -> bool:
    """Return whether a saved value has the fields of a move, each of its type: a store may come from anywhere."""
    types = {field.name: get_args(field.type) or (field.type,) for field in fields(Move)}
    if not isinstance(entry, dict) or set(entry) != set(types):
        return False
    return all(type(entry[name]) in allowed for name, allowed in types.items())


class OpenFolders(ExitStack):
    """The folders of some moves, each opened once, for the time of the block."""

    def __init__(self, password: Password) -> None:
        super().__init__()
        self._password, self._folders = ask_once(password), dict[str, ImapFolder]()

    def open(self, folder: str, ca: str | None) -> ImapFolder:
        """Return a folder, as it is now."""
        if folder in self._folders:
            self._folders[folder].refresh()
        else:
            address = replace(Address.parse(folder), ca=ca)
            self._folders[folder] = ImapFolder(address, self._password(address))
            self.callback(self._folders[folder].close)
        return self._folders[folder]


class MoveJournal:
    """The moves that a store keeps; `n_moved` counts those that were made by this object."""

    def __init__(self, store: Store) -> None:
        self._store, self.n_moved = store, 0

    @property
    def moves(self) -> list[Move]:
        """The moves, oldest first, whichever program made them."""
        entries = self._store.setting("moves")
        return [Move(**entry) for entry in entries if _is_move(entry)] if isinstance(entries, list) else []

    def replace(self, old: Move | None, new: Move | None = None) -> None:
        """Remove a move, append another, and save all."""
        with self._store.write_transaction(report_damage):
            moves = [move for move in self.moves if move != old] + ([new] if new else [])
            self._store.put("moves", [asdict(move) for move in moves[-MAX_JOURNAL_MOVES:]])

    def has(self, raw: bytes) -> bool:
        """Return whether a message was moved, so that its place states nothing about it."""
        digest = compute_digest(raw).hex()
        return any(move.digest == digest for move in self.moves)

    def recover(self, password: Password = password_for) -> None:
        """Find out whether the moves that a crash interrupted were made, and forget those that were not."""
        with OpenFolders(password) as folders:
            for move in [move for move in self.moves if not move.is_done]:
                source = folders.open(move.source, move.ca)
                is_there = source.validity == move.validity and bool(source.fetch_attributes([move.uid]))
                uid = None if is_there else move.find(folders.open(move.target, move.ca))
                self.replace(move, None if uid is None else replace(move, moved_uid=uid, is_done=True))

    def move_to_junk(self, source: ImapFolder, uid: int, digest: bytes, target: ImapFolder, look: float) -> None:
        """Move a message of an open folder to another of the same account."""
        target.refresh()
        planned = Move(
            digest.hex(), look, str(source.address), uid, source.validity, str(target.address), target.validity,
            target.next_uid or 1, ca=source.address.ca,
        )  # fmt: skip
        self.replace(None, planned)
        try:
            moved_uid = source.move(uid, target)
        except InputError:  # the connection may have failed after the message was moved: `recover` finds out
            if source.fetch_attributes([uid]):
                self.replace(planned)
            raise
        self.replace(planned, replace(planned, moved_uid=moved_uid, is_done=True))
        self.n_moved += 1

    def undo(self, wanted: Sequence[Move]) -> list[Move]:
        """Move messages back to where they were, and forget their moves; return those that are in Junk no more."""
        missing = list[Move]()
        with OpenFolders(password_for) as folders:
            for move in reversed(wanted):
                junk, source = (folders.open(folder, move.ca) for folder in (move.target, move.source))
                uid = move.find(junk)
                if uid is None:
                    missing.append(move)
                else:
                    junk.move(uid, source)
                self.replace(move)
        return missing
