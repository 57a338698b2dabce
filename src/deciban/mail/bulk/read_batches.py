"""Many messages at once: read by several processes, given back in their order.

The workers are fresh interpreters that know only how to read mail: nothing is forked, so an open store, threads and a
script without a main guard are all safe beside them. Messages are dealt out in turn, so that the numbers of tokens,
and all that is counted by them, are the same every time.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, cycle, islice
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from deciban.errors import InputError
from deciban.mail.bulk.reader_processes import Answer, Heads, ReaderPool, Sent, Worker, answer_to
from deciban.mail.bulk.token_numbers import Said, TokenNumberer
from deciban.mail.sources.raw_message import MessageFile, MessageInput, Problem, RawMessage, name_and_content
from deciban.mail.store.packing import Numbers
from deciban.mail.store.stored_message import DIGEST_BYTES, replace_surrogates
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions

CHUNK: Final = 100
CHUNK_BYTES: Final = 1 << 20
"""Messages go to a worker by the hundred, or by the megabyte."""

AHEAD: Final = 8
"""Chunks that each worker has before the first of them is wanted back: enough for while a batch is learned."""

NOT_ASKED: Final = -2
"""The place of a word, before it was asked for."""

Chunk = list[bytes | MessageFile]


class TokenBatch(NamedTuple):
    """Some messages: digests (if they were wanted), how many tokens each has, and which, as places among words."""

    digests: list[bytes]
    sizes: Numbers
    which: Numbers
    cut: dict[int, tuple[str, ...]]
    """What bounds left out, of the messages of which something was."""
    given: int = 0
    """How many were given: messages, and files that were closed."""
    opened: Mapping[int, Heads] = {}
    """What each of these files holds; all others are one message."""


class Waiting:
    """What was given to be read, until it is known which messages it is: a file may hold none, or several."""

    def __init__(self) -> None:
        self._heads: deque[tuple[str, str, float | None]] = deque()

    def given(self, labelled: Iterable[tuple[str, MessageInput]]) -> Iterator[bytes | MessageFile]:
        """What there is to be read, of labels and messages."""
        for label, each in labelled:
            name, raw = name_and_content(each)
            self._heads.append((label, name, each.time if isinstance(each, RawMessage) else None))
            yield raw

    def met(self, bundle: TokenBatch) -> list[tuple[str, str, float | None]]:
        """Label, name and time of each message of the next bundle; files that hold none wait no longer either."""
        heads = [(i, *self._heads.popleft()) for i in range(bundle.given)]
        return [(label, *head) for i, label, name, time in heads for head in bundle.opened.get(i, [(name, time)])]


class Places(Protocol):
    """Where words stand, in whatever they stand."""

    times: int
    """How often they were forgotten: what was said before holds no longer."""

    def prepare(self) -> None:
        """Called while readers start: many words will come."""

    def places(self, words: Sequence[str], messages: int) -> Numbers:
        """Of words that so many messages have; -1 for those that stand nowhere."""


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

    def prepare(self) -> None:
        """See `Places.prepare`: there is nothing to do."""

    def places(self, words: Sequence[str], messages: int) -> Numbers:
        """See `Places.places`: a new word has the next place."""
        return np.fromiter(map(self.__getitem__, words), dtype=np.int64, count=len(words))


def read_batches(
    given: Iterable[bytes | MessageFile], words: Places, processes: int | ReaderPool[Any] | None, reading: TokenOptions = DEFAULT_OPTIONS,
    digests: bool = True,
) -> Iterator[TokenBatch]:  # fmt: skip
    r"""Messages in order, read by so many processes beside this one, or by those that were started for it.

    `words` says where their tokens stand.

    >>> words = Words()
    >>> [bundle] = read_batches([b"Subject: Hi\n\nYou", b"\nHi you"], words, processes=2)
    >>> [word for word, place in words.items() if place in bundle.which[bundle.sizes[0] :] and len(word) < 5]
    ['you', 'hi']
    """
    if not isinstance(processes, ReaderPool):
        processes = ReaderPool(given, processes, reading, digests)
        given = processes.given
    elif processes.way != (reading, digests):
        raise InputError(f"these readers were started to read in another way, {processes.way}")
    with processes as crew:
        if crew.workers:
            yield from _read_beside(_chunks(given), words, crew.workers)
            return
        here, ours = TokenNumberer(reading), Translation(words)
        for chunk in _chunks(given):
            yield _bundled(chunk, ours, answer_to(_sent(chunk), here, digests))


def _chunks(given: Iterable[bytes | MessageFile]) -> Iterator[Chunk]:
    chunk: Chunk = []
    size = 0
    for each in given:
        chunk.append(each)
        size += each.size if isinstance(each, MessageFile) else len(each)
        if len(chunk) >= CHUNK or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _read_beside(chunks: Iterator[Chunk], words: Places, workers: Sequence[Worker]) -> Iterator[TokenBatch]:
    translations = [Translation(words) for _ in workers]
    asked: deque[tuple[int, Chunk]] = deque()
    dealt = zip(cycle(range(len(workers))), chunks)

    def ask(most: int) -> None:
        for turn, chunk in islice(dealt, most):
            workers[turn].ask(_sent(chunk))
            asked.append((turn, chunk))

    ask(AHEAD * len(workers))
    words.prepare()
    while asked:
        turn, chunk = asked.popleft()
        yield _bundled(chunk, translations[turn], workers[turn].answer())
        ask(1)


def _sent(chunk: Chunk) -> list[Sent]:
    """Messages, and where files are."""
    return [(e.name, e.flags, e.time, e.is_single, e.trashed) if isinstance(e, MessageFile) else e for e in chunk]


def _bundled(chunk: Chunk, ours: Translation, answer: Answer) -> TokenBatch:
    """What came of a chunk; who gave a file is told of what could not be read of it."""
    said, opened, problems = answer
    for i, name, reason, messages in problems:
        file = chunk[i]
        assert isinstance(file, MessageFile)
        file.problems(Problem(name, reason, messages))
    return ours.of(said)._replace(given=len(chunk), opened=opened)


class Translation:
    """From the numbers that one reader gives to tokens, to their places among all."""

    def __init__(self, words: Places) -> None:
        self._words, self._times = words, words.times
        self._theirs: list[str] = []
        self._ours = np.empty(0, dtype=np.int64)

    def of(self, said: Said) -> TokenBatch:
        """What a reader said."""
        fresh, new, digests, sizes, which, cut = said
        if fresh:
            self._theirs, self._ours = [], self._ours[:0]
        more = replace_surrogates(new.split("\n")) if new or fresh else ()
        self._theirs += more
        self._ours = np.concatenate([self._ours, np.full(len(more), NOT_ASKED)])
        each = [digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES)]
        n = np.frombuffer(sizes, dtype=np.uint32).astype(np.int64)
        return TokenBatch(each, n, self._places(np.frombuffer(which, dtype=np.uint32), len(n)), cut)

    def _places(self, numbers: np.ndarray, messages: int) -> Numbers:
        wanted = np.zeros(len(self._ours), dtype=np.bool_)
        wanted[numbers] = True
        asked = -1
        while asked != self._words.times:  # again, if words were forgotten while they were asked for
            asked = self._forgotten()
            lack = np.flatnonzero(wanted & (self._ours == NOT_ASKED))
            self._ours[lack] = self._words.places(list(map(self._theirs.__getitem__, lack.tolist())), messages)
        return self._ours[numbers]

    def _forgotten(self) -> int:
        """How often words were forgotten; if that is news, no place holds."""
        if self._times != self._words.times:
            self._ours.fill(NOT_ASKED)
            self._times = self._words.times
        return self._times
