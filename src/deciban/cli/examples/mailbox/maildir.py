"""The mailbox as a Maildir: letters in the inbox, junk in .Junk, and some that have only just come."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deciban.cli.examples.mailbox import ham, spam
from deciban.cli.examples.mailbox.draw import Draw
from deciban.cli.examples.mailbox.letter import Delivered, Letter
from deciban.cli.examples.mailbox.mime import written

SEED, SEED_OF_NEW = 11, 54
HAM, SPAM = 212, 158
NEW = (
    ham.friend, ham.colleague, spam.offered, ham.newsletter, spam.imitated, ham.on_list, spam.borrowed, ham.stranger,
    spam.offered, ham.friend,
)  # fmt: skip
"""Who has just written."""

DAMAGED = 0.08
"""Of junk."""

JUNK = ".Junk"
FIRST_DAY = datetime(2026, 3, 2, 5, 0, tzinfo=UTC)
DAYS = 120
PARTS = ("cur", "new", "tmp")
FLAGS = ":2," if sys.platform != "win32" else "!2,"


def mailbox() -> list[Delivered]:
    """All letters, those that have just come last; always the same ones."""
    draw = Draw(SEED)
    made = [_delivered(draw, ham.wanted, "") for _ in range(HAM)] + [
        _delivered(draw, spam.unwanted, JUNK) for _ in range(SPAM)
    ]
    made.sort(key=lambda one: one.moment)
    return [*made, *just_come(Draw(SEED_OF_NEW))]


def just_come(draw: Draw) -> list[Delivered]:
    """What nobody has looked at yet."""
    moments = [FIRST_DAY + timedelta(days=DAYS, minutes=180 + 7 * n) for n in range(len(NEW))]
    return [Delivered(at, "", True, "", written(write(draw, at))) for write, at in zip(NEW, moments)]


def _delivered(draw: Draw, write: Callable[[Draw, datetime], Letter], folder: str) -> Delivered:
    moment = FIRST_DAY + timedelta(days=draw.between(0, DAYS - 1), seconds=draw.between(0, 60_000))
    raw = written(write(draw, moment))
    if folder and draw.chance(DAMAGED):
        raw = spam.damaged(draw, raw)
    return Delivered(moment, folder, False, "RS" if not folder and draw.chance(0.2) else "S", raw)


def write_mailbox(folder: Path) -> list[Delivered]:
    """Put it into a folder that is new, or empty: all of it or nothing. Raises OSError."""
    made = mailbox()
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        for inner in ("", JUNK):
            for part in PARTS:
                (unfinished / inner / part).mkdir(parents=True)
        for number, one in enumerate(made, start=1):
            (unfinished / one.folder / ("new" if one.is_new else "cur") / name_of(one, number)).write_bytes(one.raw)
        if folder.exists():
            folder.rmdir()
        os.rename(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return made


def name_of(one: Delivered, number: int) -> str:
    """As delivery programs name files: the second, what tells it from others, the machine, and flags."""
    name = f"{int(one.moment.timestamp())}.M{number:03}.home"
    return name if one.is_new else f"{name}{FLAGS}{one.flags}"
