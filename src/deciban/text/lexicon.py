"""Lexicon: the words seen so far and their numbers, in tables that kernels fill and look up."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from deciban.kernels import word_lookup
from deciban.kernels.tokenizer import PUNCTUATION_KIND, Alphabet, TokenArrays, find_tokens, prepare_characters
from deciban.ledger import Vocabulary
from deciban.ledger.hashing import SURROGATES, hash_word
from deciban.text.character_tables import Kind, build_alphabet
from deciban.text.documents import Bytes, Documents, Offsets
from deciban.text.words import Words

INITIAL_WORDS = 1 << 15
"""The number of words for which tables are allocated at first: they fit into the cache of a core."""

NO_NUMBERS = np.empty(0, dtype=np.int64)

Numbers = NDArray[np.int64]


class WordNumbers(NamedTuple):
    """The numbers (if hashed, the columns) of counted words, those of document i from bounds[i] to bounds[i + 1]."""

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

    def reserve(self, n_documents: int, n_bytes: int, min_token_bytes: int) -> None:
        """Allocate larger buffers if documents of this size need them; contents are lost.

        `min_token_bytes` is the least number of bytes of a token with the character that separates it from the next.
        """
        tokens, text_bytes = n_bytes // min_token_bytes + n_documents + 1, 2 * n_bytes + 32
        if tokens > len(self.numbers) or text_bytes > len(self.tokens.texts):
            self._allocate(max(tokens, len(self.numbers)), max(text_bytes, len(self.tokens.texts)))

    def reserve_ngrams(self, n_numbers: int) -> None:
        """Allocate a larger buffer of n-grams if this many numbers need it; its contents are lost."""
        if n_numbers > len(self.ngrams):
            self.ngrams = np.empty(n_numbers, np.int64)


class Lexicon:
    """A hash table that numbers words, and n-grams among them, in the order in which they are added.

    `settings` are the tokenizer's. If the lexicon does not grow, a new word has the number NO_WORD. The first
    `n_stop` numbers are stop words, which are removed (hashed words: by their hashes, and `n_stop` is 0).
    `column_of[number]` is the column of a word (−1: none); it is empty if the column is the number.

    The text of word i is `text[begin[i] : begin[i] + size[i]]`. `ngram_parts` has, for an n-gram, the numbers of its
    first n − 1 words and of its last word; `slots` and `ngram_slots` are the hash tables of words and of n-grams.
    """

    def __init__(self, settings: Words, capacity: int = INITIAL_WORDS) -> None:
        self.settings, self.grows = settings, True
        self.n_words = self.n_stop = self.n_text_bytes = 0
        self.hashes, self.begin, self.size = np.zeros(0, np.uint64), NO_NUMBERS, NO_NUMBERS
        self.ngram_parts = np.zeros(0, np.uint64)
        self.ngram_slots = np.zeros(0, dtype=np.uint64)
        self.text = np.empty(16 * capacity, dtype=np.uint8)
        self.column_of = np.zeros(0, dtype=np.int32)
        self._allocate(max(capacity, 2 * word_lookup.BLOCK))
        if settings.stop and settings.hashed is None:
            self._add_stop_words(settings.stop)

    @property
    def table(self) -> word_lookup.WordTable:
        """The hash table of single words."""
        return word_lookup.WordTable(self.slots, self.hashes, self.begin, self.size, self.text)

    @property
    def has_word_ngrams(self) -> bool:
        """Whether words form n-grams with their neighbours."""
        return self.settings.span[1] > 1 and not self.settings.by_character

    def _allocate(self, capacity: int) -> None:
        """Allocate tables for `capacity` words, and insert the known ones."""
        self.capacity = capacity
        self.hashes, self.begin, self.size = (_grow(a, capacity) for a in (self.hashes, self.begin, self.size))
        if self.has_word_ngrams:
            self.ngram_parts = _grow(self.ngram_parts, capacity)
            self.ngram_slots = np.zeros(2 * capacity, dtype=np.uint64)
            self.ngram_parts[self.n_words :] = word_lookup.NO_NGRAM
            word_lookup.insert_ngrams(self.n_words, self.ngram_parts, self.ngram_slots)
        self.slots = np.zeros(2 * capacity, dtype=np.uint64)
        word_lookup.insert_words(self.n_words, self.hashes, self.ngram_parts, self.slots)

    def _add_stop_words(self, stops: Iterable[str]) -> None:
        """Add the stop words as the first words; one with a space is never a token."""
        listed = Documents([word for word in stops if word and " " not in word])
        self._read_words(*listed.utf8, np.arange(len(listed)), build_alphabet("space", False), 1, TokenBuffers())
        self.n_stop = self.n_words

    def read(self, documents: Documents, order: Numbers, buffers: TokenBuffers) -> WordNumbers:
        """Return the counted words of the documents with the indices `order`; valid until the buffers are reused.

        An unknown word has the number NO_WORD; where n-grams are counted, unknown words and n-grams are left out.
        If a document needs Python's lower-casing, Python lower-cases all of them.
        """
        kind: Kind = "whitespace" if self.settings.by_character else self.settings.tokens  # type: ignore[assignment]
        tokens, is_special = self._read_tokens(
            *documents.utf8, order, build_alphabet(kind, self.settings.lower), buffers
        )
        if is_special:  # Σ and İ: Python computes the lower case of such a text
            lowered = Documents([(documents.text(d) or "").lower() for d in order.tolist()])
            tokens, _ = self._read_tokens(*lowered.utf8, np.arange(len(order)), build_alphabet(kind, False), buffers)
        return self._join_ngrams(tokens, self.settings.span[0], buffers) if self.has_word_ngrams else tokens

    def _read_tokens(
        self, blob: Bytes, offsets: Offsets, order: Numbers, alphabet: Alphabet, buffers: TokenBuffers
    ) -> tuple[WordNumbers, bool]:
        """Return words, not yet joined, or character n-grams; and if a document needs Python's lower-casing."""
        if self.settings.by_character:
            return self._read_character_ngrams(blob, offsets, order, alphabet)
        return self._read_words(blob, offsets, order, alphabet, self.settings.least_length or 1, buffers)

    def _read_words(
        self, blob: Bytes, offsets: Offsets, order: Numbers, alphabet: Alphabet, min_characters: int,
        buffers: TokenBuffers,
    ) -> tuple[WordNumbers, bool]:  # fmt: skip
        """Return the numbers of single words, none of documents that need Python's lower-casing; and if one does."""
        min_token_bytes = 1 if alphabet.kind == PUNCTUATION_KIND else 2
        buffers.reserve(len(order), int((offsets[order + 1] - offsets[order]).sum()), min_token_bytes)
        bounds, is_special = np.zeros(len(order) + 1, dtype=np.int64), np.zeros(len(order), dtype=np.uint8)
        find_tokens(blob, offsets, order, alphabet, min_characters, buffers.tokens, bounds, is_special)
        number = self._look_up if self.settings.hashed is None else self._hash_to_columns
        return number(buffers, bounds), bool(is_special.any())

    def _look_up(self, buffers: TokenBuffers, bounds: Numbers) -> WordNumbers:
        """Return the numbers of the tokens in the buffers; add new words if the lexicon grows; remove stop words."""
        n = int(bounds[-1])
        self._grow_text(int(buffers.tokens.sizes[:n].sum()) + 32)
        state = np.array([0, 0, self.n_words, self.n_text_bytes])
        while not word_lookup.look_up(
            buffers.tokens, n, self.grows, self.capacity, self.table, state, buffers.numbers
        ):
            self.n_words = int(state[word_lookup.WORDS])
            self._allocate(2 * self.capacity)
        self._update_sizes(state)
        if not self.n_stop:
            return WordNumbers(buffers.numbers[:n], bounds)
        kept = np.zeros_like(bounds)
        n = word_lookup.remove_stop_words(self.n_stop, buffers.numbers, bounds, kept)
        return WordNumbers(buffers.numbers[:n], kept)

    def _hash_to_columns(self, buffers: TokenBuffers, bounds: Numbers) -> WordNumbers:
        """Return the columns of hashed tokens without stop words, or their hashes where n-grams follow."""
        hashes = buffers.tokens.hashes[: bounds[-1]]
        if self.settings.stop:
            stops = [hash_word(word.encode("utf-8", SURROGATES)) for word in self.settings.stop]
            kept = ~np.isin(hashes, np.array(stops, dtype=np.uint64))
            hashes, bounds = hashes[kept], np.concatenate([[0], np.cumsum(kept)])[bounds]
        numbers = hashes.view(np.int64)
        return WordNumbers(numbers if self.has_word_ngrams else numbers & self.mask, bounds)

    @property
    def mask(self) -> int:
        """The mask that turns a hash into a column; 0 unless words are hashed."""
        return max(0, self.settings.n_columns - 1)

    def _update_sizes(self, state: Numbers) -> None:
        """Set the numbers of words and of text bytes to those in the state of a kernel, if the lexicon grows."""
        if self.grows:
            self.n_words, self.n_text_bytes = int(state[word_lookup.WORDS]), int(state[word_lookup.END])

    def _grow_text(self, n_bytes: int) -> None:
        """Make space for this many more bytes of the texts of new words, if the lexicon grows."""
        if self.grows and len(self.text) < self.n_text_bytes + n_bytes:
            self.text = _grow(self.text, max(2 * len(self.text), self.n_text_bytes + n_bytes), self.n_text_bytes)

    def _join_ngrams(self, tokens: WordNumbers, low: int, buffers: TokenBuffers) -> WordNumbers:
        """Return the numbers of n-grams of `low` or more tokens by document; unknown ones are left out."""
        longest = int(np.diff(tokens.bounds).max(initial=0))
        high = min(self.settings.span[1], longest)  # longer n-grams than any document's take no memory
        if high < low:
            return WordNumbers(NO_NUMBERS, np.zeros_like(tokens.bounds))
        buffers.reserve_ngrams(len(tokens.numbers) * (high - low + 1) + 1)
        numbers, bounds = buffers.ngrams, np.zeros_like(tokens.bounds)
        if self.settings.hashed is not None:
            n = word_lookup.hash_ngrams(*tokens, low, high, np.uint64(self.mask), numbers, bounds)
        else:
            n = word_lookup.collect_ngrams(self._number_ngrams(tokens, low, high), tokens.bounds, numbers, bounds)
        return WordNumbers(numbers[:n], bounds)

    def _number_ngrams(self, tokens: WordNumbers, low: int, high: int) -> Any:
        """Return the numbers of n-grams of `low` to `high` tokens, one row per length, at their first token.

        New n-grams, shorter ones too, are added if the lexicon grows; where there is no known n-gram, it is NO_WORD.
        """
        by_length = np.empty((high, len(tokens.numbers)), dtype=np.int64)
        by_length[0] = tokens.numbers
        for n in range(2, high + 1):
            state = np.array([0, 0, self.n_words, self.n_text_bytes, 0])
            while not word_lookup.number_ngrams(
                n, by_length[n - 2], *tokens, self.grows, self.capacity, self.ngram_slots, self.hashes, self.begin,
                self.ngram_parts, state, by_length[n - 1],
            ):  # fmt: skip
                self.n_words = int(state[word_lookup.WORDS])
                self._allocate(2 * self.capacity)
            self._update_sizes(state)
        return by_length[low - 1 :]

    def _read_character_ngrams(
        self, blob: Bytes, offsets: Offsets, order: Numbers, alphabet: Alphabet
    ) -> tuple[WordNumbers, bool]:
        """Return the numbers of character n-grams; none, and True, if any document needs Python's lower-casing."""
        low, high = self.settings.span
        in_words = self.settings.tokens == "characters in words"
        longest = int((offsets[order + 1] - offsets[order]).max(initial=0))
        lowered, marks = np.empty(2 * longest + 8, dtype=np.uint8), np.empty(longest + 4, dtype=np.int64)
        found, bounds = [], [0]
        for d in order.tolist():
            a, b = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
            n = prepare_characters(blob, a, b, alphabet, in_words, lowered, marks)
            if n < 0:
                return WordNumbers(NO_NUMBERS, NO_NUMBERS), True
            found.append(self._number_character_ngrams(lowered, marks, n, in_words, low, high))
            bounds.append(bounds[-1] + len(found[-1]))
        return WordNumbers(np.concatenate([NO_NUMBERS, *found]), np.array(bounds)), False

    def _number_character_ngrams(
        self, lowered: Bytes, marks: Numbers, n: int, in_words: bool, low: int, high: int
    ) -> Numbers:
        """Return the numbers of the character n-grams of a document of n characters; unknown ones are left out."""
        high = max(low, min(high, n))  # n-grams longer than the document take no memory
        numbers = np.empty(n * (high - low + 1) + 1, dtype=np.int64)
        state = np.array([0, 0, self.n_words, self.n_text_bytes, 0])
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

    def write_ngram_texts(self) -> None:
        """Write the texts of n-grams, which are stored by their parts until then."""
        if self.has_word_ngrams:
            n, begin, size, parts = self.n_words, self.begin, self.size, self.ngram_parts
            self._grow_text(int(word_lookup.measure_ngram_texts(n, begin, size, parts)) + 16)
            end = word_lookup.write_ngram_texts(n, self.text, begin, size, parts, self.n_text_bytes)
            self.n_text_bytes = int(end)


def _grow(array: Any, capacity: int, used: int | None = None) -> Any:
    """Return a larger copy of an array, with its first `used` elements (None: all)."""
    out = np.empty(capacity, dtype=array.dtype)
    n = len(array) if used is None else used
    out[:n] = array[:n]
    return out


_lexicons: WeakKeyDictionary[Vocabulary, dict[str, Lexicon]] = WeakKeyDictionary()
"""Lexicons of vocabularies in use: built once, as every prediction needs them."""


def get_fixed_lexicon(settings: Words, vocabulary: Vocabulary | None) -> Lexicon:
    """Return the cached, fixed lexicon of a vocabulary; for None (hashed words) a new one that stays empty."""
    if vocabulary is None:
        return Lexicon(settings, 1)
    lexicons = _lexicons.setdefault(vocabulary, {})
    if settings.fingerprint not in lexicons:
        lexicons[settings.fingerprint] = _build_fixed(settings, vocabulary)
    return lexicons[settings.fingerprint]


def _build_fixed(settings: Words, vocabulary: Vocabulary) -> Lexicon:
    """Build the lexicon of a vocabulary, which does not grow; without n-grams, stop words are unknown words in it."""
    n = len(vocabulary)
    lexicon = Lexicon(settings, max(INITIAL_WORDS, 1 << n.bit_length()))
    if lexicon.has_word_ngrams:
        _add_ngrams(lexicon, vocabulary)
    else:
        lexicon.n_words, lexicon.text = n, vocabulary.blob
        lexicon.hashes = np.ascontiguousarray(vocabulary.hashes)
        lexicon.begin, lexicon.size = vocabulary.offsets[:-1].copy(), np.diff(vocabulary.offsets)
        lexicon.slots = np.zeros(2 * lexicon.capacity, dtype=np.uint64)
        word_lookup.insert_words(n, lexicon.hashes, lexicon.ngram_parts, lexicon.slots)
        lexicon.n_stop = 0
    lexicon.grows = False
    return lexicon


def _add_ngrams(lexicon: Lexicon, vocabulary: Vocabulary) -> None:
    """Add the n-grams of a vocabulary, and every shorter n-gram anywhere in them; only the former have a column."""
    n = len(vocabulary)
    buffers, (low, high) = TokenBuffers(), lexicon.settings.span
    parts, _ = lexicon._read_words(
        vocabulary.blob, vocabulary.offsets, np.arange(n), build_alphabet("space", False), 1, buffers
    )
    runs = lexicon._join_ngrams(parts, 1, buffers)
    n_parts = np.diff(parts.bounds)
    entry = np.flatnonzero((n_parts >= low) & (n_parts <= high))
    lexicon.column_of = np.full(lexicon.n_words, -1, dtype=np.int32)
    lexicon.column_of[runs.numbers[runs.bounds[entry + 1] - 1]] = entry  # the longest run comes last
