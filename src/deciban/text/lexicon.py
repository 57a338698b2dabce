"""Lexicon: the words met so far and their numbers, in tables that kernels fill and look up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from deciban.kernels import ngrams as grams
from deciban.kernels import word_lookup as known
from deciban.kernels.tokenizer import find_tokens
from deciban.ledger import Vocabulary
from deciban.ledger.hashing import SURROGATES, hash_word
from deciban.text.character_tables import Alphabet, Kind, alphabet
from deciban.text.documents import Bytes, Documents, Offsets
from deciban.text.words import Words

FEW = 1 << 15
"""Words that there is room for at first: their table fits into the cache of a core."""

NOTHING = np.empty(0, dtype=np.int64)

Numbers = NDArray[np.int64]


class Stream(NamedTuple):
    """The numbers of what is counted of documents, those of document i from bounds[i] to bounds[i + 1]."""

    numbers: Numbers
    bounds: Numbers


class Desk:
    """Room for the tokens of some documents, used again for the next ones: fresh memory has a price.

    `paper` is for the texts of tokens, the others are hashes, contents, sizes and numbers of tokens.
    """

    def __init__(self) -> None:
        self._make_room(0, 0)
        self._runs = np.empty(0, np.int64)

    def runs(self, most: int) -> Numbers:
        """Room for the numbers of so many runs of tokens."""
        if most > len(self._runs):
            self._runs = np.empty(most, np.int64)
        return self._runs

    def _make_room(self, tokens: int, n_bytes: int) -> None:
        self.hashes, self.contents = np.empty(tokens, np.uint64), np.empty(tokens, np.uint64)
        self.sizes, self.numbers = np.empty(tokens, np.int64), np.empty(tokens, np.int64)
        self.paper = np.empty(n_bytes, np.uint8)

    def lay_out(self, n_documents: int, n_bytes: int) -> None:
        """Have room for documents of so many bytes."""
        tokens, room = n_bytes // 2 + n_documents + 1, 2 * n_bytes + 32
        if tokens > len(self.hashes) or room > len(self.paper):
            self._make_room(max(tokens, len(self.hashes)), max(room, len(self.paper)))


class Lexicon:
    """Numbers for words in the order in which they are met; where it does not grow, new ones are UNKNOWN.

    The first `n_stop` words are stop words, which are read and not told. `place` is the column of each word, where
    that is not its number.
    """

    def __init__(self, words: Words, room: int = FEW) -> None:
        self.words, self.grows = words, True
        self.n_words = self.n_stop = self.end = 0
        self.hashes, self.begin, self.size = np.zeros(0, np.uint64), NOTHING, NOTHING
        self.pair = np.zeros(0, np.uint64)
        self.pairs = np.zeros(0, dtype=np.uint64)
        self.text = np.empty(16 * room, dtype=np.uint8)
        self.place = np.zeros(0, dtype=np.int32)
        self._make_room(max(room, 2 * known.BLOCK))
        if words.stop and words.hashed is None:
            self._read_stops(words.stop)

    @property
    def paired(self) -> bool:
        """Whether words are taken together with their neighbours."""
        return self.words.span[1] > 1 and not self.words.by_character

    def _make_room(self, room: int) -> None:
        """Tables for so many words, with what is known in them."""
        self.room = room
        self.hashes, self.begin, self.size = (_longer(a, room) for a in (self.hashes, self.begin, self.size))
        if self.paired:
            self.pair, self.pairs = _longer(self.pair, room), np.zeros(2 * room, dtype=np.uint64)
            self.pair[self.n_words :] = known.NO_NGRAM
            grams.insert_ngrams(self.n_words, self.pair, self.pairs)
        self.slots = np.zeros(2 * room, dtype=np.uint64)
        known.insert_words(self.n_words, self.hashes, self.pair, self.slots)

    def _read_stops(self, stops: Iterable[str]) -> None:
        listed = Documents([word for word in stops if word and " " not in word])
        self._words(*listed.utf8, np.arange(len(listed)), alphabet("space", False), 1, Desk())
        self.n_stop = self.n_words

    def read(self, documents: Documents, order: Numbers, desk: Desk) -> Stream:
        """What is counted of these documents, in this order; good until the desk is used again."""
        kind: Kind = "words" if self.words.tokens == "words" else "whitespace"
        tokens, strange = self._tokens(*documents.utf8, order, alphabet(kind, self.words.lower), desk)
        if strange:  # Σ and İ: the lower case of such a text is Python's business
            lowered = Documents([(documents.text(d) or "").lower() for d in order.tolist()])
            tokens, _ = self._tokens(*lowered.utf8, np.arange(len(order)), alphabet(kind, False), desk)
        return self._together(tokens, self.words.span[0], desk) if self.paired else tokens

    def _tokens(
        self, blob: Bytes, offsets: Offsets, order: Numbers, letters: Alphabet, desk: Desk
    ) -> tuple[Stream, bool]:
        if self.words.by_character:
            return self._characters(blob, offsets, order, letters)
        return self._words(blob, offsets, order, letters, self.words.least_length or 1, desk)

    def _words(
        self, blob: Bytes, offsets: Offsets, order: Numbers, letters: Alphabet, least: int, desk: Desk
    ) -> tuple[Stream, bool]:
        desk.lay_out(len(order), int((offsets[order + 1] - offsets[order]).sum()))
        bounds, strange = np.zeros(len(order) + 1, dtype=np.int64), np.zeros(len(order), dtype=np.uint8)
        find_tokens(
            blob, offsets, order, letters.kind, letters.lower, letters.page, letters.entry, least, desk.paper,
            desk.hashes, desk.contents, desk.sizes, bounds, strange,
        )  # fmt: skip
        if self.words.hashed is not None:
            return self._columns(Stream(desk.hashes[: bounds[-1]].view(np.int64), bounds)), bool(strange.any())
        return self._looked_up(desk, bounds), bool(strange.any())

    def _looked_up(self, desk: Desk, bounds: Numbers) -> Stream:
        n = int(bounds[-1])
        self._more_text(int(desk.sizes[:n].sum()) + 32)
        state = np.array([0, 0, self.n_words, self.end])
        while not known.look_up(
            desk.hashes, desk.contents, desk.sizes, desk.paper, n, self.grows, self.room, self.slots, self.hashes,
            self.begin, self.size, self.text, state, desk.numbers,
        ):  # fmt: skip
            self.n_words = int(state[known.WORDS])
            self._make_room(2 * self.room)
        self._remember(state)
        if not self.n_stop:
            return Stream(desk.numbers[:n], bounds)
        kept = np.zeros_like(bounds)
        n = known.remove_stop_words(self.n_stop, desk.numbers, bounds, kept)
        return Stream(desk.numbers[:n], kept)

    def _columns(self, tokens: Stream) -> Stream:
        """Tokens that their hashes stand for, without the stop words; the columns, unless more is to be done."""
        if self.words.stop:
            tokens = _without(tokens, [hash_word(word.encode("utf-8", SURROGATES)) for word in self.words.stop])
        return tokens if self.paired else Stream(tokens.numbers & self.mask, tokens.bounds)

    @property
    def mask(self) -> int:
        """The bits of a hash that name a column; none where words are kept."""
        return max(0, self.words.n_columns - 1)

    def _remember(self, state: Numbers) -> None:
        if self.grows:
            self.n_words, self.end = int(state[known.WORDS]), int(state[known.END])

    def _more_text(self, n_bytes: int) -> None:
        """Room for the texts of new words."""
        if self.grows and len(self.text) < self.end + n_bytes:
            self.text = _longer(self.text, max(2 * len(self.text), self.end + n_bytes), self.end)

    def _together(self, tokens: Stream, low: int, desk: Desk) -> Stream:
        longest = int(np.diff(tokens.bounds).max(initial=0))
        high = min(self.words.span[1], longest)  # longer n-grams than any document's take no memory
        if high < low:
            return Stream(NOTHING, np.zeros_like(tokens.bounds))
        numbers = desk.runs(len(tokens.numbers) * (high - low + 1) + 1)
        bounds = np.zeros_like(tokens.bounds)
        if self.words.hashed is not None:
            n = grams.hash_ngrams(*tokens, low, high, np.uint64(self.mask), numbers, bounds)
            return Stream(numbers[:n], bounds)
        levels = self._levels(tokens, low, high)
        n = grams.collect_ngrams(levels, tokens.bounds, numbers, bounds)
        return Stream(numbers[:n], bounds)

    def _levels(self, tokens: Stream, low: int, high: int) -> Any:
        """Row by row the numbers of runs of `low` to `high` tokens, at the token they begin with."""
        levels = np.empty((high, len(tokens.numbers)), dtype=np.int64)
        levels[0] = tokens.numbers
        for n in range(2, high + 1):
            state = np.array([0, 0, self.n_words, self.end, 0])
            while not grams.number_ngrams(
                n, levels[n - 2], *tokens, self.grows, self.room, self.pairs, self.hashes, self.begin, self.pair,
                state, levels[n - 1],
            ):  # fmt: skip
                self.n_words = int(state[known.WORDS])
                self._make_room(2 * self.room)
            self._remember(state)
        return levels[low - 1 :]

    def _characters(self, blob: Bytes, offsets: Offsets, order: Numbers, letters: Alphabet) -> tuple[Stream, bool]:
        low, high = self.words.span
        in_words = self.words.tokens == "characters in words"
        longest = int((offsets[order + 1] - offsets[order]).max(initial=0))
        lowered, marks = np.empty(2 * longest + 8, dtype=np.uint8), np.empty(longest + 4, dtype=np.int64)
        streams, bounds = [], [0]
        for d in order.tolist():
            a, b = np.uint64(offsets[d]), np.uint64(offsets[d + 1])
            n = grams.prepare_characters(blob, a, b, letters.page, letters.entry, in_words, lowered, marks)
            if n < 0:
                return Stream(NOTHING, NOTHING), True
            streams.append(self._runs(lowered, marks, n, in_words, low, high))
            bounds.append(bounds[-1] + len(streams[-1]))
        return Stream(np.concatenate([NOTHING, *streams]), np.array(bounds)), False

    def _runs(self, lowered: Bytes, marks: Numbers, n: int, in_words: bool, low: int, high: int) -> Numbers:
        high = max(low, min(high, n))  # n-grams longer than the document take no memory
        numbers = np.empty(n * (high - low + 1) + 1, dtype=np.int64)
        state = np.array([0, 0, self.n_words, self.end, 0])
        while not grams.number_character_ngrams(
            lowered, marks, n, in_words, low, high, np.uint64(self.mask), self.grows, self.room, self.slots,
            self.hashes, self.begin, self.size, self.text, state, numbers,
        ):  # fmt: skip
            self._remember(state)
            self._more_text(4 * high * high + 16)
            if self.n_words + high > self.room:
                self._make_room(2 * self.room)
        self._remember(state)
        return numbers[: state[known.OUT]]

    def spelled(self) -> None:
        """Write out the texts of words that are known as runs of others."""
        if self.paired:
            self._more_text(int(grams.measure_ngram_texts(self.n_words, self.begin, self.size, self.pair)) + 16)
            self.end = int(
                grams.write_ngram_texts(self.n_words, self.text, self.begin, self.size, self.pair, self.end)
            )


def _longer(array: Any, room: int, used: int | None = None) -> Any:
    out = np.empty(room, dtype=array.dtype)
    n = len(array) if used is None else used
    out[:n] = array[:n]
    return out


def _without(tokens: Stream, stops: list[int]) -> Stream:
    """Tokens told by their hashes, less the stop words."""
    kept = ~np.isin(tokens.numbers.view(np.uint64), np.array(stops, dtype=np.uint64))
    so_far = np.concatenate([[0], np.cumsum(kept)])
    return Stream(tokens.numbers[kept], so_far[tokens.bounds])


_known: WeakKeyDictionary[Vocabulary, dict[str, Lexicon]] = WeakKeyDictionary()
"""Lexicons of vocabularies that are in use: made once, for they are looked at by every prediction."""


def known_lexicon(words: Words, vocabulary: Vocabulary | None) -> Lexicon:
    """The lexicon that knows these words and takes in no others."""
    if vocabulary is None:
        return Lexicon(words, 1)
    made = _known.setdefault(vocabulary, {})
    if words.fingerprint not in made:
        made[words.fingerprint] = _knowing(words, vocabulary)
    return made[words.fingerprint]


def _knowing(words: Words, vocabulary: Vocabulary) -> Lexicon:
    n = len(vocabulary)
    lexicon = Lexicon(words, max(FEW, 1 << n.bit_length()))
    if lexicon.paired:
        _read_runs(lexicon, vocabulary)
    else:
        lexicon.n_words, lexicon.text = n, vocabulary.blob
        lexicon.hashes = np.ascontiguousarray(vocabulary.hashes)
        lexicon.begin, lexicon.size = vocabulary.offsets[:-1].copy(), np.diff(vocabulary.offsets)
        lexicon.slots = np.zeros(2 * lexicon.room, dtype=np.uint64)
        known.insert_words(n, lexicon.hashes, lexicon.pair, lexicon.slots)
        lexicon.n_stop = 0
    lexicon.grows = False
    return lexicon


def _read_runs(lexicon: Lexicon, vocabulary: Vocabulary) -> None:
    """Take in runs of words by taking in the words that they are of."""
    n = len(vocabulary)
    desk, (low, high) = Desk(), lexicon.words.span
    parts, _ = lexicon._words(vocabulary.blob, vocabulary.offsets, np.arange(n), alphabet("space", False), 1, desk)
    runs = lexicon._together(parts, 1, desk)
    n_parts = np.diff(parts.bounds)
    entry = np.flatnonzero((n_parts >= low) & (n_parts <= high))
    lexicon.place = np.full(lexicon.n_words, -1, dtype=np.int32)
    lexicon.place[runs.numbers[runs.bounds[entry + 1] - 1]] = entry  # the longest run comes last
