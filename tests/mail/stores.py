"""Small stores to try things on."""

from pathlib import Path

from deciban.mail.entry import Entry
from deciban.mail.store import Store


def entry(i: int, label: str = "ham", words: int = 3) -> Entry:
    return Entry(i.to_bytes(16, "little"), label, [f"w{i}-{j}" for j in range(words)], float(i))


def filled(path: Path) -> Path:
    with Store(path) as store:
        store.learn([entry(i, label=("ham", "spam")[i % 2]) for i in range(10)])
    return path
