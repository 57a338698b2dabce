"""Learning by watching: a message that appears in Junk was labelled spam by its reader, one that is moved back ham.

The place where a message *appears* counts. It states the label of that folder, unless the message is known under
that label already, by the store or from an earlier look. In folders where mail arrives (`arriving`: those labelled
"ham") a message that was never seen elsewhere is a delivery, and states nothing. A message that disappears states
nothing: it may have been deleted, or filed in a folder that is not watched. The messages of a folder at the first
look (or after an IMAP server assigned its UIDs again) state nothing; they are remembered: a later move counts.

Nothing is ever deleted or marked, and nothing moved but what arrives as spam on an IMAP server, where a journal of
moves is given. A message counts as seen only after something was done about it: one that fails comes again.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from deciban.errors import DecibanError, InputError
from deciban.formatting import format_count
from deciban.mail.message.message import compute_digest
from deciban.mail.moves import MoveJournal
from deciban.mail.sources.imap import ImapFolder
from deciban.mail.sources.imap_connection import Address, Password, RefusedError, ask_once, password_for
from deciban.mail.sources.message_files import Problem, ProblemHandler, RawMessage, list_maildir, warn_of_problem
from deciban.mail.sources.message_sources import read_single_message, source_kind

MAX_REMEMBERED_LABELS = 100_000
"""Messages whose labels are remembered; of more, the oldest are forgotten. The store knows those learned."""

MTIME_RESOLUTION_SECONDS = 2.0
"""Seconds after which the modification time of a folder shows a later change, on any file system."""

OnMove = Callable[[bytes, str], None]
"""A function that receives a moved message and its new label."""


class Watcher:
    """Folders with labels, and the messages that were seen in them; a connection is opened by `look`, not before.

    `known(digest)` is the label under which a message was learned; `load()` and `save(state)` keep what was seen, in
    the terms of JSON, from one run to the next (without them each run begins with a first look); `filed(raw)` tells
    whether a message that was never seen elsewhere was put where it appears by the filter, and not by a reader.

    With a `journal`, what arrives on an IMAP server and `is_spam(raw)` is moved to a folder of the same account in
    which no mail arrives.

    >>> import mailbox, tempfile
    >>> root = tempfile.TemporaryDirectory()
    >>> inbox = mailbox.Maildir(root.name + "/Maildir")
    >>> junk = inbox.add_folder("Junk")
    >>> folders = {root.name + "/Maildir": "ham", root.name + "/Maildir/.Junk": "spam"}
    >>> watcher = Watcher(folders, lambda raw, label: print(label, raw))
    >>> watcher.look()
    0
    >>> _ = junk.add(b"Subject: win")
    >>> watcher.look()
    spam b'Subject: win'
    1
    >>> root.cleanup()
    """

    def __init__(
        self, folders: Mapping[str | Path, str], on_move: OnMove, *, arriving: Collection[str] = ("ham",),
        known: Callable[[bytes], str | None] = lambda digest: None,
        filed: Callable[[bytes], bool] = lambda raw: False,
        load: Callable[[], Mapping[str, Any] | None] = lambda: None,
        save: Callable[[Mapping[str, Any]], None] = lambda state: None,
        problems: ProblemHandler = warn_of_problem, password: Password = password_for,
        journal: MoveJournal | None = None, is_spam: Callable[[bytes], bool] = lambda raw: False,
    ) -> None:  # fmt: skip
        if not folders:
            raise InputError(
                "there is nothing to watch. Hint: name at least one Maildir or IMAP folder and its label"
            )
        self._on_move, self._arriving, self._known, self._filed = on_move, frozenset(arriving), known, filed
        self._save, self._problems, self._journal, self._is_spam = save, problems, journal, is_spam
        self._saved = _as_mapping(load())
        seen, self._password = _as_mapping(self._saved.get("folders")), ask_once(password)
        self._folders = [
            (watch_folder(path, seen, self._password, problems), label) for path, label in folders.items()
        ]
        labels = _as_mapping(self._saved.get("labels"))
        self._labels = {digest: label for digest, label in labels.items() if isinstance(label, str)}
        self._is_first_look, self._look_time = True, time.time()
        if journal is not None:
            for folder, label in self._folders:
                if label in self._arriving:
                    self._find_target(folder)

    def look(self) -> int:
        """Look once at every folder; return for how many messages `on_move` was called.

        A folder that cannot be read is reported and looked at again next time, except at the first call, and
        except where the server rejects the password: these are errors.
        """
        moved, self._look_time = 0, time.time()
        for folder, label in self._folders:
            try:
                moved += self._look_at(folder, label)
            except RefusedError:
                raise
            except DecibanError as error:
                folder.close()
                if self._is_first_look:
                    raise
                self._problems(Problem.from_error(folder.name, error))
        self._is_first_look = False
        folders = {folder.name: folder.state() for folder, _ in self._folders}
        state = {"folders": folders, "labels": dict(self._labels)}
        if state != self._saved:
            self._save(state)
            self._saved = state
        return moved

    def close(self) -> None:
        """Close all connections."""
        for folder, _ in self._folders:
            folder.close()

    def __enter__(self) -> "Watcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look_at(self, folder: "WatchedFolder", label: str) -> int:
        """Handle the new messages of a folder, report those that fail, and return how many moved.

        At its first look they are only marked as seen and, unless mail arrives there, their labels remembered.
        """
        folder.refresh()
        if self._journal is not None and label in self._arriving:
            self._journal.recover(self._password)
        if folder.is_new:  # its messages are remembered
            if label in self._arriving:  # and not read: only others can be moved there
                folder.mark_all_seen()
            else:
                for key, found in folder.new_messages():
                    self._labels.setdefault(compute_digest(found.raw).hex(), label)
                    folder.seen.add(key)
            folder.is_new = False
            return 0
        moved = 0
        for key, found in folder.new_messages():
            try:
                moved += self._handle(folder, key, found.raw, label)
            except DecibanError as error:
                self._problems(Problem(found.name, f"{error} (it will be tried again)"))
            else:
                folder.seen.add(key)
        return moved

    def _handle(self, folder: "WatchedFolder", key: int | str, raw: bytes, label: str) -> bool:
        """Call `on_move` if a message states the label, return whether; remember the label unless the call fails.

        A message that was never seen before and arrives as spam is moved, if there is a journal for it.
        """
        digest = compute_digest(raw)
        before = self._known(digest) or self._labels.get(digest.hex())
        is_stated = before != label if before else label not in self._arriving and not self._filed(raw)
        if is_stated:
            self._on_move(raw, label)
        elif before is None and label in self._arriving and self._journal is not None and self._is_spam(raw):
            source, target, label = self._find_target(folder)
            self._journal.move_to_junk(source.open(), int(key), digest, target.open(), self._look_time)
        self._labels.pop(digest.hex(), None)
        self._labels[digest.hex()] = label
        while len(self._labels) > MAX_REMEMBERED_LABELS:
            del self._labels[next(iter(self._labels))]
        return is_stated

    def _find_target(self, folder: "WatchedFolder") -> tuple["WatchedImap", "WatchedImap", str]:
        """Return a folder, the one of its account to which spam is moved, and the label of that one.

        InputError if there is none.
        """
        for other, label in self._folders:
            if label in self._arriving or not (isinstance(other, WatchedImap) and isinstance(folder, WatchedImap)):
                continue
            if other.address.is_same_account(folder.address):
                return folder, other, label
        raise InputError(
            f"{folder.name}: spam can be moved within an account on an IMAP server, and no folder for it is given. "
            "Hint: --ham imaps://user@host/INBOX --junk imaps://user@host/Junk; a Maildir is sorted at delivery, by "
            "deciban mail filter"
        )


def _as_mapping(value: object) -> Mapping[str, Any]:
    """Return a saved value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _as_texts(value: object) -> set[str]:
    """Return the texts of a saved value if it is a list, else none."""
    return {text for text in value if isinstance(text, str)} if isinstance(value, list) else set()


class WatchedMaildir:
    """A Maildir by the names of its files: flags, and moves from `new` to `cur`, change nothing.

    `problems` receives the number of files that cannot be read if any of them is new since the last look.
    """

    def __init__(self, path: Path, state: Mapping[str, Any], problems: ProblemHandler = warn_of_problem) -> None:
        self.path, self.name, self._problems = path, str(path), problems
        self._unreadable = _as_texts(state.get("unreadable"))
        """The keys of the files that could not be read at the last look."""
        self.is_new = not isinstance(state.get("keys"), list)  # nothing is known of the messages that were in it
        self.seen: set[int | str] = {*_as_texts(state.get("keys"))}
        self._unchanged: tuple[int, ...] = ()
        """The times at which its folders were modified, if all messages of then were seen."""

    def refresh(self) -> None:
        """Read the modification times of `new` and `cur`; raise an InputError if they cannot be read."""
        self._looked = time.time()
        try:
            self._times = tuple(os.stat(self.path / part).st_mtime_ns for part in ("new", "cur"))
        except OSError as error:
            raise InputError(f"{self.path}: the Maildir cannot be read: {error.strerror}") from None

    def new_messages(self) -> Iterator[tuple[int | str, RawMessage]]:
        """Yield each message not in `seen`, to which the caller adds its key; those trashed or gone leave it.

        At the first look those that cannot be read are added to it too: they were there, so they state nothing.
        """
        if self._times == self._unchanged:
            return
        files = [file for file in list_maildir(self.path) if not file.is_trashed]
        self.seen &= {file.key for file in files}
        unreadable: dict[str, Problem] = {}
        for file in files:
            if file.key in self.seen:
                continue
            try:
                message = read_single_message(file)
            except (InputError, OSError) as error:
                if os.path.lexists(file.path):  # else it was renamed or is gone: the next look shows which
                    unreadable[file.key] = Problem.from_error(file.path, error)
            else:
                yield file.key, message
        self._report_unreadable(unreadable)
        if self.is_new:
            self.seen |= {file.key for file in files}
        is_complete = self.seen >= {file.key for file in files}
        is_old_enough = self._looked - max(self._times) / 1e9 > MTIME_RESOLUTION_SECONDS
        self._unchanged = self._times if is_complete and is_old_enough else ()

    def _report_unreadable(self, unreadable: Mapping[str, Problem]) -> None:
        """Report the unreadable files, by key, if any of them is new since the last look."""
        if new := [problem for key, problem in unreadable.items() if key not in self._unreadable]:
            n = format_count(len(unreadable), "message")
            advice = "" if self.is_new else "; each look tries again"
            reason = f"{n} cannot be read{advice}. The first: {new[0]}"
            self._problems(Problem(self.name, reason, len(unreadable)))
        self._unreadable = set(unreadable)

    def mark_all_seen(self) -> None:
        """Replace `seen` by all names that are present, except those of trashed messages."""
        self.seen = {file.key for file in list_maildir(self.path) if not file.is_trashed}

    def state(self) -> dict[str, Any]:
        """Return the names that were seen, and those of files that could not be read."""
        return {"keys": sorted(map(str, self.seen)), "unreadable": sorted(self._unreadable)}

    def close(self) -> None:
        """Do nothing: nothing is held."""


class WatchedImap:
    """An IMAP folder by UIDs, which only grow, until the server assigns them again and changes UIDVALIDITY."""

    def __init__(self, address: Address, state: Mapping[str, Any], password: Password) -> None:
        self.address, self.name = address, str(address)
        self._password = password
        self._folder: ImapFolder | None = None
        validity, following = state.get("validity"), state.get("next")
        self.is_new = not (isinstance(validity, int) and isinstance(following, int))
        self._validity, self._next = (0, 1) if self.is_new else (int(validity or 0), int(following or 1))
        self.seen: set[int | str] = set()

    def refresh(self) -> None:
        """Look again, by the open connection or a new one; if UIDs were assigned again, the folder is new."""
        try:
            if self._folder is not None:
                self._folder.refresh()
            folder = self.open()
        except InputError:
            self.close()
            raise
        if folder.validity != self._validity:
            self.is_new, self._validity, self._next, self.seen = True, folder.validity, 1, set()

    def open(self) -> ImapFolder:
        """Return the open folder, which is opened if it is not."""
        if self._folder is None:
            self._folder = ImapFolder(self.address, self._password(self.address))
        return self._folder

    def new_messages(self) -> Iterator[tuple[int | str, RawMessage]]:
        """Yield each message not in `seen`, to which the caller adds its UID, or it comes again; no trashed ones."""
        last, missed = self._next - 1, None
        groups = self._folder.fetch_groups(self._folder.uids(self._next)) if self._folder else ()
        for found in (message for _, _, messages in groups for message in messages):
            uid = int(found.name.rpartition("=")[2])
            if uid not in self.seen:
                yield uid, found
            if uid not in self.seen and missed is None:
                missed = uid
            last = uid
        self._next = missed or last + 1
        self.seen = {uid for uid in self.seen if int(uid) >= self._next}

    def mark_all_seen(self) -> None:
        """Mark all present UIDs as seen."""
        if self._folder:
            self._next = self._folder.next_uid or max(self._folder.uids(), default=0) + 1

    def state(self) -> dict[str, Any]:
        """Return the first UID that was not seen, and the UIDVALIDITY of the UIDs."""
        return {"validity": self._validity, "next": self._next}

    def close(self) -> None:
        """Close the connection; the next look opens another."""
        if self._folder:
            self._folder.close()
        self._folder = None


WatchedFolder = WatchedMaildir | WatchedImap


def watch_folder(
    path: str | Path, states: Mapping[str, Any], password: Password, problems: ProblemHandler
) -> WatchedFolder:
    """Return a Maildir or IMAP folder to watch, with its state in `states`, if valid; refuse any other source."""
    kind = source_kind(path)
    if kind == "imap":
        address = Address.parse(str(path))
        return WatchedImap(address, _as_mapping(states.get(str(address))), password)
    if kind == "maildir":
        place = Path(path).expanduser().absolute()
        return WatchedMaildir(place, _as_mapping(states.get(str(place))), problems)
    raise InputError(
        f"{path}: a source of kind {kind} cannot be watched. Hint: Maildirs and IMAP folders can be watched"
    )
