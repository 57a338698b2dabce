"""Numbers of tokens packed into few bytes: sorted, each as its difference from the one before, seven bits to a byte.

Deflating the result saved 5 % more on 6000 messages of 300 tokens (1.51 to 1.44 bytes a token) and took 0.3 s, as
long as adding all their words to the table; so it is not done.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def pack(numbers: Numbers, n: Numbers) -> list[bytes]:
    """Return the bytes of each message, of which the first has the first n[0] numbers, in rising order.

    >>> pack(np.array([3, 4, 300, 7]), np.array([3, 1]))
    [b'\\x03\\x01\\xa8\\x02', b'\\x07']
    """
    steps = numbers.copy()
    steps[1:] -= numbers[:-1]
    first = np.cumsum(n) - n
    some = first[n > 0]
    steps[some] = numbers[some]
    at = _byte_offsets(steps)
    steps = steps.astype(np.uint32) if steps.max(initial=0) < 1 << 32 else steps
    whole = np.empty(at[-1], dtype=np.uint8)
    cuts = at[np.concatenate([first, [len(numbers)]])].tolist()
    at = at[:-1]
    while len(steps):
        more = steps > 127
        whole[at] = (steps & 127) | more << 7
        at, steps = at[more] + 1, steps[more] >> 7
    packed = whole.tobytes()
    return [packed[a:b] for a, b in pairwise(cuts)]


def _byte_offsets(steps: Numbers) -> Numbers:
    """Return where the bytes of each number begin, and where the last ends."""
    width = np.ones(len(steps), dtype=np.int64)
    for bits in range(7, int(steps.max(initial=0)).bit_length(), 7):
        width += steps >> bits > 0
    return np.concatenate([[0], np.cumsum(width)])


def unpack(blobs: list[bytes]) -> tuple[Numbers, Numbers]:
    """Return the numbers of all messages, message after message, and how many each has.

    >>> unpack([b"\\x03\\x01\\xa8\\x02", b"", b"\\x07"])
    (array([  3,   4, 300,   7]), array([3, 0, 1]))
    """
    packed = np.frombuffer(b"".join(blobs), dtype=np.uint8)
    last = np.flatnonzero(packed < 128)
    begin = np.concatenate([[0], last[:-1] + 1])[: len(last)]
    steps = np.zeros(len(last), dtype=np.int64)
    width = last - begin + 1
    for place in range(int(width.max(initial=0))):
        at = np.flatnonzero(width > place)
        steps[at] |= (packed[begin[at] + place] & np.uint8(127)).astype(np.int64) << 7 * place
    ends = np.cumsum(np.fromiter(map(len, blobs), dtype=np.int64, count=len(blobs)))
    upto = np.searchsorted(last, ends)  # numbers that end before a message's last byte does
    n = np.diff(upto, prepend=0)
    total = np.concatenate([[0], np.cumsum(steps)])
    return total[1:] - np.repeat(total[upto - n], n), n
