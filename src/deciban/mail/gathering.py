"""Messages gathered for learning: read in bulk, and handed over in batches, each for a transaction of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from time import time as now

import numpy as np

from deciban.mail.bulk import Words, bundles_of
from deciban.mail.entry import Entry
from deciban.mail.flattened import Flat
from deciban.mail.found import Found, Given, named
from deciban.mail.packing import Numbers
from deciban.mail.reading import Reading

Batch = tuple[list[Entry], Flat]

MOST_WORDS, MOST_TOKENS = 1 << 20, 1 << 24
"""Different words, and tokens in all, that a batch has at most, and some more: memory is not for mail to fill."""


def batches(labelled: Iterable[tuple[str, Given]], processes: int, reading: Reading, most: int) -> Iterator[Batch]:
    r"""So many messages at a time, or fewer if they are full of new words, with their tokens in a row.

    >>> [(heads, flat)] = batches([("ham", ("1", b"\nTea at four"))], 1, Reading(structure=False, names=False), 10)
    >>> heads[0].label, sorted(flat.places)
    ('ham', ['at', 'four', 'tea'])
    """
    words, waiting = Words(), deque[tuple[str, float]]()

    def raws() -> Iterator[bytes]:
        for label, each in labelled:
            waiting.append((label, _came(each)))
            yield named(each)[1]

    heads: list[Entry] = []
    sizes: list[Numbers] = []
    which: list[Numbers] = []
    tokens = 0
    for bundle in bundles_of(raws(), words, processes, reading):
        for digest in bundle.digests:
            label, time = waiting.popleft()
            heads.append(Entry(digest, label, (), time))
        sizes.append(bundle.sizes)
        which.append(bundle.which)
        tokens += len(bundle.which)
        if len(heads) >= most or len(words) >= MOST_WORDS or tokens >= MOST_TOKENS:
            yield heads, Flat(np.concatenate(sizes), np.concatenate(which), words)
            words.begin_anew()
            heads, sizes, which, tokens = [], [], [], 0
    if heads:
        yield heads, Flat(np.concatenate(sizes), np.concatenate(which), words)


def _came(each: Given) -> float:
    """When a message came; what is said to come yet came now."""
    time = each.time if isinstance(each, Found) else None
    return now() if time is None else min(time, now())
