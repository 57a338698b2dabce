"""The way a message came: hosts and networks of its hops, without those within the reader's own machines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from deciban.mail.links import IPV4, host_pieces

MOST_HOPS = 20
LONGEST_HOP = 500

HOST_NAME = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){1,8}[a-zA-Z]{2,20}(?![\w.-])")
ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
OWN_NETWORKS = ("127.", "10.", "192.168.", *(f"172.{n}." for n in range(16, 32)))


def hop_tokens(hops: Sequence[str]) -> list[str]:
    """Where a message came by, and in how many hops: those at home are the same for all mail and left out.

    >>> hop_tokens(["from localhost by me", "from pc (mx.a.example [192.0.2.7]) by me"])[:3]
    ['received:mx.a.example', 'received:a.example', 'received:example']
    """
    tokens: list[str] = []
    passed = 0
    for hop in hops[:MOST_HOPS]:
        clause, _, after = hop[:LONGEST_HOP].partition(" by ")
        if clause[:5].lower() != "from " or "localhost" in clause or _is_fetched(after[:60].lower()):
            continue
        found = _clause_tokens(clause[5:])
        tokens += found
        passed += bool(found)
    tokens.append(f"received:hops:{passed}")
    return tokens


def _is_fetched(by: str) -> bool:
    """Whether a hop is no delivery: a mailbox was emptied, or a machine spoke to itself."""
    return "localhost" in by or "fetchmail" in by or "with imap" in by or "with pop3" in by


@lru_cache(4096)
def _clause_tokens(clause: str) -> tuple[str, ...]:
    """What the receiving machine wrote of the sending one; nothing if that was its neighbour."""
    addresses = ADDRESS.findall(clause)[:3]
    if "[::1]" in clause or any(ip.startswith(OWN_NETWORKS) for ip in addresses):
        return ()
    tokens = ["received:" + piece for host in HOST_NAME.findall(clause)[:4] for piece in host_pieces(host)]
    tokens += ["received:" + piece for ip in addresses for piece in host_pieces(ip)]
    helo = clause.partition(" ")[0].strip("[]()")
    if IPV4.match(helo):
        tokens.append("received:helo:numeric")
    elif "." not in helo:
        tokens.append("received:helo:bare")
    if "unknown" in clause[:100]:
        tokens.append("received:unknown")
    return tuple(tokens)
