"""A model that a worker serves: loaded from its file, again when that is replaced, and updated by learning.

Workers share the model file and its journal. Each answers with a snapshot, which is compared with the files before
every request; what one worker has acknowledged, all see in their next answer. Updates hold the lock of the file:

    lock → catch up with the journal → count the rows → append them to the journal, flush → acknowledge

The model file itself is written when the journal has been quiet for a second, or is long, and when the server stops.
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from deciban.atomic_write import check_writable
from deciban.command_hints import direct_role_hints_to_training
from deciban.errors import DecibanError, InputError, ModelFileError, change_errors
from deciban.load_model import open_model
from deciban.model.model import Model
from deciban.model.row_reader import RowReader
from deciban.model.summarise_table import Progress
from deciban.plain_json import to_plain
from deciban.server import journal
from deciban.server.journal import Entry, JournalState
from deciban.server.logs import log
from deciban.server.wire_formats import BodyTable

QUIET_SECONDS = 1.0
"""The time after the last update at which the model file is written."""

MAX_JOURNAL_BYTES = 1 << 22
"""Size of the journal at which the model file is written at once."""

MAX_LIGHT_TERMS = 1 << 14
"""Classes times features of models whose rows the event loop itself scores: some 0.1 ms for one of this size."""

LOCK_SECONDS = 10.0
"""The time that a worker waits for the lock where no request limits it."""

MAX_ATTEMPTS = 20
"""How often files are read again that were replaced while they were read."""


@dataclass(frozen=True)
class Snapshot:
    """A model as it is at one moment, the file that it comes from, and the part of the journal that it includes."""

    model: Model
    stamp: tuple[int, ...]
    base: str
    journal: JournalState

    @cached_property
    def reader(self) -> RowReader:
        """The reader of single rows, which makes matrices of them."""
        return RowReader(self.model)

    @cached_property
    def is_light(self) -> bool:
        """Whether a row takes so little time that the event loop itself may score it."""
        return len(self.labels) * len(self.model._layout.features_by_block()) <= MAX_LIGHT_TERMS

    @cached_property
    def labels(self) -> list[Any]:
        """The classes as JSON values."""
        return [to_plain(label) for label in self.model.classes]


class ServedModel:
    """A model by its name, with the snapshot of the last refresh, which is answered with."""

    def __init__(self, name: str, path: str, learning: bool) -> None:
        self.name, self.path, self.learning = name, os.path.realpath(path), learning
        self._journal = self.path + journal.ENDING
        self._mutex = threading.RLock()
        self._refused: tuple[int, ...] = ()
        self.n_loads = 0
        self.snapshot = self._read(None)
        if learning:
            self._prepare_updates()

    def _prepare_updates(self) -> None:
        """Write what a former journal left into the model file; InputError if it or its folder allow no updates."""
        self.snapshot.model._need_sums("learns no more rows, nor forgets any")
        try:
            check_writable(Path(self.path))
            deadline = time.monotonic() + LOCK_SECONDS
            # once the server's lock is there, commands that change the model hold it too
            with journal.lock_model_file(self.path, deadline), journal.lock_model(self.path, deadline):
                self._write_entries()
        except TimeoutError:
            raise InputError(
                f"another process is changing {self.path!r}. Hint: start the server again when it has ended"
            ) from None
        except OSError as error:
            raise InputError(
                f"{self.path!r} cannot be updated: {error.strerror or error}. Hint: --learning writes the model "
                f"file and a journal in its folder; leave it out to predict only"
            ) from None

    def _write_entries(self) -> None:
        """Write the entries that the journal has into the model file; the lock is held."""
        if self.refresh().journal.has_entries:
            self._write_file(self.snapshot.model)

    @property
    def is_current(self) -> bool:
        """Whether the files are those of the snapshot; one that could not be read is not tried again."""
        now = self.snapshot
        is_tried = journal.read_stamp(self.path) in (now.stamp, self._refused, ())  # (): there is no file
        return is_tried and journal.read_stamp(self._journal) == now.journal.stamp

    def refresh(self) -> Snapshot:
        """Return the snapshot of the present files; of a file that cannot be read, the one before it."""
        with self._mutex:
            if not self.is_current:
                try:
                    self.snapshot = self._read(self.snapshot)
                    self._refused = ()
                except (DecibanError, OSError) as error:
                    self._refused = journal.read_stamp(self.path)
                    log("model_not_loaded", model=self.name, error=type(error).__name__)
            return self.snapshot

    def _read(self, before: Snapshot | None) -> Snapshot:
        """Read the files until they do not change meanwhile; what `before` has of them is not read again."""
        for _ in range(MAX_ATTEMPTS):
            stamp = journal.read_stamp(self.path)
            if before is None or (stamp != before.stamp and stamp):
                before = self._load(stamp)
            entries, state = journal.read_entries(self._journal, before.base, before.journal.end)
            if state.end < before.journal.end:  # entries that are in the snapshot are there no more
                before = None
                continue
            model = before.model
            for entry in entries:
                model = apply_entry(model, entry)
            found = Snapshot(model, before.stamp, before.base, state)
            if journal.read_stamp(self.path) in (found.stamp, ()):
                return found
        raise ModelFileError(f"the model file {self.path!r} changes all the time")

    def _load(self, stamp: tuple[int, ...]) -> Snapshot:
        """Load the model file from a copy: large files are mapped, and writing into a mapped one ends the process."""
        with tempfile.TemporaryDirectory(prefix="deciban-") as folder:
            private = Path(folder) / Path(self.path).name
            if not os.path.isfile(self.path):
                open_model(Path(self.path))  # raises the error of a file that is not there
            shutil.copyfile(self.path, private)
            with change_errors(lambda message: message.replace(str(private), self.path)):
                model = open_model(private, verify=True)
            model._scorer.solved  # noqa: B018  (here, and not at the first request)
            self.n_loads += 1
            return Snapshot(model, stamp, journal.hash_file(str(private)), JournalState())

    def update(
        self, entry: Entry, deadline: float, watch: Progress | None = None, path: str | None = None
    ) -> tuple[Snapshot, Snapshot]:
        """Learn or forget the rows of an entry by `apply_entry`; return the snapshots before and after.

        The rows are on disk then. TimeoutError where the lock of the file is not free before the deadline.
        """
        with journal.lock_model(self.path, deadline), self._mutex:
            before = self.refresh()
            model = apply_entry(before.model, entry, watch, path)
            model._scorer.solved  # noqa: B018
            if path is not None or len(entry.body) > journal.MAX_ENTRY_BYTES:
                self._write_file(model)
                return before, self.snapshot
            state = before.journal
            if state.end == 0:
                state = journal.start_journal(self._journal, before.base)
            state = journal.append_entry(self._journal, state, entry)
            self.snapshot = replace(before, model=model, journal=state)
            return before, self.snapshot

    def _write_file(self, model: Model) -> None:
        """Write the model file, then an empty journal for it; the lock is held."""
        model.save(self.path)
        stamp, base = journal.read_stamp(self.path), journal.hash_file(self.path)
        self.snapshot = Snapshot(model, stamp, base, journal.start_journal(self._journal, base))

    def write_if_due(self, at_once: bool = False) -> None:
        """Write the journal's entries into the model file if quiet, long or `at_once`; TimeoutError if locked."""
        stamp = self.snapshot.journal.stamp
        if not self.snapshot.journal.has_entries:
            return
        is_quiet = time.time_ns() - stamp[3] > QUIET_SECONDS * 1e9
        if at_once or is_quiet or stamp[2] > MAX_JOURNAL_BYTES:
            with journal.lock_model(self.path, time.monotonic() + LOCK_SECONDS), self._mutex:
                self._write_entries()


def apply_entry(model: Model, entry: Entry, watch: Progress | None = None, path: str | None = None) -> Model:
    """Return a model with the rows of an entry, whose body may be in a file, learned or forgotten.

    The given model stays as it is. `watch` is called with the number of rows read, and may refuse them.
    """
    header = entry.header
    table = BodyTable(header["format"], header["reading"], entry.body, path)
    with direct_role_hints_to_training(), table.open() as source:
        new = copy.copy(model)
        update = new.add if header["operation"] == "learn" else new.forget
        return update(source, progress=watch)
