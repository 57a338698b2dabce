"""Descriptions of tokens in plain English: no explanation shows a token as the filter writes it."""

from collections.abc import Callable, Mapping
from functools import partial

from deciban.mail.tokens.word_tokens import CURRENCIES, PAIR_SEPARATOR

PEOPLE = {"from": "sender", "sender": "sender", "reply-to": "reply address", "to": "recipient", "cc": "copied reader"}
RECIPIENT_BITS = frozenset("01234567")
"""Numbers of bits of a number of recipients, at most 100."""

FIXED_TOKENS = {
    "shape:html-only": "a web page and no plain text",
    "shape:no-text": "a web page without a word",
    "shape:empty": "nothing in it",
    "subject:capitals": "subject all in capitals",
    "subject:8bit": "subject with letters beyond ASCII",
    "received:helo:numeric": "sending machine gave a number for its name",
    "received:helo:bare": "sending machine gave a name without a domain",
    "received:unknown": "sending machine has no known name",
    "url:numeric": "link to a number in place of a name",
    "url:user": "link with a user's name before the host",
    "html:hidden:style": "text hidden by its style",
    "html:hidden:sheet": "text hidden by a style sheet",
    "html:hidden:colour": "text in the colour of its background",
    "html:pixel": "picture too small to see",
    "html:mailto": "link that writes a mail",
    "html:comment": "web page with a comment in its source",
    "html:size:": "text whose size is left empty",
    "reply:same": "answers go to the sender",
    "reply:host": "answers go to another address of the sender's host",
    "reply:other": "answers go elsewhere than to the sender",
    "date:no-zone": "date without a time zone",
    **{f"{header}:nameless": f"{who} has no name" for header, who in PEOPLE.items()},
}
"""Descriptions of tokens that have no variable part."""


def describe_token(token: str) -> str:
    """Describe in plain English what a message that has this token contains.

    >>> describe_token("subject:free"), describe_token("url:example.com"), describe_token("garden")
    ('subject has "free"', 'link to example.com', 'has "garden"')
    """
    if token in FIXED_TOKENS:
        return FIXED_TOKENS[token]
    place, colon, value = token.partition(":")
    kind, _, inner = value.partition(":")
    for prefix, text in ((f"{place}:{kind}:", inner), (f"{place}:", value)):
        if text and prefix in DESCRIPTIONS:
            return DESCRIPTIONS[prefix](text)
    is_word = not colon or place.endswith(f"{PAIR_SEPARATOR}skip")
    return f"has {_quote(token)}" if is_word else f'header "{place}" has {_quote(value)}'


def _quote(words: str) -> str:
    """Return a word, or two that a token joins, in quotes; of a long word only its length and first letter are known.

    >>> _quote("you+won"), _quote("skip:d:30+won")
    ('"you won"', 'a word of 30 letters or more that begins with d, then "won"')
    """
    if "skip:" not in words:
        return f'"{words.replace(PAIR_SEPARATOR, " ")}"'
    pieces = [piece.split(":") for piece in words.split(PAIR_SEPARATOR)]
    return ", then ".join(_describe_long_word(*p[1:3]) if p[1:] else f'"{p[0]}"' for p in pieces)


def _describe_long_word(first: str, length: str = "many") -> str:
    return f"a word of {length} letters or more that begins with {first}"


def _describe_subject(words: str) -> str:
    return f"subject has {_quote(words)}" + (" in capitals" if words.isupper() and len(words) > 1 else "")


def _describe_price(sign: str, digits: str) -> str:
    unit = "" if sign == "$" else f" in {sign}"
    return f"has a price{unit}: {digits} digit{'' if digits == '1' else 's'}"


def _describe_recipients(who: str, value: str) -> str:
    """Describe the host of a recipient, or the number of recipients, which a token gives as its number of bits."""
    if value not in RECIPIENT_BITS:
        return f"{who} is at {_format_host(value)}"
    power = int(value)
    if power < 2:
        return f"one {who}" if power else f"no address of a {who}"
    return f"{2 ** (power - 1)} to {2**power - 1} {who}s"


def _describe_size(bits: str) -> str:
    """Describe the size of an attachment in bytes, given as the bits of that number."""
    if not (bits.isascii() and bits.isdecimal() and len(bits) < 3):  # a sender may have called the type so
        return f"attachment of type size:{bits}"
    if not int(bits):
        return "empty attachment"
    power = int(bits) - 1
    unit = min(power // 10, 3)
    return f"attachment of about {2 ** (power - 10 * unit)} {('bytes', 'KiB', 'MiB', 'GiB')[unit]}"


def _describe_authentication(value: str) -> str:
    method, _, result = value.partition("=")
    return f"the receiving server's check of the sender ({method.upper()}): {result}"


def _restore_spaces(value: str) -> str:
    """Return a value with the spaces that a token cannot have."""
    return value.replace("_", " ")


def _format_host(name: str) -> str:
    """Return a host or a domain; the last part of one gets a dot in front."""
    return name if "." in name else f".{name}"


def _for_each(places: Mapping[str, str], describe: Callable[[str, str], str]) -> dict[str, Callable[[str], str]]:
    """Return a description for each of some prefixes, of the word that belongs to the prefix and of the value."""
    return {prefix: partial(describe, word) for prefix, word in places.items()}


DESCRIPTIONS: dict[str, Callable[[str], str]] = {
    "subject:": _describe_subject,
    **_for_each({f"subject:{s}:": s for s in CURRENCIES}, lambda sign, n: f"subject {_describe_price(sign, n)}"),
    **_for_each({f"{sign}:": sign for sign in CURRENCIES}, _describe_price),
    **_for_each(
        {f"{header}:": who for header, who in PEOPLE.items()}, lambda who, host: f"{who} is at {_format_host(host)}"
    ),
    **_for_each({f"{header}:": PEOPLE[header] for header in ("to", "cc")}, _describe_recipients),
    **_for_each({f"{header}:addr:": who for header, who in PEOPLE.items()}, "{} is {}".format),
    **_for_each(
        {f"{header}:name:": who for header, who in PEOPLE.items()},
        lambda who, word: f"{who}'s name has {_quote(word)}",
    ),
    "received:": lambda host: f"came by {_format_host(host)}",
    "received:hops:": lambda n: "passed one machine" if n == "1" else f"passed {n} machines",
    "url:": lambda host: f"link to {_format_host(host)}",
    "url:path:": 'link with "{}" in its path'.format,
    "url:port:": "link to port {}".format,
    "url:mailto:": "link that writes to {}".format,
    "url:scheme:": "link by {}:".format,
    "html:": "web page with <{}>".format,
    "html:color:": "text in the colour #{}".format,
    "html:ground:": "background in the colour #{}".format,
    "html:size:": "text of size {}".format,
    "html:event:": "web page that acts by itself ({})".format,
    "attachment:": lambda kind: f"attachment {'that ends in' if kind.startswith('.') else 'of type'} {kind}",
    "attachment:size:": _describe_size,
    "attachment:name:": lambda word: f"attachment with {_quote(word)} in its name",
    "skip:": lambda word: f"has {_quote(f'skip:{word}')}",
    "auth:": _describe_authentication,
    "header:": 'has a header "{}"'.format,
    "no:": 'has no header "{}"'.format,
    "message-id:": lambda host: f"Message-ID of {_format_host(host)}",
    "mailer:": lambda words: f'written with "{_restore_spaces(words)}"',
    "x-priority:": lambda value: f'priority "{_restore_spaces(value)}"',
    "x-msmail-priority:": lambda value: f'priority "{_restore_spaces(value)}"',
    "importance:": lambda value: f'importance "{_restore_spaces(value)}"',
    "content-type:": "is {} as a whole".format,
    "content-transfer-encoding:": "is encoded as {}".format,
    "date:": "written in time zone {}".format,
    "list:": lambda word: f"came by a mailing list, {_quote(word)}",
    "dkim:": lambda host: f"signed by {_format_host(host)}",
    "hidden:": lambda word: f"hides {_quote(word)} from sight",
    "type:": "has a part of type {}".format,
    "charset:": "has a part in {}".format,
    "encoding:": "has a part encoded as {}".format,
}
"""Functions that describe the variable part of a token, by what comes before it."""
