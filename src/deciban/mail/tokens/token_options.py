"""Options of tokenizing: which tokens of a message are counted; a store keeps a fingerprint of them."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b

TOKEN_RULES_VERSION = 1
"""The version of the rules; it goes up when equal options begin to give other tokens."""

FIXED_OPTIONS = {
    "recipients": True, "mailer": True, "structure": True, "authentication": True, "urls": True, "url_words": True,
    "html": True, "hidden": True, "attachments": True, "case": True, "body_case": False, "date": True, "skips": True,
}  # fmt: skip
"""Options of version 0.1 whose values are fixed since: each was tied on all corpora of `docs/lab/mail.md`
(SpamAssassin, Enron1, Enron2, SMS; no message of these has `authentication`). They remain a part of the fingerprint,
so that stores of version 0.1 keep theirs."""


@dataclass(frozen=True)
class TokenOptions:
    """Which tokens a message has; each option can be measured by itself.

    `subject`, `sender` (from, reply-to, sender), `received` (hosts and networks on the way), `names` (which headers
    there are), `lists` (headers of mailing lists: informative in a mailbox of one person, but they identify the
    source in a corpus that was gathered from few lists), `body`, `pairs` (each word of the body with the next),
    `subject_pairs`, `others` (words of the headers that no other option reads), `amounts` (prices, percentages, runs
    of !), and `shortest` and `longest`, the lengths of words in characters.

    Recipients, mail programs, types and charsets, links, HTML tags, hidden words, attachments, words of the subject
    in capitals, time zones, and results of SPF, DKIM and DMARC are always read; a word longer than `longest` becomes
    its first letter and its length.
    """

    subject: bool = True
    sender: bool = True
    received: bool = True
    names: bool = True
    lists: bool = True
    body: bool = True
    pairs: bool = False
    subject_pairs: bool = True
    others: bool = False
    amounts: bool = True
    shortest: int = 2
    longest: int = 20

    @cached_property
    def fingerprint(self) -> str:
        """A hash that is equal for options that give equal tokens.

        >>> plain = TokenOptions()
        >>> plain.fingerprint == TokenOptions(pairs=False).fingerprint != TokenOptions(pairs=True).fingerprint
        True
        """
        text = json.dumps([TOKEN_RULES_VERSION, FIXED_OPTIONS | asdict(self)], sort_keys=True)
        return f"{TOKEN_RULES_VERSION}-{blake2b(text.encode(), digest_size=8).hexdigest()}"


DEFAULT_OPTIONS = TokenOptions()
