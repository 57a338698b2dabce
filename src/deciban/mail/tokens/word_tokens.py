"""Tokens of a text: words without separators, long ones replaced by `skip:` tokens; prices, runs of !, and links.

The tokens of a link are its host and the domains above it, networks, ports and words of its path.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

MAX_TOKEN_CHARACTERS = 60
MAX_WORD_BYTES = 200
"""A longer run of letters is data, not a word."""
MAX_AMOUNTS = 500
MAX_CACHED_WORDS = 1 << 16
"""Words whose cleaned form is cached; at this number the cache is cleared."""

INNER_SIGNS = "'-_"
"""Signs that are a part of words."""
TO_SPACES = bytes(c if c > 127 or chr(c).isalnum() or chr(c) in INNER_SIGNS else 32 for c in range(256))
"""A translation table for UTF-8 that replaces ASCII separators by spaces."""
TO_LOWER_CASE = TO_SPACES.lower()
"""A translation table that also replaces ASCII capitals by lower case."""
SEPARATORS_BEYOND_ASCII = (
    "\x80-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u2010-\u2018\u201a-\u2029\u202f-\u205f\u2065-\u206f\u20a0-\u20bf"
    "\u2190-\u2bff\u3000-\u3004\u3007-\u3020\u3030\u30fb\ufe30-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ufffd"
)
OTHER_SEPARATORS = re.compile(f"[{SEPARATORS_BEYOND_ASCII}]+")
ZERO_WIDTH = "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"
"""Characters of no width, with which spam splits words invisibly."""
INVISIBLE = re.compile(f"[{ZERO_WIDTH}]+")
UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3006\u3040-\u30fa\u30fc-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]+")
PRICE = re.compile(r"[ \t]?(\d[\d.,]{0,14})")
PERCENTAGE = re.compile(r"(?<![\d.,])(\d[\d.,]{0,8})[ \t]?\Z")
PUNCTUATION_RUNS = {"!!": re.compile(r"!![!?]*+"), "??": re.compile(r"\?\?[!?]*+")}
CURRENCIES = "$€£¥"
PAIR_SEPARATOR = "+"

MAX_HOST_CHARACTERS = 40
"""With its prefix a host is a token of at most sixty characters."""
MAX_PATH_WORDS = 8
MAX_LINKS = 300
MAX_LINK_CHARACTERS = 1000
MAX_CACHED_LINK_CHARACTERS = 200

LINK_SIGNS = ("://", "www.", "WWW.")
SCHEME = re.compile(r"(?:https?|ftp)\Z", re.IGNORECASE)
LINK_END = re.compile(r"[\s<>\"'\\]")
URL_PARTS = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]{0,15}):)?(?://)?([^/?#\s]*+)([^\s]*+)")
PATH_WORD = re.compile(r"[a-zA-Z]{3,20}|\d{1,6}")
IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
PERCENT = re.compile(r"%([0-7][0-9a-fA-F])")
NOT_HOST = re.compile(r"[^\w.-]+")
MAIL = re.compile(r"(?<![^\s<>()\[\]\",;:@])([^\s<>()\[\]\",;:@]{1,80}+)@([\w.-]{1,80})")
TRAILING = ".,;:!?)]}>'\"*"


def split_cased_words(text: str) -> list[str]:
    """Return the words between separators, with their capitals.

    >>> split_cased_words("Don't wait -- order NOW, www")
    ["Don't", 'wait', '--', 'order', 'NOW', 'www']
    """
    return normalise_separators(text).encode().translate(TO_SPACES).decode().split()


def split_words(text: str) -> list[bytes]:
    """Return the words in UTF-8, ASCII in lower case; bytes are split and hashed faster than str.

    >>> split_words("order NOW")
    [b'order', b'now']
    """
    return normalise_separators(text).encode().translate(TO_LOWER_CASE).split()


def normalise_separators(text: str) -> str:
    """Replace separators beyond ASCII by spaces and curly apostrophes by ', and remove invisible characters."""
    if not text.isascii():
        if INVISIBLE.search(text):
            text = INVISIBLE.sub("", text)
        text = OTHER_SEPARATORS.sub(" ", text.replace("\u2019", "'"))
    return text


class WordCleaner(dict[bytes, str]):
    """A cache of words and their cleaned forms: lower case, no signs at the ends, Unicode's compatibility form.

    >>> cleaner = WordCleaner(2, 20)
    >>> cleaner.clean_all(split_words("Don't -- ORDER Donaudampfschifffahrtsgesellschaft"))
    ["don't", 'order', 'skip:d:30']
    """

    def __init__(self, shortest: int, longest: int) -> None:
        super().__init__()
        self.shortest, self.longest = shortest, longest

    def __missing__(self, word: bytes) -> str:
        clean = self.clean(word)
        if len(word) <= MAX_WORD_BYTES:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = clean
        return clean

    def clean(self, word: bytes) -> str:
        """Return the cleaned form of a word, `skip:` if it is long; empty if too short or above `MAX_WORD_BYTES`."""
        if word.isalnum() and self.shortest <= len(word) <= self.longest:
            return word.decode("ascii").lower()
        return "" if len(word) > MAX_WORD_BYTES else self._clean_text(word.decode())

    def _clean_text(self, word: str) -> str:
        word = word.lower().strip(INNER_SIGNS)
        if not word.isascii():
            word = "".join(normalize("NFKC", word).lower().split()).strip(INNER_SIGNS)
        if len(word) < self.shortest:
            return ""
        return word if len(word) <= self.longest else f"skip:{word[0]}:{len(word) // 10 * 10}"

    def clean_all(self, words: Iterable[bytes]) -> list[str]:
        """Return the cleaned words in order, without empty ones."""
        return [word for word in map(self.__getitem__, words) if word]


get_cleaner = lru_cache(8)(WordCleaner)
"""Returns the cleaner that all messages share for the shortest and the longest word in characters."""


def join_pairs(words: list[str]) -> list[str]:
    """Join each word with the next; pairs longer than a token are left out."""
    return [pair for pair in map(PAIR_SEPARATOR.join, pairwise(words)) if len(pair) <= MAX_TOKEN_CHARACTERS]


def find_character_pairs(text: str) -> list[str]:
    """Return pairs of neighbouring characters of scripts without spaces, and single ones that have no neighbour.

    >>> find_character_pairs("今天天气")
    ['今天', '天天', '天气']
    """
    found: dict[str, None] = {}
    for run in UNSPACED.findall(text):
        found.update(dict.fromkeys(map("".join, pairwise(run)) if len(run) > 1 else (run,)))
    return list(found)


def find_amounts(text: str) -> list[str]:
    """Return prices with their numbers of digits, percentages, and runs of exclamation and question marks.

    >>> find_amounts("Only $9.99, save 50%!!!")
    ['$9.99', '$:1', '50%', '!!!']
    """
    found: dict[str, None] = {}
    for sign in "$" if text.isascii() else CURRENCIES:
        if sign not in text:
            continue
        for after in text.split(sign, MAX_AMOUNTS)[1:]:
            if price := PRICE.match(after):
                digits = price[1].rstrip(".,")
                found[f"{sign}{digits}"] = None
                found[f"{sign}:{len(digits.partition('.')[0].replace(',', ''))}"] = None
    if "%" in text:
        for before in text.split("%", MAX_AMOUNTS)[:-1]:
            if share := PERCENTAGE.search(before[-12:]):
                found[f"{share[1].rstrip('.,')}%"] = None
    for start, runs in PUNCTUATION_RUNS.items():
        if start in text:
            found.update(dict.fromkeys([run[:8] for run in runs.findall(text)]))
    return list(found)


@lru_cache(1 << 13)
def split_host(host: str) -> tuple[str, ...]:
    """Return a host and the domains above it, four at most in all, or a numeric address and its networks.

    >>> split_host("www.shop.example.com"), split_host("10.1.2.3")
    (('www.shop.example.com', 'shop.example.com', 'example.com', 'com'), ('10.1.2.3', '10.1.2', '10.1'))
    """
    if not host.replace(".", "").replace("-", "").isalnum():
        host = NOT_HOST.sub("", host)
    parts = host.lower().strip(".")[-MAX_HOST_CHARACTERS:].split(".")
    if len(parts) == 4 and all(part.isdigit() for part in parts):
        return tuple(".".join(parts[:n]) for n in (4, 3, 2))
    return tuple(".".join(parts[n:]) for n in range(max(0, len(parts) - 4), len(parts)) if parts[n])


def split_links(text: str) -> tuple[str, list[str]]:
    """Return a text without its links, and the links.

    >>> split_links("See http://a.example/b, or www.c.example.")
    ('See   or  ', ['http://a.example/b', 'www.c.example'])
    """
    signs = _find_link_signs(text)
    if not signs:
        return text, []
    texts: list[str] = []
    links: list[str] = []
    done = 0
    for sign in signs:
        start = _find_link_start(text, sign, done)
        if start < 0 or len(links) >= MAX_LINKS:
            continue
        stop = LINK_END.search(text, sign + 3, start + MAX_LINK_CHARACTERS)
        end = stop.start() if stop else min(len(text), start + MAX_LINK_CHARACTERS)
        texts.append(text[done:start])
        links.append(text[start:end].rstrip(TRAILING))
        done = end
    texts.append(text[done:])
    return " ".join(texts), links


def _find_link_signs(text: str) -> list[int]:
    """Return the offsets of strings that occur in links and rarely elsewhere; a pattern would be slower."""
    found = []
    for sign in LINK_SIGNS:
        at = text.find(sign)
        while at >= 0:
            found.append(at)
            at = text.find(sign, at + len(sign))
    return sorted(found)


def _find_link_start(text: str, at: int, done: int) -> int:
    """Return the offset, not before `done`, where the link with a sign at this offset begins; -1 if there is none."""
    if at < done:
        return -1
    if text[at] != ":":
        return at if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.@/-") else -1
    scheme = SCHEME.search(text, max(done, at - 5), at)
    return scheme.start() if scheme else -1


def tokenize_link(link: str) -> dict[str, None]:
    """Return a link's tokens as keys: host and domains, port, words of its path; a cached dict, not to be changed."""
    if len(link) <= MAX_CACHED_LINK_CHARACTERS:
        return _tokenize_link_cached(link)
    return _tokenize_link(link[:MAX_LINK_CHARACTERS])


def _tokenize_link(link: str) -> dict[str, None]:
    if "%" in link:
        link = PERCENT.sub(lambda code: chr(int(code[1], 16)), link)
    found = URL_PARTS.match(link)
    scheme, place, path = found.groups() if found else (None, "", "")
    scheme = (scheme or "http").lower()
    if scheme == "mailto":
        return dict.fromkeys([f"url:mailto:{piece}" for piece in split_host(place.rpartition("@")[2])[:3]])
    if scheme not in ("http", "https", "ftp"):
        return {f"url:scheme:{scheme[:16]}": None}
    _, at, host = place.rpartition("@")
    host, _, port = host.partition(":")
    tokens = [f"url:{piece}" for piece in split_host(host)]
    if IPV4.match(host) or host.isdigit():
        tokens.append("url:numeric")
    if port.isdigit() and len(port) < 6:
        tokens.append(f"url:port:{port}")
    if at:
        tokens.append("url:user")
    if len(path) > 1:
        tokens.extend(f"url:path:{word}" for word in PATH_WORD.findall(path.lower())[:MAX_PATH_WORDS])
    return dict.fromkeys(tokens)


_tokenize_link_cached = lru_cache(1 << 13)(_tokenize_link)
