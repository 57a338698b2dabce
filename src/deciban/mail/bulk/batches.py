"""Messages gathered for learning: read in bulk, and handed over in batches, each for a transaction of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import time as now
from typing import Any

import numpy as np

from deciban.mail.bulk.read_batches import Waiting, Words, read_batches
from deciban.mail.bulk.reader_processes import ReaderPool
from deciban.mail.sources.raw_message import MessageInput
from deciban.mail.store.packing import Numbers
from deciban.mail.store.stored_message import Entry
from deciban.mail.store.token_batch import Flat, Memory
from deciban.mail.tokens.token_options import TokenOptions

Batch = tuple[list[Entry], Flat]

MOST_WORDS, MOST_TOKENS = 1 << 20, 1 << 24
"""Different words, and tokens in all, that a batch has at most, and some more: memory is not for mail to fill."""


def batches(
    labelled: Iterable[tuple[str, MessageInput]],
    processes: int | ReaderPool[Any] | None,
    reading: TokenOptions,
    most: int,
) -> Iterator[Batch]:
    r"""So many messages at a time, or fewer if they are full of new words, with their tokens in a row.

    >>> [(heads, flat)] = batches([("ham", ("1", b"\nTea at four"))], 1, TokenOptions(names=False), 10)
    >>> heads[0].label, sorted(flat.places)
    ('ham', ['at', 'four', 'tea', 'type:text/plain'])
    """
    words, waiting, memory = Words(), Waiting(), Memory()

    heads: list[Entry] = []
    sizes: list[Numbers] = []
    which: list[Numbers] = []
    tokens = 0
    for bundle in read_batches(waiting.given(labelled), words, processes, reading):
        for digest, (label, _, time) in zip(bundle.digests, waiting.met(bundle), strict=True):
            heads.append(Entry(digest, label, (), _past(time)))
        sizes.append(bundle.sizes)
        which.append(bundle.which)
        tokens += len(bundle.which)
        if len(heads) >= most or len(words) >= MOST_WORDS or tokens >= MOST_TOKENS:
            yield heads, Flat(np.concatenate(sizes), np.concatenate(which), words, memory)
            words.begin_anew()
            heads, sizes, which, tokens = [], [], [], 0
    if heads:
        yield heads, Flat(np.concatenate(sizes), np.concatenate(which), words, memory)


def _past(time: float | None) -> float:
    """When a message came; what is not said, or said to come yet, came now."""
    return now() if time is None else min(time, now())
