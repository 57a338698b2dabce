"""Which tokens are made of a message: a switch for each choice, kept with what was learned."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b

RULES = 1
"""Goes up when the same switches begin to give other tokens."""


@dataclass(frozen=True)
class TokenOptions:
    """How a message is read; each switch by itself, so that each can be weighed by what it wins.

    `subject`, `sender` (from, reply-to, sender), `recipients` (to, cc), `received` (hosts and networks on the way),
    `mailer`, `structure` (types, charsets, encodings), `names` (which headers there are), `lists` (what mailing lists
    write: honest in a mailbox of one's own, a give-away in a corpus that was gathered from few lists),
    `authentication` (SPF, DKIM, DMARC as the receiving server found them), `urls`, `url_words` (words of paths),
    `html` (tags and telling attributes), `hidden` (words kept from sight), `attachments`, `body`,
    `pairs` (each word of the body with the next), `subject_pairs`, `case` (words of the subject in
    capitals, marked), `body_case` (those of the body too), `date` (its time zone), `others` (words of the headers
    that no other switch reads), `amounts` (prices, percentages, runs of !), `skips` (long words told by
    their first letter and length).
    """

    subject: bool = True
    sender: bool = True
    recipients: bool = True
    received: bool = True
    mailer: bool = True
    structure: bool = True
    names: bool = True
    lists: bool = True
    authentication: bool = True
    urls: bool = True
    url_words: bool = True
    html: bool = True
    hidden: bool = True
    attachments: bool = True
    body: bool = True
    pairs: bool = False
    subject_pairs: bool = True
    case: bool = True
    body_case: bool = False
    date: bool = True
    others: bool = False
    amounts: bool = True
    skips: bool = True
    shortest: int = 2
    longest: int = 20

    @cached_property
    def fingerprint(self) -> str:
        """The same for readings that give the same tokens.

        >>> TokenOptions().fingerprint == TokenOptions(pairs=False).fingerprint != TokenOptions(pairs=True).fingerprint
        True
        """
        told = json.dumps([RULES, asdict(self)], sort_keys=True)
        return f"{RULES}-{blake2b(told.encode(), digest_size=8).hexdigest()}"


USUAL = TokenOptions()
