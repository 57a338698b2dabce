"""TokenBatch: messages as arrays of token indices, on their way into a store or to their verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.mail.store.packing import Numbers
from deciban.mail.store.stored_message import StoredMessage, check_message


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Some messages. Message i has the next sizes[i] of the indices, each of which is the index of a word."""

    sizes: Numbers
    indices: Numbers
    words: Sequence[str]
    digests: Sequence[bytes]
    labels: Sequence[str]
    times: Sequence[float | None]
    names: Sequence[str] = ()
    """Where each message was found."""
    omissions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Descriptions of the parts of a message that limits left out, by the message's position."""

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def from_messages(cls, messages: Sequence[StoredMessage]) -> TokenBatch:
        """Make a batch of messages whose tokens are lists."""
        numbers = word_numbers()
        sizes = np.fromiter((len(message.tokens) for message in messages), dtype=np.int64, count=len(messages))
        indices = number_words(list(chain.from_iterable(message.tokens for message in messages)), numbers)
        digests, labels, _, times = zip(*messages) if messages else ((), (), (), ())
        return cls(sizes, indices, list(numbers), digests, labels, times)

    def take(self, wanted: NDArray[np.bool_]) -> TokenBatch:
        """Return some of the messages, with the words that they have."""
        if wanted.all():
            return self
        used, indices = np.unique(self.indices[np.repeat(wanted, self.sizes)], return_inverse=True)
        at = np.flatnonzero(wanted).tolist()
        return TokenBatch(
            self.sizes[wanted], indices, [self.words[i] for i in used.tolist()], [self.digests[i] for i in at],
            [self.labels[i] for i in at], [self.times[i] for i in at],
        )  # fmt: skip

    def check(self) -> TokenBatch:
        """Return the batch with a time for each message, if all of it can be learned."""
        counts = np.bincount(self.indices, minlength=len(self.words))
        if len(self.digests) != len(self.sizes) or self.sizes.sum() != len(self.indices):
            raise InputError(
                f"tokens of {len(self.sizes)} messages do not fit together with {len(self.digests)} messages"
            )
        if len(counts) != len(self.words) or not counts.all():
            raise InputError("some words are of no message, or some tokens are no word")
        columns = zip(self.digests, self.labels, self.times, strict=True)
        checked = [check_message(StoredMessage(digest, label, (), time)) for digest, label, time in columns]
        return replace(self, times=[message.time for message in checked])

    def distinct_ranks(self, rank: Numbers) -> tuple[Numbers, Numbers]:
        """Return how many words each message has, and their ranks: rising within a message, each once."""
        pairs = np.repeat(np.arange(len(self.sizes)) << 32, self.sizes)
        pairs |= rank[self.indices]
        pairs.sort()
        if len(pairs):
            repeated = np.flatnonzero(pairs[1:] == pairs[:-1])
            pairs = np.delete(pairs, repeated) if len(repeated) else pairs
        sizes = np.diff(np.searchsorted(pairs, np.arange(len(self.sizes) + 1) << 32))
        return sizes, pairs & 0xFFFFFFFF


def concatenate(batches: Sequence[TokenBatch], indices: Sequence[Numbers], words: Iterable[str]) -> TokenBatch:
    """Join batches whose indices were renumbered to those of common words."""
    return TokenBatch(
        np.concatenate([batch.sizes for batch in batches]), np.concatenate(indices), list(words),
        list(chain.from_iterable(batch.digests for batch in batches)),
        list(chain.from_iterable(batch.labels for batch in batches)),
        list(chain.from_iterable(batch.times for batch in batches)),
    )  # fmt: skip


def word_numbers() -> defaultdict[str, int]:
    """Return a mapping that gives each new word the next number."""
    return defaultdict(count().__next__)


def number_words(words: Sequence[str], numbers: Mapping[str, int]) -> Numbers:
    """Return the number of each word."""
    return np.fromiter(map(numbers.__getitem__, words), dtype=np.int64, count=len(words))


class WordMemory:
    """All words of a store with their numbers, from one batch to the next, while nobody else changes the store."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.changes: int | None = None
        """The store's count of changes when these were all; None if they were not read, or some are gone."""
