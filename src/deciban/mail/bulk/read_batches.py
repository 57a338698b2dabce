"""Many messages read in bulk, by several processes, and returned in their order as batches of tokens.

Chunks of messages go to the processes in turn, so that the numbers of tokens, and all counts by them, are the same
every time.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import cycle, islice
from time import time as now
from typing import Any, Final

import numpy as np

from deciban.errors import InputError
from deciban.mail.bulk.reader_processes import ChunkItem, ChunkTokens, ReaderPool, read_chunk
from deciban.mail.sources.message_files import MessageFile, MessageInput, Problem, RawMessage
from deciban.mail.store import stored_messages
from deciban.mail.store.stored_messages import Numbers, TokenBatch, concatenate, number_words, word_numbers
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions

MAX_CHUNK_MESSAGES: Final = 100
"""Messages that go to a process at a time, unless they have MAX_CHUNK_BYTES before."""

MAX_CHUNK_BYTES: Final = 1 << 20

CHUNKS_AHEAD: Final = 8
"""Chunks that each process has before the first of them is wanted back: enough for while a batch is learned."""

MAX_BATCH_WORDS: Final = 1 << 20
"""Different words of a batch that is to be learned, and some more: mail must not fill the memory."""

MAX_BATCH_TOKENS: Final = 1 << 24
"""Tokens of a batch that is to be learned, and some more."""

LabelledInput = tuple[str, MessageInput]

Chunk = list[tuple[str, RawMessage | MessageFile]]
"""Messages that are read together, each with its label."""


def read_batches(
    labelled: Iterable[LabelledInput], processes: int | ReaderPool | None,
    options: TokenOptions = DEFAULT_OPTIONS, digests: bool = True,
) -> Iterator[TokenBatch]:  # fmt: skip
    r"""Read labelled messages in order, by so many processes or by those of a pool that was made for them.

    >>> [batch] = read_batches([("ham", ("a", b"\nHi you")), ("", ("b", b"\nYou"))], processes=2)
    >>> last = [batch.words[i] for i in batch.indices[batch.sizes[0] :]]
    >>> batch.names, batch.labels, [word for word in last if ":" not in word]
    (['a', 'b'], ['ham', ''], ['you'])
    """
    if not isinstance(processes, ReaderPool):
        processes = ReaderPool(labelled, processes, options, digests)
        labelled = processes.messages
    elif processes.settings != (options, digests):
        raise InputError(f"these readers were started to read in another way, {processes.settings}")
    with processes as pool:
        chunks = _split_into_chunks(labelled)
        if not pool.workers:
            for chunk in chunks:
                yield _make_batch(chunk, read_chunk(_chunk_items(chunk), options, digests))
            return
        requested: deque[Any] = deque()
        turns = zip(cycle(pool.workers), chunks)
        while True:
            for worker, chunk in islice(turns, 1 if requested else CHUNKS_AHEAD * len(pool.workers)):
                worker.request(_chunk_items(chunk))
                requested.append((worker, chunk))
            if not requested:
                return
            worker, chunk = requested.popleft()
            yield _make_batch(chunk, worker.receive())


def _split_into_chunks(labelled: Iterable[LabelledInput]) -> Iterator[Chunk]:
    """Yield messages in chunks of MAX_CHUNK_MESSAGES, or fewer if these have MAX_CHUNK_BYTES."""
    chunk: Chunk = []
    size = 0
    for label, given in labelled:
        message = given if isinstance(given, RawMessage | MessageFile) else RawMessage(*given)
        chunk.append((label, message))
        size += message.size if isinstance(message, MessageFile) else len(message.raw)
        if len(chunk) >= MAX_CHUNK_MESSAGES or size >= MAX_CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _chunk_items(chunk: Chunk) -> list[ChunkItem]:
    """Return the messages of a chunk in the form in which a process can send them to another."""
    return [m[:5] if isinstance(m, MessageFile) else m.raw for _, m in chunk]


def _make_batch(chunk: Chunk, found: ChunkTokens) -> TokenBatch:
    """Put the tokens of a chunk together with the labels, names and times; report what could not be read."""
    for i, name, reason, messages, is_mail in found.problems:
        _, file = chunk[i]
        assert isinstance(file, MessageFile)
        file.problems(Problem(name, reason, messages, is_mail))
    labels, names, times = [], [], []
    for i, (label, message) in enumerate(chunk):
        for name, time in found.opened[i] if isinstance(message, MessageFile) else [(message.name, message.time)]:
            labels.append(label)
            names.append(name)
            times.append(time)
    words = list(stored_messages.replace_surrogates(found.words.split("\n"))) if found.words else []
    sizes, indices = (np.frombuffer(data, dtype=np.uint32).astype(np.int64) for data in (found.sizes, found.indices))
    return TokenBatch(sizes, indices, words, found.digests, labels, times, names, found.omissions, found.headings)


def gather_batches(
    labelled: Iterable[LabelledInput], processes: int | ReaderPool | None, options: TokenOptions,
    batch_messages: int,
) -> Iterator[TokenBatch]:  # fmt: skip
    r"""Read messages to be learned, in batches of so many or some more, or of fewer if they are full of new words.

    A message without a time, or with one that is still to come, gets the present time.

    >>> [batch] = gather_batches([("ham", ("1", b"\nTea at four"))], 1, TokenOptions(names=False), 10)
    >>> batch.labels, sorted(batch.words)
    (['ham'], ['at', 'four', 'tea', 'type:text/plain'])
    """
    batches: list[TokenBatch] = []
    indices: list[Numbers] = []
    numbers = word_numbers()
    for batch in read_batches(labelled, processes, options):
        times = [now() if time is None else min(time, now()) for time in batch.times]
        batches.append(replace(batch, times=times))
        indices.append(number_words(batch.words, numbers)[batch.indices])
        if (
            sum(map(len, batches)) >= batch_messages
            or len(numbers) >= MAX_BATCH_WORDS
            or sum(map(len, indices)) >= MAX_BATCH_TOKENS
        ):
            yield concatenate(batches, indices, numbers)
            batches, indices, numbers = [], [], word_numbers()
    if batches:
        yield concatenate(batches, indices, numbers)
