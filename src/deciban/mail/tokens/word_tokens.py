"""Words of a text as tokens: small letters, what parts words taken away, long runs cut, prices and shouts kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

LONGEST_TOKEN = 60
LONGEST_RUN = 200
"""A longer run of letters is data, not a word."""
MOST_AMOUNTS = 500
MOST_KNOWN = 1 << 16
"""So many words are remembered with what they become; then all are forgotten."""

INSIDE = "'-_"
"""Signs that stand within words."""
TO_SPACES = bytes(c if c > 127 or chr(c).isalnum() or chr(c) in INSIDE else 32 for c in range(256))
"""For text in UTF-8: ASCII that parts words becomes a space."""
TO_SMALL = TO_SPACES.lower()
"""And capitals become small letters."""
SEPARATING = (
    "\x80-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u2010-\u2018\u201a-\u2029\u202f-\u205f\u2065-\u206f\u20a0-\u20bf"
    "\u2190-\u2bff\u3000-\u3004\u3007-\u3020\u3030\u30fb\ufe30-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ufffd"
)
"""Ranges of characters beyond ASCII that part words."""
OTHER_SEPARATORS = re.compile(f"[{SEPARATING}]+")
WIDTHLESS = "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
"""Characters of no width, with which words are torn apart unseen."""
UNSEEN = re.compile(f"[{WIDTHLESS}]+")
RUNNING = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3006\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts that put no space between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
UNSPACED = re.compile(f"[{RUNNING}]+")
PRICE = re.compile(r"[ \t]?(\d[\d.,]{0,14})")
SHARE = re.compile(r"(?<![\d.,])(\d[\d.,]{0,8})[ \t]?\Z")
SHOUTS = {"!!": re.compile(r"!![!?]*+"), "??": re.compile(r"\?\?[!?]*+")}
CURRENCIES = "$€£¥"
JOIN = "+"


def written_words(text: str) -> list[str]:
    """What stands between separators, as it is written.

    >>> written_words("Don't wait -- order NOW, www")
    ["Don't", 'wait', '--', 'order', 'NOW', 'www']
    """
    return plainer(text).encode().translate(TO_SPACES).decode().split()


def split_words(text: str) -> list[bytes]:
    """The same in UTF-8, and ASCII in small letters: as bytes they are parted and told apart quicker.

    >>> split_words("order NOW")
    [b'order', b'now']
    """
    return plainer(text).encode().translate(TO_SMALL).split()


def plainer(text: str) -> str:
    """A text whose separators beyond ASCII are spaces, without what is not seen."""
    if not text.isascii():
        if UNSEEN.search(text):
            text = UNSEEN.sub("", text)
        text = OTHER_SEPARATORS.sub(" ", text.replace("\u2019", "'"))
    return text


class Cleaner(dict[bytes, str]):
    """Remembers what words become: small letters, no signs at the ends, the plainest form of each letter.

    >>> clean = Cleaner(2, 20, True)
    >>> clean.all(split_words("Don't -- ORDER Donaudampfschifffahrtsgesellschaft"))
    ["don't", 'order', 'skip:d:30']
    """

    def __init__(self, shortest: int, longest: int, cut: bool) -> None:
        super().__init__()
        self.shortest, self.longest, self.cut = shortest, longest, cut

    def __missing__(self, word: bytes) -> str:
        clean = self.cleaned(word)
        if len(word) <= LONGEST_RUN:
            if len(self) >= MOST_KNOWN:
                self.clear()
            self[word] = clean
        return clean

    def cleaned(self, word: bytes) -> str:
        """What a word becomes: nothing, if there is too little in it, or far too much."""
        if word.isalnum() and self.shortest <= len(word) <= self.longest:
            return word.decode("ascii").lower()
        return "" if len(word) > LONGEST_RUN else self._spelled(word.decode())

    def _spelled(self, word: str) -> str:
        word = word.lower().strip(INSIDE)
        if not word.isascii():
            word = "".join(normalize("NFKC", word).lower().split()).strip(INSIDE)
        if len(word) < self.shortest:
            return ""
        if len(word) <= self.longest:
            return word
        return f"skip:{word[0]}:{len(word) // 10 * 10}" if self.cut else word[:LONGEST_TOKEN]

    def all(self, words: Iterable[bytes]) -> list[str]:
        """Words cleaned, in their order; those with too little in them are left out."""
        return [word for word in map(self.__getitem__, words) if word]


@lru_cache(8)
def cleaner(shortest: int, longest: int, cut: bool) -> Cleaner:
    """One memory for all messages that are read in one way."""
    return Cleaner(shortest, longest, cut)


def neighbours(words: list[str]) -> list[str]:
    """Each word with the next."""
    return [pair for pair in map(JOIN.join, pairwise(words)) if len(pair) <= LONGEST_TOKEN]


def unspaced_pairs(text: str) -> list[str]:
    """Characters of scripts without spaces, each with the next.

    >>> unspaced_pairs("今天天气")
    ['今天', '天天', '天气']
    """
    found: dict[str, None] = {}
    for run in UNSPACED.findall(text):
        found.update(dict.fromkeys(map("".join, pairwise(run)) if len(run) > 1 else (run,)))
    return list(found)


def amounts(text: str) -> list[str]:
    """Prices and how many digits they have, percentages, runs of exclamation and question marks.

    >>> amounts("Only $9.99, save 50%!!!")
    ['$9.99', '$:1', '50%', '!!!']
    """
    found: dict[str, None] = {}
    for sign in "$" if text.isascii() else CURRENCIES:
        if sign in text:
            _take_prices(sign, text, found)
    if "%" in text:
        for before in text.split("%", MOST_AMOUNTS)[:-1]:
            if share := SHARE.search(before[-12:]):
                found[f"{share[1].rstrip('.,')}%"] = None
    for begin, shouts in SHOUTS.items():
        if begin in text:
            found.update(dict.fromkeys([run[:8] for run in shouts.findall(text)]))
    return list(found)


def _take_prices(sign: str, text: str, found: dict[str, None]) -> None:
    for after in text.split(sign, MOST_AMOUNTS)[1:]:
        if price := PRICE.match(after):
            digits = price[1].rstrip(".,")
            found[f"{sign}{digits}"] = None
            found[f"{sign}:{len(digits.partition('.')[0].replace(',', ''))}"] = None
