"""Small stores to try things on."""

import os
from contextlib import suppress
from pathlib import Path

from deciban.mail.store.store import Store
from deciban.mail.store.stored_messages import StoredMessage


def entry(i: int, label: str = "ham", words: int = 3) -> StoredMessage:
    return StoredMessage(i.to_bytes(16, "little"), label, [f"w{i}-{j}" for j in range(words)], float(i))


def make_store(path: Path) -> Path:
    with Store(path) as store:
        store.learn([entry(i, label=("ham", "spam")[i % 2]) for i in range(10)])
    return path


def deleted_files(process: int) -> list[str]:
    """Files of stores that a process has open though they are deleted; [] where the process is gone."""
    found = []
    with suppress(OSError):
        for descriptor in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):  # closed meanwhile
                found.append(os.readlink(f"/proc/{process}/fd/{descriptor}"))
    return [name for name in found if name.endswith("(deleted)") and ".db" in name]
