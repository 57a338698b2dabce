"""The way a message came: hosts and networks of its hops, without those within the reader's own machines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from deciban.mail.message.links import IPV4, host_pieces

MOST_HOPS = 20
LONGEST_HOP = 500
MOST_NAMED = 4
"""Hosts of one hop, and addresses."""

BETWEEN = str.maketrans(dict.fromkeys("()[]<>{};,=@\"'", " "))
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
        if (found := _clause_tokens(clause)) and not _is_fetched(after[:60].lower()):
            tokens += found
            passed += 1
    tokens.append(f"received:hops:{passed}")
    return tokens


def _is_fetched(by: str) -> bool:
    """Whether a hop is no delivery: a mailbox was emptied, or a machine spoke to itself."""
    return "localhost" in by or "fetchmail" in by or "with imap" in by or "with pop3" in by


@lru_cache(4096)
def _clause_tokens(clause: str) -> tuple[str, ...]:
    """What the receiving machine wrote of the sending one; nothing if that was its neighbour."""
    if clause[:5].lower() != "from " or "localhost" in clause:
        return ()
    clause = clause[5:]
    pieces = [piece for piece in clause.translate(BETWEEN).split() if "." in piece]
    addresses = [piece for piece in pieces if IPV4.match(piece)][:MOST_NAMED]
    if "[::1]" in clause or any(ip.startswith(OWN_NETWORKS) for ip in addresses):
        return ()
    hosts = [piece for piece in pieces if piece.rpartition(".")[2].isalpha()][:MOST_NAMED]
    tokens = ["received:" + piece for name in (*hosts, *addresses) for piece in host_pieces(name)]
    helo = clause.partition(" ")[0].strip("[]()")
    if IPV4.match(helo):
        tokens.append("received:helo:numeric")
    elif "." not in helo:
        tokens.append("received:helo:bare")
    if "unknown" in clause[:100]:
        tokens.append("received:unknown")
    return tuple(tokens)
