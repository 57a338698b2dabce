"""Many messages at once: read by several processes, given back in their order.

The workers are fresh interpreters that know only how to read mail: nothing is forked, so an open store, threads and a
script without a main guard are all safe beside them. Messages are dealt out in turn, so that the numbers of tokens,
and all that is counted by them, are the same every time.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Final, NamedTuple

import numpy as np

from deciban.mail.entry import DIGEST_BYTES, spelled
from deciban.mail.numbering import Numbering, Said
from deciban.mail.packing import Numbers
from deciban.mail.reading import USUAL, Reading
from deciban.mail.workers import Worker, started

CHUNK: Final = 100
CHUNK_BYTES: Final = 1 << 20
"""Messages go to a worker by the hundred, or by the megabyte."""

AHEAD: Final = 8
"""Chunks that each worker has before the first of them is wanted back: enough for while a batch is learned."""

FEW: Final = 300
"""So many messages are read before a worker would have started."""


class Bundle(NamedTuple):
    """Some messages: digests (if they were wanted), how many tokens each has, and which, as places among words."""

    digests: list[bytes]
    sizes: Numbers
    which: Numbers
    cut: dict[int, tuple[str, ...]]
    """What bounds left out, of the messages of which something was."""


class Words(defaultdict[str, int]):
    """The tokens of many messages, each with its place, in the order they are met."""

    def __init__(self) -> None:
        super().__init__(count().__next__)
        self.times = 0
        """How often they were forgotten."""

    def begin_anew(self) -> None:
        """Forget all of them."""
        self.clear()
        self.default_factory = count().__next__
        self.times += 1


def bundles_of(
    raws: Iterable[bytes], words: Words, processes: int, reading: Reading = USUAL, digests: bool = True
) -> Iterator[Bundle]:
    r"""Messages in order, read by so many processes beside this one; `words` gets their tokens.

    >>> words = Words()
    >>> [bundle] = bundles_of([b"Subject: Hi\n\nYou", b"\nHi you"], words, processes=2)
    >>> [word for word, place in words.items() if place in bundle.which[bundle.sizes[0] :] and len(word) < 5]
    ['you', 'hi']
    """
    raws = iter(raws)
    first = list(islice(raws, FEW if processes > 1 else 0))
    chunks = _chunks(chain(first, raws))
    if workers := started(processes, reading, digests) if len(first) == FEW else []:
        yield from _read_beside(chunks, words, workers)
    else:
        here, ours = Numbering(reading), Translation(words)
        for chunk in chunks:
            yield ours.of(here.said(chunk, digests))


def _chunks(raws: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for each in raws:
        chunk.append(each)
        size += len(each)
        if len(chunk) >= CHUNK or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _read_beside(chunks: Iterator[list[bytes]], words: Words, workers: Sequence[Worker]) -> Iterator[Bundle]:
    translations = [Translation(words) for _ in workers]
    turns: deque[int] = deque()
    try:
        for i, chunk in enumerate(chunks):
            workers[i % len(workers)].ask(chunk)
            turns.append(i % len(workers))
            if len(turns) >= AHEAD * len(workers):
                turn = turns.popleft()
                yield translations[turn].of(workers[turn].answer())
        for turn in turns:
            yield translations[turn].of(workers[turn].answer())
    finally:
        for worker in workers:
            worker.stop()


class Translation:
    """From the numbers that one reader gives to tokens, to their places among all."""

    def __init__(self, words: Words) -> None:
        self._words, self._times = words, words.times
        self._theirs: list[str] = []
        self._ours = np.empty(0, dtype=np.int64)

    def of(self, said: Said) -> Bundle:
        """What a reader said."""
        fresh, new, digests, sizes, which, cut = said
        if fresh:
            self._theirs, self._ours = [], self._ours[:0]
        more = spelled(new.split("\n")) if new or fresh else ()
        self._theirs += more
        self._ours = np.concatenate([self._ours, np.full(len(more), -1)])
        each = [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]
        places = self._places(np.frombuffer(which, dtype=np.uint32))
        return Bundle(each, np.frombuffer(sizes, dtype=np.uint32).astype(np.int64), places, cut)

    def _places(self, numbers: np.ndarray) -> Numbers:
        if self._times != self._words.times:
            self._ours.fill(-1)
            self._times = self._words.times
        places = self._ours[numbers]
        if len(places) and places.min() < 0:
            lack = np.unique(numbers[places < 0])
            met = map(self._words.__getitem__, map(self._theirs.__getitem__, lack.tolist()))
            self._ours[lack] = np.fromiter(met, dtype=np.int64, count=len(lack))
            places = self._ours[numbers]
        return places
