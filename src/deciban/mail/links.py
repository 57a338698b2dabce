"""Addresses of the web and of mail, in pieces: hosts and the domains they belong to, ports, numbers, words of paths."""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST_HOST = 40
"""With its prefix a host is a token of at most sixty characters."""
MOST_PATH_WORDS = 8

LINK = re.compile(r"(?:https?|ftp)://[^\s<>\"'\\]{1,1000}+|(?<![\w.@/])www\.[^\s<>\"'\\]{1,1000}+", re.IGNORECASE)
WEB = re.compile(r"(?:([a-zA-Z][a-zA-Z0-9+.-]{0,15}):)?(?://)?([^/?#\s]*+)([^\s]*+)")
PATH_WORD = re.compile(r"[a-zA-Z]{3,20}|\d{1,6}")
IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
PERCENT = re.compile(r"%([0-7][0-9a-fA-F])")
HOST = re.compile(r"[^\w.-]+")
MAIL = re.compile(r"([^\s<>()\[\]\",;:@]{1,80})@([\w.-]{1,80})")
TRAILING = ".,;:!?)]}>'\"*"


@lru_cache(1 << 13)
def host_pieces(host: str) -> tuple[str, ...]:
    """A host and the domains above it, or the networks of a numeric address.

    >>> host_pieces("www.shop.example.com"), host_pieces("10.1.2.3")
    (('www.shop.example.com', 'shop.example.com', 'example.com', 'com'), ('10.1.2.3', '10.1.2', '10.1'))
    """
    parts = HOST.sub("", host.lower()).strip(".")[-LONGEST_HOST:].split(".")
    if len(parts) == 4 and all(part.isdigit() for part in parts):
        return tuple(".".join(parts[:n]) for n in (4, 3, 2))
    return tuple(".".join(parts[n:]) for n in range(max(0, len(parts) - 4), len(parts)) if parts[n])


def links_in(text: str) -> list[str]:
    """The links that stand in a text.

    >>> links_in("See http://a.example/b, or www.c.example.")
    ['http://a.example/b', 'www.c.example']
    """
    if "://" not in text and "www." not in text and "WWW." not in text:
        return []
    return [link.rstrip(TRAILING) for link in LINK.findall(text)]


def link_tokens(link: str, words: bool) -> tuple[str, ...]:
    """What a link tells: where it leads, in pieces, and how it is written."""
    return _link_tokens(link, words) if len(link) <= 200 else _read_link(link[:1000], words)


def _read_link(link: str, words: bool) -> tuple[str, ...]:
    if "%" in link:
        link = PERCENT.sub(lambda code: chr(int(code[1], 16)), link)
    found = WEB.match(link)
    scheme, place, path = found.groups() if found else (None, "", "")
    scheme = (scheme or "http").lower()
    if scheme == "mailto":
        return tuple(f"url:mailto:{piece}" for piece in host_pieces(place.rpartition("@")[2])[:3])
    if scheme not in ("http", "https", "ftp"):
        return (f"url:scheme:{scheme[:16]}",)
    user, at, host = place.rpartition("@")
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
    return tuple(tokens)


_link_tokens = lru_cache(1 << 13)(_read_link)
