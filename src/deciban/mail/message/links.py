"""Links in pieces: hosts and the domains they belong to, networks, ports, words of paths."""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST_HOST = 40
"""With its prefix a host is a token of at most sixty characters."""
MOST_PATH_WORDS = 8
MOST_LINKS = 300
LONGEST_LINK = 1000

SIGNS = ("://", "www.", "WWW.")
SCHEME = re.compile(r"(?:https?|ftp)\Z", re.IGNORECASE)
END = re.compile(r"[\s<>\"'\\]")
WEB = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]{0,15}):)?(?://)?([^/?#\s]*+)([^\s]*+)")
PATH_WORD = re.compile(r"[a-zA-Z]{3,20}|\d{1,6}")
IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
PERCENT = re.compile(r"%([0-7][0-9a-fA-F])")
HOST = re.compile(r"[^\w.-]+")
MAIL = re.compile(r"(?<![^\s<>()\[\]\",;:@])([^\s<>()\[\]\",;:@]{1,80}+)@([\w.-]{1,80})")
TRAILING = ".,;:!?)]}>'\"*"


@lru_cache(1 << 13)
def host_pieces(host: str) -> tuple[str, ...]:
    """A host and the domains above it, or the networks of a numeric address.

    >>> host_pieces("www.shop.example.com"), host_pieces("10.1.2.3")
    (('www.shop.example.com', 'shop.example.com', 'example.com', 'com'), ('10.1.2.3', '10.1.2', '10.1'))
    """
    if not host.replace(".", "").replace("-", "").isalnum():
        host = HOST.sub("", host)
    parts = host.lower().strip(".")[-LONGEST_HOST:].split(".")
    if len(parts) == 4 and all(part.isdigit() for part in parts):
        return tuple(".".join(parts[:n]) for n in (4, 3, 2))
    return tuple(".".join(parts[n:]) for n in range(max(0, len(parts) - 4), len(parts)) if parts[n])


def parted_from_links(text: str) -> tuple[str, list[str]]:
    """A text without its links, and these.

    >>> parted_from_links("See http://a.example/b, or www.c.example.")
    ('See   or  ', ['http://a.example/b', 'www.c.example'])
    """
    places = _places(text)
    if not places:
        return text, []
    rest: list[str] = []
    links: list[str] = []
    done = 0
    for place in places:
        at = _begin(text, place, done)
        if at < 0 or len(links) >= MOST_LINKS:
            continue
        stop = END.search(text, place + 3, at + LONGEST_LINK)
        end = stop.start() if stop else min(len(text), at + LONGEST_LINK)
        rest.append(text[done:at])
        links.append(text[at:end].rstrip(TRAILING))
        done = end
    rest.append(text[done:])
    return " ".join(rest), links


def _places(text: str) -> list[int]:
    """Where something stands that links have and little else does."""
    places = []
    for sign in SIGNS:
        at = text.find(sign)
        while at >= 0:
            places.append(at)
            at = text.find(sign, at + len(sign))
    return sorted(places)


def _begin(text: str, at: int, done: int) -> int:
    """Where the link begins that shows itself at a place after `done`; -1 if there is none."""
    if at < done:
        return -1
    if text[at] != ":":
        return at if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.@/-") else -1
    scheme = SCHEME.search(text, max(done, at - 5), at)
    return scheme.start() if scheme else -1


def link_tokens(link: str, words: bool) -> dict[str, None]:
    """What a link tells: where it leads, in pieces, and how it is written."""
    return _link_tokens(link, words) if len(link) <= 200 else _read_link(link[:1000], words)


def _read_link(link: str, words: bool) -> dict[str, None]:
    if "%" in link:
        link = PERCENT.sub(lambda code: chr(int(code[1], 16)), link)
    found = WEB.match(link)
    scheme, place, path = found.groups() if found else (None, "", "")
    scheme = (scheme or "http").lower()
    if scheme == "mailto":
        return dict.fromkeys([f"url:mailto:{piece}" for piece in host_pieces(place.rpartition("@")[2])[:3]])
    if scheme not in ("http", "https", "ftp"):
        return {f"url:scheme:{scheme[:16]}": None}
    _, at, host = place.rpartition("@")
    host, _, port = host.partition(":")
    tokens = [f"url:{piece}" for piece in host_pieces(host)]
    if IPV4.match(host) or host.isdigit():
        tokens.append("url:numeric")
    if port.isdigit() and len(port) < 6:
        tokens.append(f"url:port:{port}")
    if at:
        tokens.append("url:user")
    if words and len(path) > 1:
        tokens.extend(f"url:path:{word}" for word in PATH_WORD.findall(path.lower())[:MOST_PATH_WORDS])
    return dict.fromkeys(tokens)


_link_tokens = lru_cache(1 << 13)(_read_link)
