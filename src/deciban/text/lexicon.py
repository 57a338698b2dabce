"""Lexicon: the words seen so far and their numbers, in tables that kernels fill and look up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from deciban.kernels import word_lookup
from deciban.kernels.tokenizer import Alphabet, TokenArrays, find_tokens, prepare_characters
from deciban.ledger import Vocabulary
from deciban.ledger.hashing import SURROGATES, hash_word
from deciban.text.character_tables import Kind, build_alphabet
from deciban.text.documents import Bytes, Documents, Offsets
from deciban.text.words import Words

INITIAL_WORDS = 1 << 15
"""The number of words for which tables are allocated at first: they fit into the cache of a core."""

NO_NUMBERS = np.empty(0, dtype=np.int64)

Numbers = NDArray[np.int64]


class Stream(NamedTuple):
    """The numbers of the counted words of documents, those of document i from bounds[i] to bounds[i + 1]."""

    numbers: Numbers
    bounds: Numbers


class TokenBuffers:
    """Buffers for the tokens of some documents, for their numbers and for those of their n-grams.

    They are reused for the next documents, as new memory costs time.
    """

    def __init__(self) -> None:
        self._allocate(0, 0)
        self.ngrams = NO_NUMBERS

    def _allocate(self, tokens: int, n_bytes: int) -> None:
        hashes, contents = np.empty(tokens, np.uint64), np.empty(tokens, np.uint64)
        sizes, self.numbers = np.empty(tokens, np.int64), np.empty(tokens, np.int64)
        self.tokens = TokenArrays(hashes, contents, sizes, np.empty(n_bytes, np.uint8))

    def reserve(self, n_documents: int, n_bytes: int) -> None:
        """Grow the buffers of tokens for documents of this size."""
        tokens, text_bytes = n_bytes // 2 + n_documents + 1, 2 * n_bytes + 32
        if tokens > len(self.numbers) or text_bytes > len(self.tokens.texts):
            self._allocate(max(tokens, len(self.numbers)), max(text_bytes, len(self.tokens.texts)))

    def reserve_ngrams(self, most: int) -> None:
        """Grow the buffer of n-grams for this many numbers."""
        if most > len(self.ngrams):
            self.ngrams = np.empty(most, np.int64)


class Lexicon:
    """Numbers for words in the order of their first occurrence; where it does not grow, new ones are UNKNOWN.

    The first `n_stop` words are stop words, which are left out. `place` is the column of each word, where that is
    not its number.
    """

    def __init__(self, words: Words, capacity: int = INITIAL_WORDS) -> None:
        self.words, self.grows = words, True
        self.n_words = self.n_stop = self.end = 0
        self.hashes, self.begin, self.size = np.zeros(0, np.uint64), NO_NUMBERS, NO_NUMBERS
        self.pair = np.zeros(0, np.uint64)
        self.pairs = np.zeros(0, dtype=np.uint64)
        self.text = np.empty(16 * capacity, dtype=np.uint8)
        self.place = np.zeros(0, dtype=np.int32)
        self._allocate(max(capacity, 2 * word_lookup.BLOCK))
        if words.stop and words.hashed is None:
            self._add_stop_words(words.stop)

    @property
    def table(self) -> word_lookup.WordTable:
        """The hash table of single words."""
        return word_lookup.WordTable(self.slots, self.hashes, self.begin, self.size, self.text)

    @property
    def has_ngrams(self) -> bool:
        """Whether words form n-grams with their neighbours."""
        return self.words.span[1] > 1 and not self.words.by_character

    def _allocate(self, capacity: int) -> None:
        """Allocate tables for `capacity` words, and insert the known ones."""
        self.capacity = capacity
        self.hashes, self.begin, self.size = (_grow(a, capacity) for a in (self.hashes, self.begin, self.size))
        if self.has_ngrams:
            self.pair, self.pairs = _grow(self.pair, capacity), np.zeros(2 * capacity, dtype=np.uint64)
            self.pair[self.n_words :] = word_lookup.NO_NGRAM
            word_lookup.insert_ngrams(self.n_words, self.pair, self.pairs)
        self.slots = np.zeros(2 * capacity, dtype=np.uint64)
        word_lookup.insert_words(self.n_words, self.hashes, self.pair, self.slots)

    def _add_stop_words(self, stops: Iterable[str]) -> None:
        listed = Documents([word for word in stops if word and " " not in word])
        self._find_words(*listed.utf8, np.arange(len(listed)), build_alphabet("space", False), 1, TokenBuffers())
        self.n_stop = self.n_words

    def read(self, documents: Documents, order: Numbers, buffers: TokenBuffers) -> Stream:
        """Return the counted words of these documents, in this order; valid until the buffers are used again."""
        kind: Kind = "words" if self.words.tokens == "words" else "whitespace"
        tokens, is_special = self._find_tokens(
            *documents.utf8, order, build_alphabet(kind, self.words.lower), buffers
        )
        if is_special:  # Σ and İ: Python computes the lower case of such a text
            lowered = Documents([(documents.text(d) or "").lower() for d in order.tolist()])
            tokens, _ = self._find_tokens(*lowered.utf8, np.arange(len(order)), build_alphabet(kind, False), buffers)
        return self._join_ngrams(tokens, self.words.span[0], buffers) if self.has_ngrams else tokens

    def _find_tokens(
        self, blob: Bytes, offsets: Offsets, order: Numbers, alphabet: Alphabet, buffers: TokenBuffers
    ) -> tuple[Stream, bool]:
        if self.words.by_character:
            return self._find_character_ngrams(blob, offsets, order, alphabet)
        return self._find_words(blob, offsets, order, alphabet, self.words.least_length or 1, buffers)

    def _find_words(
        self, blob: Bytes, offsets: Offsets, order: Numbers, alphabet: Alphabet, least: int, buffers: TokenBuffers
    ) -> tuple[Stream, bool]:
        buffers.reserve(len(order), int((offsets[order + 1] - offsets[order]).sum()))
        bounds, is_special = np.zeros(len(order) + 1, dtype=np.int64), np.zeros(len(order), dtype=np.uint8)
        find_tokens(blob, offsets, order, alphabet, least, buffers.tokens, bounds, is_special)
        stream = self._look_up(buffers, bounds) if self.words.hashed is None else self._to_columns(buffers, bounds)
        return stream, bool(is_special.any())

    def _look_up(self, buffers: TokenBuffers, bounds: Numbers) -> Stream:
        n = int(bounds[-1])
        self._grow_text(int(buffers.tokens.sizes[:n].sum()) + 32)
        state = np.array([0, 0, self.n_words, self.end])
        while not word_lookup.look_up(
            buffers.tokens, n, self.grows, self.capacity, self.table, state, buffers.numbers
        ):
            self.n_words = int(state[word_lookup.WORDS])
            self._allocate(2 * self.capacity)
        self._update_sizes(state)
        if not self.n_stop:
            return Stream(buffers.numbers[:n], bounds)
        kept = np.zeros_like(bounds)
        n = word_lookup.remove_stop_words(self.n_stop, buffers.numbers, bounds, kept)
        return Stream(buffers.numbers[:n], kept)

    def _to_columns(self, buffers: TokenBuffers, bounds: Numbers) -> Stream:
        """Return the columns of hashed tokens without stop words, or their hashes where n-grams follow."""
        hashes = buffers.tokens.hashes[: bounds[-1]]
        if self.words.stop:
            stops = [hash_word(word.encode("utf-8", SURROGATES)) for word in self.words.stop]
            kept = ~np.isin(hashes, np.array(stops, dtype=np.uint64))
            hashes, bounds = hashes[kept], np.concatenate([[0], np.cumsum(kept)])[bounds]
        numbers = hashes.view(np.int64)
        return Stream(numbers if self.has_ngrams else numbers & self.mask, bounds)

    @property
    def mask(self) -> int:
        """The bits of a hash that are the column; 0 where words are kept."""
        return max(0, self.words.n_columns - 1)

    def _update_sizes(self, state: Numbers) -> None:
        if self.grows:
            self.n_words, self.end = int(state[word_lookup.WORDS]), int(state[word_lookup.END])

    def _grow_text(self, n_bytes: int) -> None:
        """Grow the buffer for the texts of new words."""
        if self.grows and len(self.text) < self.end + n_bytes:
            self.text = _grow(self.text, max(2 * len(self.text), self.end + n_bytes), self.end)

    def _join_ngrams(self, tokens: Stream, low: int, buffers: TokenBuffers) -> Stream:
        longest = int(np.diff(tokens.bounds).max(initial=0))
        high = min(self.words.span[1], longest)  # longer n-grams than any document's take no memory
        if high < low:
            return Stream(NO_NUMBERS, np.zeros_like(tokens.bounds))
        buffers.reserve_ngrams(len(tokens.numbers) * (high - low + 1) + 1)
        numbers, bounds = buffers.ngrams, np.zeros_like(tokens.bounds)
        if self.words.hashed is not None:
            n = word_lookup.hash_ngrams(*tokens, low, high, np.uint64(self.mask), numbers, bounds)
        else:
            n = word_lookup.collect_ngrams(self._levels(tokens, low, high), tokens.bounds, numbers, bounds)
        return Stream(numbers[:n], bounds)

    def _levels(self, tokens: Stream, low: int, high: int) -> Any:
        """Return the numbers of n-grams of `low` to `high` tokens, one row per length, at their first token."""
        levels = np.empty((high, len(tokens.numbers)), dtype=np.int64)
        levels[0] = tokens.numbers
        for n in range(2, high + 1):
            state = np.array([0, 0, self.n_words, self.end, 0])
            while not word_lookup.number_ngrams(
                n, levels[n - 2], *tokens, self.grows, self.capacity, self.pairs, self.hashes, self.begin, self.pair,
                state, levels[n - 1],
            ):  # fmt: skip
                self.n_words = int(state[word_lookup.WORDS])
                self._allocate(2 * self.capacity)
            self._update_sizes(state)
        return levels[low - 1 :]

    def _find_character_ngrams(
        self, blob: Bytes, offsets: Offsets, order: Numbers, alphabet: Alphabet
    ) -> tuple[Stream, bool]:
        low, high = self.words.span
        in_words = self.words.tokens == "characters in words"
        longest = int((offsets[order + 1] - offsets[order]).max(initial=0))
        lowered, marks = np.empty(2 * longest + 8, dtype=np.uint8), np.empty(longest + 4, dtype=np.int64)
        streams, bounds = [], [0]
        for d in order.tolist():
            a, b = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
            n = prepare_characters(blob, a, b, alphabet, in_words, lowered, marks)
            if n < 0:
                return Stream(NO_NUMBERS, NO_NUMBERS), True
            streams.append(self._number_characters(lowered, marks, n, in_words, low, high))
            bounds.append(bounds[-1] + len(streams[-1]))
        return Stream(np.concatenate([NO_NUMBERS, *streams]), np.array(bounds)), False

    def _number_characters(
        self, lowered: Bytes, marks: Numbers, n: int, in_words: bool, low: int, high: int
    ) -> Numbers:
        high = max(low, min(high, n))  # n-grams longer than the document take no memory
        numbers = np.empty(n * (high - low + 1) + 1, dtype=np.int64)
        state = np.array([0, 0, self.n_words, self.end, 0])
        while not word_lookup.number_character_ngrams(
            lowered, marks, n, in_words, low, high, np.uint64(self.mask), self.grows, self.capacity, self.table,
            state, numbers,
        ):  # fmt: skip
            self._update_sizes(state)
            self._grow_text(4 * high * high + 16)
            if self.n_words + high > self.capacity:
                self._allocate(2 * self.capacity)
        self._update_sizes(state)
        return numbers[: state[word_lookup.OUT]]

    def write_texts(self) -> None:
        """Write the texts of n-grams, which are stored as pairs of words."""
        if self.has_ngrams:
            self._grow_text(int(word_lookup.measure_ngram_texts(self.n_words, self.begin, self.size, self.pair)) + 16)
            self.end = int(
                word_lookup.write_ngram_texts(self.n_words, self.text, self.begin, self.size, self.pair, self.end)
            )


def _grow(array: Any, capacity: int, used: int | None = None) -> Any:
    out = np.empty(capacity, dtype=array.dtype)
    n = len(array) if used is None else used
    out[:n] = array[:n]
    return out


_lexicons: WeakKeyDictionary[Vocabulary, dict[str, Lexicon]] = WeakKeyDictionary()
"""Lexicons of vocabularies in use: built once, as every prediction needs them."""


def fixed_lexicon(words: Words, vocabulary: Vocabulary | None) -> Lexicon:
    """Return the lexicon of exactly these words, which does not grow."""
    if vocabulary is None:
        return Lexicon(words, 1)
    lexicons = _lexicons.setdefault(vocabulary, {})
    if words.fingerprint not in lexicons:
        lexicons[words.fingerprint] = _build_fixed(words, vocabulary)
    return lexicons[words.fingerprint]


def _build_fixed(words: Words, vocabulary: Vocabulary) -> Lexicon:
    n = len(vocabulary)
    lexicon = Lexicon(words, max(INITIAL_WORDS, 1 << n.bit_length()))
    if lexicon.has_ngrams:
        _add_ngrams(lexicon, vocabulary)
    else:
        lexicon.n_words, lexicon.text = n, vocabulary.blob
        lexicon.hashes = np.ascontiguousarray(vocabulary.hashes)
        lexicon.begin, lexicon.size = vocabulary.offsets[:-1].copy(), np.diff(vocabulary.offsets)
        lexicon.slots = np.zeros(2 * lexicon.capacity, dtype=np.uint64)
        word_lookup.insert_words(n, lexicon.hashes, lexicon.pair, lexicon.slots)
        lexicon.n_stop = 0
    lexicon.grows = False
    return lexicon


def _add_ngrams(lexicon: Lexicon, vocabulary: Vocabulary) -> None:
    """Add n-grams by adding their words."""
    n = len(vocabulary)
    buffers, (low, high) = TokenBuffers(), lexicon.words.span
    parts, _ = lexicon._find_words(
        vocabulary.blob, vocabulary.offsets, np.arange(n), build_alphabet("space", False), 1, buffers
    )
    runs = lexicon._join_ngrams(parts, 1, buffers)
    n_parts = np.diff(parts.bounds)
    entry = np.flatnonzero((n_parts >= low) & (n_parts <= high))
    lexicon.place = np.full(lexicon.n_words, -1, dtype=np.int32)
    lexicon.place[runs.numbers[runs.bounds[entry + 1] - 1]] = entry  # the longest run comes last
