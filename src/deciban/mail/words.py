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

INSIDE = "'-_"
"""Signs that stand within words."""
SEPARATORS = "".join(c for c in map(chr, range(128)) if not c.isalnum() and c not in INSIDE)
TO_SPACES = str.maketrans(dict.fromkeys(SEPARATORS, " "))
OTHER_SEPARATORS = re.compile(
    f"[{re.escape(SEPARATORS)}\x80-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7"
    "\u2010-\u2017\u201a-\u2027\u2028-\u206f\u20a0-\u20bf\u2190-\u2bff\u3000-\u3004\u3007-\u3020\u3030\u30fb"
    "\ufe30-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ufffd]+"
)
UNSEEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+"
)
"""Characters of no width, with which words are torn apart unseen."""
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3006\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts that put no space between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
PRICE = re.compile(r"[$€£¥][ \t]?(\d[\d.,]{0,14})|(?<![\d.,])(\d[\d.,]{0,8})[ \t]?([%€£])")
SHOUTS = re.compile(r"[!?]{2,}+")
JOIN = "+"


def split_words(text: str) -> list[str]:
    """What stands between separators, as it is written.

    >>> split_words("Don't wait -- order NOW, www")
    ["Don't", 'wait', '--', 'order', 'NOW', 'www']
    """
    if text.isascii():
        return text.translate(TO_SPACES).split()
    return OTHER_SEPARATORS.sub(" ", UNSEEN.sub("", text).replace("\u2019", "'")).split()


def cleaned_words(words: Iterable[str], shortest: int, longest: int, cut: bool) -> list[str]:
    """Words in small letters without signs at their ends; those with too little in them are left out.

    >>> cleaned_words(["Don't", "--", "ORDER", "Donaudampfschifffahrtsgesellschaft"], 2, 20, True)
    ["don't", 'order', 'skip:d:30']
    """
    return [
        word
        for each in words
        if (
            word := each.lower()
            if shortest <= len(each) <= longest and each.isalnum() and each.isascii()
            else _odd(each, shortest, longest, cut)
        )
    ]


def _odd(word: str, shortest: int, longest: int, cut: bool) -> str:
    return _known_odd(word, shortest, longest, cut) if shortest <= len(word) <= LONGEST_RUN else ""


@lru_cache(1 << 15)
def _known_odd(word: str, shortest: int, longest: int, cut: bool) -> str:
    word = word.lower().strip(INSIDE)
    if not word.isascii():
        word = "".join(normalize("NFKC", word).lower().split()).strip(INSIDE)
    if len(word) < shortest:
        return ""
    if len(word) <= longest:
        return word
    return f"skip:{word[0]}:{len(word) // 10 * 10}" if cut else word[:LONGEST_TOKEN]


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
    """Prices and percentages, and how large they are; runs of exclamation and question marks.

    >>> amounts("Only $9.99, save 50%!!!")
    ['$9.99', '$:1', '50%', '!!!']
    """
    found: dict[str, None] = {}
    if "$" in text or "%" in text or not text.isascii():
        for price, number, sign in PRICE.findall(text):
            digits = (price or number).rstrip(".,")
            found[f"${digits}" if price else f"{digits}{sign}"] = None
            if price:
                found[f"$:{len(digits.partition('.')[0].replace(',', ''))}"] = None
    if "!!" in text or "??" in text or "!?" in text or "?!" in text:
        found.update(dict.fromkeys([run[:8] for run in SHOUTS.findall(text)]))
    return list(found)
