"""After any operations a store holds what plain dictionaries with fractions hold."""

import math
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban.mail.store.store import Store
from deciban.mail.store.stored_messages import StoredMessage

LABELS = ["ham", "spam", "work"]
WORDS = [f"w{i}" for i in range(8)]
HALF_LIFE = 100.0

entries = st.builds(
    StoredMessage,
    st.integers(0, 6).map(lambda i: i.to_bytes(16, "big")),
    st.sampled_from(LABELS),
    st.lists(st.sampled_from(WORDS), max_size=5),
    st.integers(-2000, 3000).map(float),
)
digests = st.integers(0, 6).map(lambda i: i.to_bytes(16, "big"))
steps = st.one_of(
    st.tuples(st.just("learn"), st.lists(entries, max_size=4)),
    st.tuples(st.just("unlearn"), st.lists(digests, max_size=3)),
    st.tuples(st.just("relabel"), digests, st.sampled_from(LABELS)),
    st.tuples(st.just("age"), st.sampled_from([None, HALF_LIFE, 37.0])),
    st.tuples(st.just("tidy"), st.integers(1, 6)),
    st.tuples(st.just("merge"), st.lists(entries, max_size=4)),
    st.tuples(st.just("import"), st.lists(entries, max_size=4)),
)


def weight_of(time, half_life, origin) -> Fraction:
    """2^x to six binary digits, written anew: the nearest of 32, 33 … 64 thirty-seconds of a power of two."""
    if half_life is None or origin is None:
        return Fraction(1)
    x = min(12.0, max(-12.0, (time - origin) / half_life))
    power = Fraction(2) ** math.floor(x)
    nearest = min(range(32, 65), key=lambda m: abs(m / 32 - 2 ** (x - math.floor(x))))
    return power * Fraction(nearest, 32)


class Plain:
    """The definition: messages in a dict, weights from the times, counts by adding up."""

    def __init__(self):
        self.held = {}
        self.half_life = self.origin = None

    def learn(self, batch, moves=True):
        batch = [e for e in batch if moves or e.digest not in self.held]
        for entry in batch:
            if entry.digest not in self.held or self.held[entry.digest].label != entry.label:
                self.held[entry.digest] = entry

    def begin(self, batch):
        fresh = {}
        labels = {d: e.label for d, e in self.held.items()}
        for entry in batch:
            if labels.get(entry.digest) != entry.label:
                labels[entry.digest] = entry.label
                fresh[entry.digest] = entry
        if self.half_life is not None and self.origin is None and fresh:
            self.origin = max(e.time for e in fresh.values())

    def age(self, half_life):
        self.half_life = half_life
        self.origin = max((e.time for e in self.held.values()), default=None) if half_life is not None else None

    def tidy(self, most, known_labels):
        share = most // max(1, known_labels)
        for digest, entry in sorted(self.held.items(), key=lambda item: (item[1].time, item[0])):
            same = sum(e.label == entry.label for e in self.held.values())
            if len(self.held) > most and same > share:
                del self.held[digest]
        newest = max((e.time for e in self.held.values()), default=None)
        if (
            self.half_life
            and newest is not None
            and (self.origin is None or (newest - self.origin) / self.half_life >= 8)
        ):
            self.origin = newest

    def counts(self):
        found = {}
        for entry in self.held.values():
            for word in set(entry.tokens):
                by = found.setdefault(word, {})
                by[entry.label] = by.get(entry.label, 0) + weight_of(entry.time, self.half_life, self.origin)
        return found

    def totals(self):
        found = {}
        for entry in self.held.values():
            n, w = found.get(entry.label, (0, Fraction(0)))
            found[entry.label] = (n + 1, w + weight_of(entry.time, self.half_life, self.origin))
        return found


def do(store: Store, plain: Plain, folder: str, step) -> None:
    match step:
        case ("learn", batch):
            plain.begin(batch)
            plain.learn(batch)
            store.learn(batch)
        case ("unlearn", gone):
            assert store.unlearn(gone) == len({d for d in gone if plain.held.pop(d, None)})
        case ("relabel", digest, label):
            if digest in plain.held:
                plain.held[digest] = plain.held[digest]._replace(label=label)
                store.relabel(digest, label)
        case ("age", half_life):
            plain.age(half_life)
            store.age(half_life)
        case ("tidy", most):
            plain.tidy(most, len(store.labels()))
            store.set("most_messages", most)
            store.tidy()
        case (how, batch):
            take_over(store, plain, folder, how, batch)


def take_over(store: Store, plain: Plain, folder: str, how: str, batch) -> None:
    path = Path(folder, "other.db")
    theirs = Plain()
    with Store(path) as other:
        other.learn(batch)
        theirs.learn(batch)
        text = list(other.export())
    disputed = {d for d, e in theirs.held.items() if d in plain.held and plain.held[d].label != e.label}
    if how == "merge" and theirs.held and plain.half_life is not None and plain.origin is None:
        plain.origin = max(e.time for e in theirs.held.values())
    fresh = [e for d, e in theirs.held.items() if d not in plain.held]
    plain.begin(fresh)
    plain.learn(fresh)
    merged = store.merge(path) if how == "merge" else store.absorb_text(text)
    assert {d for d, *_ in merged.disputed} == disputed
    assert (merged.new, merged.new + merged.known + len(disputed)) == (len(fresh), len(theirs.held))
    for left in Path(folder).glob("other.db*"):
        left.unlink()


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=8))
def test_any_sequence_of_steps_equals_a_plain_model(sequence):
    with TemporaryDirectory() as folder, Store(Path(folder, "mail.db")) as store:
        plain = Plain()
        for step in sequence:
            do(store, plain, folder, step)
            labels = store.labels()
            counts = {w: {k: n for k, n in zip(labels, by) if n} for w, by in store.counts(WORDS).items()}
            assert counts == plain.counts()
            assert {k: total for k, total in store.totals().items() if total[0]} == plain.totals()
            assert {d: store.find_label(d) for d in plain.held} == {d: e.label for d, e in plain.held.items()}
        assert store.check() == []


@pytest.mark.thorough(reason="learns and classifies many messages: seconds")
@settings(max_examples=60, deadline=None)
@given(st.lists(entries, max_size=8), st.lists(st.integers(0, 8), max_size=3), st.sampled_from([None, HALF_LIFE]))
def test_batches_may_be_cut_anywhere(batch, cuts, half_life):
    with TemporaryDirectory() as folder, Store(Path(folder, "a.db")) as one, Store(Path(folder, "b.db")) as many:
        for store in (one, many):
            store.learn([StoredMessage(b"o" * 16, "ham", ["origin"], 0.0)])
            store.age(half_life)
        one.learn(batch)
        at = sorted(cuts)
        for begin, end in zip([0, *at], [*at, len(batch)]):
            many.learn(batch[begin:end])
        assert list(one.export()) == list(many.export())
        assert one.counts(WORDS) == many.counts(WORDS)


@settings(max_examples=60, deadline=None)
@given(st.lists(entries, max_size=6), st.lists(entries, max_size=6), st.sampled_from([None, HALF_LIFE]))
def test_unlearning_leaves_the_very_counts_from_before(first, then, half_life):
    with TemporaryDirectory() as folder, Store(Path(folder, "a.db")) as store:
        store.learn([*first, StoredMessage(b"o" * 16, "ham", ["origin"], 0.0)])
        store.age(half_life)
        fresh = [e for e in then if store.find_label(e.digest) is None]
        before = (store.counts(WORDS), {k: v for k, v in store.totals().items() if v[0]})
        store.learn(fresh)
        store.unlearn(e.digest for e in fresh)
        padded = {w: tuple(by[: len(next(iter(before[0].values()), ()))]) for w, by in store.counts(WORDS).items()}
        assert (padded, {k: v for k, v in store.totals().items() if v[0]}) == before
