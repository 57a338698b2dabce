"""The text form of a mail store: a refused import changes nothing, an accepted one leaves a store that works."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

from deciban.errors import DecibanError
from deciban.mail.filter import MailFilter
from deciban.mail.store.store import Store
from tests.fuzz.json_lines import VALUES
from tests.fuzz.json_lines import WORDS as MARKS
from tests.fuzz.mutation import mutate_bytes, write_input
from tests.mail.spamds import make_message

HOSTILE = (
    *VALUES,
    "-1", "0", "1e308", '"evidence"', '"ham"', '["ham"]', "[[]]", '"\\u001b[2J"', '" "', '"' + "w" * 300 + '"',
    '["a", "a"]', '["a b", ""]', "[1]", '"00"', f'"{"0" * 32}"', "86400", "1e-300", "9e15", '{"most_messages": "x"}',
)  # fmt: skip


def seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return [_export(_store(Path(folder, f"{n}.db"), n, settings)) for n, settings in ((4, False), (12, True))]


def _store(path: Path, messages: int, settings: bool) -> Path:
    """A store with half as many messages of each of two labels."""
    with MailFilter(path) as mail:
        for n in range(messages):
            mail.learn(make_message(("ham", "spam")[n % 2], n), ("ham", "spam")[n % 2], 1.1e9 + n)
        if settings:
            mail.store.age(86400.0 * 30)
            mail.store.set("most_messages", 1000)
            mail.store.set("model", "bayes")
            mail.store.set("thresholds", [0.2, 0.9])
    return path


def _export(path: Path) -> bytes:
    with Store(path, create=False) as store:
        return "".join(store.export()).encode()


def mutate(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    if rng.random() < 0.7:
        at = rng.choice([0, 0, rng.randrange(len(lines))])
        try:
            row = {key: json.dumps(value) for key, value in json.loads(lines[at]).items()}
            inner = rng.choice(["most_messages", "model", "thresholds", "next_number", "watched", "origin", "x"])
            values = (*HOSTILE, f'{{"{inner}": {rng.choice(HOSTILE)}}}')
            row[rng.choice([*row, "settings", "half_life"])] = rng.choice(values)
            if rng.random() < 0.2:
                del row[rng.choice(list(row))]
            lines[at] = ("{" + ", ".join(f'"{key}": {value}' for key, value in row.items()) + "}").encode()
        except ValueError:
            pass
        return b"\n".join(lines)
    return mutate_bytes(raw, rng, MARKS, 3)


@cache
def _templates() -> tuple[Path, Path]:
    """An empty store, and one that holds messages, some of them those of the seeds."""
    folder = Path(tempfile.gettempdir())
    return _store(folder / "empty.db", 0, False), _store(folder / "full.db", 6, True)


def check(raw: bytes) -> None:
    text = write_input("store.jsonl", raw)
    path = Path(tempfile.gettempdir(), "mail.db")
    for old in path.parent.glob("mail.db*"):
        old.unlink()
    shutil.copy(_templates()[len(raw) % 2], path)
    before = _export(path)
    try:
        with Store(path, create=False) as store, text.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            merged = store.absorb_text(lines)
    except DecibanError:
        assert _export(path) == before, "a refused import changed the store"
        raise
    with MailFilter(path) as mail:
        assert mail.store.check() == [], "counts are wrong after an import"
        assert merged.new == _messages(_export(path)) - _messages(before), "not as many new messages as it says"
        recount(mail.store)
        mail.classify(make_message("spam", 900))
        mail.learn(make_message("spam", 901), "spam")
        mail.unlearn(make_message("spam", 901))
        mail.store.tidy()
        mail.refit(force=True) if len(raw) % 8 == 0 else None


def _messages(text: bytes) -> int:
    return text.count(b"\n") - 1


def recount(store: Store) -> None:
    """Compare the counts of a store without ageing with sums over the text that it exports."""
    messages = [json.loads(line) for line in list(store.export())[1:]]
    if store.ageing.half_life is None:
        counted = Counter((token, message["label"]) for message in messages for token in message["tokens"])
        labels = store.labels()
        found = store.counts(sorted({token for token, _ in counted}))
        for token, counts in found.items():
            assert counts == tuple(counted[token, label] for label in labels), "a count differs from the sum"
        assert len(found) == len({token for token, _ in counted}), "a token is missing"
