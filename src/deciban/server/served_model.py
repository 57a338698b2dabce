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
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from deciban.atomic_write import check_writable
from deciban.errors import DecibanError, InputError, ModelFileError, change_errors
from deciban.load_model import open_model
from deciban.model.model import Model
from deciban.model.row_reader import RowReader
from deciban.plain_json import to_plain
from deciban.server import journal
from deciban.server.journal import Entry, JournalState
from deciban.server.logs import log

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

Apply = Callable[..., Model]
"""A function that returns a model with the rows of an entry learned or forgotten: `operations.apply_entry`."""


@dataclass(frozen=True)
class Snapshot:
    """A model as it is at one moment, the file that it comes from, and the part of the journal that it includes."""

    model: Model
    stamp: tuple[int, ...]
    base: str
    journal: JournalState

    @cached_property
    def reader(self) -> RowReader:
        """The conversion of single rows."""
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
    """A model by its name, with the snapshot that is answered with."""

    def __init__(self, name: str, path: str, learning: bool, apply: Apply) -> None:
        self.name, self.path, self.learning = name, os.path.realpath(path), learning
        self._journal, self._apply = self.path + journal.ENDING, apply
        self._mutex = threading.RLock()
        self._refused: tuple[int, ...] = ()
        self.n_loads = 0
        self._snapshot = self._read(None)
        if learning:
            self._check_writable()

    def _check_writable(self) -> None:
        """Write what a former journal left; InputError if the model or its folder allow no updates."""
        self.snapshot.model._need_sums("learns no more rows, nor forgets any")
        try:
            check_writable(Path(self.path))
            with journal.lock_model(self.path, time.monotonic() + LOCK_SECONDS):
                self._recover()
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(
                f"{self.path!r} cannot be updated: {why}. Hint: --learning writes the model file and a journal in "
                f"its folder; leave it out to predict only"
            ) from None

    def _recover(self) -> None:
        """Write the entries that a journal still has into the model file."""
        if self.refresh().journal.has_entries:
            self._write_file(self.snapshot.model)

    @property
    def snapshot(self) -> Snapshot:
        """The model of the last refresh."""
        return self._snapshot

    @property
    def is_current(self) -> bool:
        """Whether the files are those of the snapshot; one that could not be read is not tried again."""
        now = self._snapshot
        stamp = journal.stamp_of(self.path)
        if stamp != now.stamp and stamp and stamp != self._refused:
            return False
        return journal.stamp_of(self._journal) == now.journal.stamp

    def refresh(self) -> Snapshot:
        """Return the snapshot of the present files; of a file that cannot be read, the one before it."""
        with self._mutex:
            if not self.is_current:
                try:
                    self._snapshot = self._read(self._snapshot)
                    self._refused = ()
                except (DecibanError, OSError) as error:
                    self._refused = journal.stamp_of(self.path)
                    log("model_not_loaded", model=self.name, error=type(error).__name__)
            return self._snapshot

    def _read(self, before: Snapshot | None) -> Snapshot:
        """Read the files until they do not change meanwhile; what `before` has of them is not read again."""
        for _ in range(MAX_ATTEMPTS):
            stamp = journal.stamp_of(self.path)
            if before is None or (stamp != before.stamp and stamp):
                before = self._load(stamp)
            entries, state = journal.read_entries(self._journal, before.base, before.journal.end)
            if state.end < before.journal.end:  # entries that are in the snapshot are there no more
                before = None
                continue
            model = before.model
            for entry in entries:
                model = self._apply(model, entry)
            found = Snapshot(model, before.stamp, before.base, state)
            if journal.stamp_of(self.path) in (found.stamp, ()):
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
        self, entry: Entry, deadline: float, watch: Any = None, path: str | None = None
    ) -> tuple[Snapshot, Snapshot]:
        """Learn or forget the rows of an entry, whose body may be in a file; return the snapshots before and after.

        The rows are on disk then. `watch` is called with the number of rows read, and may refuse them.
        """
        with journal.lock_model(self.path, deadline), self._mutex:
            before = self.refresh()
            model = self._apply(before.model, entry, watch, path)
            model._scorer.solved  # noqa: B018
            if path is not None or len(entry.body) > journal.MAX_ENTRY_BYTES:
                self._write_file(model)
                return before, self._snapshot
            state = before.journal
            if state.end == 0:
                state = journal.start_journal(self._journal, before.base)
            state = journal.append_entry(self._journal, state, entry)
            self._snapshot = replace(before, model=model, journal=state)
            return before, self._snapshot

    def _write_file(self, model: Model) -> None:
        """Write the model file, then an empty journal for it; the lock is held."""
        model.save(self.path)
        stamp, base = journal.stamp_of(self.path), journal.hash_file(self.path)
        self._snapshot = Snapshot(model, stamp, base, journal.start_journal(self._journal, base))

    def write_if_due(self, at_once: bool = False) -> None:
        """Write the journal's entries into the model file where it has been quiet, or is long, or `at_once`."""
        stamp = self.snapshot.journal.stamp
        if not self.snapshot.journal.has_entries:
            return
        is_quiet = time.time_ns() - stamp[3] > QUIET_SECONDS * 1e9
        if at_once or is_quiet or stamp[2] > MAX_JOURNAL_BYTES:
            with journal.lock_model(self.path, time.monotonic() + LOCK_SECONDS), self._mutex:
                if self.refresh().journal.has_entries:
                    self._write_file(self.snapshot.model)


def copy_model(model: Model) -> Model:
    """Return a model that can be changed in place without changing the given one."""
    return copy.copy(model)
