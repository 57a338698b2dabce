"""Tokens as numbers: how a process that reads many messages tells another one what they hold, in few bytes.

A word that was met before costs one look-up, from its bytes as they stand in the text to its number; its letters are
cleaned, and handed over, once.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import count, islice
from typing import Final

from deciban.mail.message.digest import compute_digest
from deciban.mail.message.message import read_message
from deciban.mail.tokens.token_options import TokenOptions
from deciban.mail.tokens.tokens import MAX_TOKENS, collect_tokens, extract_tokens, list_omissions, word_cleaner
from deciban.mail.tokens.word_tokens import MAX_WORD_BYTES, WordCleaner

MOST_WORDS: Final = 1 << 19
"""Tokens that have numbers, or words that lead to them, before all are forgotten and numbers are given anew."""

NOTHING: Final = 0
"""The number of what is left when nothing is left of a word."""

Said = tuple[bool, str, bytes, bytes, bytes, dict[int, tuple[str, ...]]]
"""Of some messages: whether numbers begin anew; the tokens that have new ones, one a line; digests in a row, if they
were wanted; how many tokens each message has, and their numbers, in four bytes each; and what was cut of which."""


class TokenNumberer:
    r"""Reads messages, and numbers their tokens as they are met.

    >>> numbering = TokenNumberer(TokenOptions(names=False))
    >>> _, words, _, sizes, which, _ = numbering.said([b"\ntea Tea or two"])
    >>> words.split("\n"), array("I", sizes).tolist(), sorted(array("I", which))
    (['', 'tea', 'or', 'two', 'type:text/plain'], [4], [1, 2, 3, 4])
    """

    def __init__(self, reading: TokenOptions) -> None:
        self._reading = reading
        self._clean = word_cleaner(reading)
        self._begin()

    def _begin(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        assert self._numbers[""] == NOTHING
        self._words = _WordNumbers(self._numbers, self._clean)
        self._told = 0

    def said(self, raws: Iterable[bytes], digests: bool = True) -> Said:
        """What some messages hold; words that were told before are not told again."""
        if fresh := max(len(self._numbers), len(self._words)) > MOST_WORDS:
            self._begin()
        known, sizes, which = [], array("I"), array("I")
        cut: dict[int, tuple[str, ...]] = {}
        for i, raw in enumerate(raws):
            if digests:
                known.append(compute_digest(raw))
            numbers, left_out = self._of(raw)
            sizes.append(len(numbers))
            which.extend(numbers)
            if left_out:
                cut[i] = left_out
        words = "\n".join(newest(self._numbers, len(self._numbers) - self._told))
        fresh = fresh or not self._told
        self._told = len(self._numbers)
        return fresh, words, b"".join(known), sizes.tobytes(), which.tobytes(), cut

    def _of(self, raw: bytes) -> tuple[set[int], tuple[str, ...]]:
        message = read_message(raw)
        tokens, words = collect_tokens(message, self._reading)
        numbers = set(map(self._words.__getitem__, words))
        numbers.update(map(self._numbers.__getitem__, tokens))
        numbers.discard(NOTHING)
        if len(numbers) >= MAX_TOKENS:
            first = extract_tokens(message, self._reading)
            return set(map(self._numbers.__getitem__, first)), list_omissions(message, first)
        return numbers, message.cut


def newest(words: dict[str, int], n: int) -> list[str]:
    """The last n that came, found from the end: there may be very many before them.

    >>> newest({"a": 1, "b": 2, "c": 3}, 2)
    ['b', 'c']
    """
    return list(islice(reversed(words), n))[::-1]


class _WordNumbers(dict[bytes, int]):
    """Words as they are written, and the numbers of what they become."""

    def __init__(self, numbers: dict[str, int], clean: WordCleaner) -> None:
        super().__init__()
        self._numbers, self._clean = numbers, clean

    def __missing__(self, word: bytes) -> int:
        number = self._numbers[self._clean.clean(word)]
        if len(word) <= MAX_WORD_BYTES:
            self[word] = number
        return number
