"""Links and their tokens: hosts and the domains above them, networks, ports, words of paths."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_HOST_CHARACTERS = 40
"""With its prefix a host is a token of at most sixty characters."""
MAX_PATH_WORDS = 8
MAX_LINKS = 300
MAX_LINK_CHARACTERS = 1000
MAX_CACHED_LINK_CHARACTERS = 200

LINK_SIGNS = ("://", "www.", "WWW.")
SCHEME = re.compile(r"(?:https?|ftp)\Z", re.IGNORECASE)
LINK_END = re.compile(r"[\s<>\"'\\]")
WEB = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]{0,15}):)?(?://)?([^/?#\s]*+)([^\s]*+)")
PATH_WORD = re.compile(r"[a-zA-Z]{3,20}|\d{1,6}")
IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
PERCENT = re.compile(r"%([0-7][0-9a-fA-F])")
HOST = re.compile(r"[^\w.-]+")
MAIL = re.compile(r"(?<![^\s<>()\[\]\",;:@])([^\s<>()\[\]\",;:@]{1,80}+)@([\w.-]{1,80})")
TRAILING = ".,;:!?)]}>'\"*"


@lru_cache(1 << 13)
def host_pieces(host: str) -> tuple[str, ...]:
    """Return a host and the domains above it, or the networks of a numeric address.

    >>> host_pieces("www.shop.example.com"), host_pieces("10.1.2.3")
    (('www.shop.example.com', 'shop.example.com', 'example.com', 'com'), ('10.1.2.3', '10.1.2', '10.1'))
    """
    if not host.replace(".", "").replace("-", "").isalnum():
        host = HOST.sub("", host)
    parts = host.lower().strip(".")[-MAX_HOST_CHARACTERS:].split(".")
    if len(parts) == 4 and all(part.isdigit() for part in parts):
        return tuple(".".join(parts[:n]) for n in (4, 3, 2))
    return tuple(".".join(parts[n:]) for n in range(max(0, len(parts) - 4), len(parts)) if parts[n])


def split_links(text: str) -> tuple[str, list[str]]:
    """Return a text without its links, and the links.

    >>> split_links("See http://a.example/b, or www.c.example.")
    ('See   or  ', ['http://a.example/b', 'www.c.example'])
    """
    candidates = _find_candidates(text)
    if not candidates:
        return text, []
    rest: list[str] = []
    links: list[str] = []
    done = 0
    for candidate in candidates:
        start = _find_start(text, candidate, done)
        if start < 0 or len(links) >= MAX_LINKS:
            continue
        stop = LINK_END.search(text, candidate + 3, start + MAX_LINK_CHARACTERS)
        end = stop.start() if stop else min(len(text), start + MAX_LINK_CHARACTERS)
        rest.append(text[done:start])
        links.append(text[start:end].rstrip(TRAILING))
        done = end
    rest.append(text[done:])
    return " ".join(rest), links


def _find_candidates(text: str) -> list[int]:
    """Return the offsets of strings that occur in links and rarely elsewhere."""
    found = []
    for sign in LINK_SIGNS:
        at = text.find(sign)
        while at >= 0:
            found.append(at)
            at = text.find(sign, at + len(sign))
    return sorted(found)


def _find_start(text: str, at: int, done: int) -> int:
    """Return the offset, not before `done`, where the link with a sign at this offset begins; -1 if there is none."""
    if at < done:
        return -1
    if text[at] != ":":
        return at if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.@/-") else -1
    scheme = SCHEME.search(text, max(done, at - 5), at)
    return scheme.start() if scheme else -1


def link_tokens(link: str) -> dict[str, None]:
    """Return the tokens of a link: its host in pieces, its port, words of its path, and how it is written."""
    if len(link) <= MAX_CACHED_LINK_CHARACTERS:
        return _read_link_cached(link)
    return _read_link(link[:MAX_LINK_CHARACTERS])


def _read_link(link: str) -> dict[str, None]:
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
    if len(path) > 1:
        tokens.extend(f"url:path:{word}" for word in PATH_WORD.findall(path.lower())[:MAX_PATH_WORDS])
    return dict.fromkeys(tokens)


_read_link_cached = lru_cache(1 << 13)(_read_link)
