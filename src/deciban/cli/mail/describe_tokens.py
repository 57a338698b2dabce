"""Descriptions of tokens in plain English, for explanations of verdicts."""

from __future__ import annotations

from collections.abc import Callable

from deciban.mail.tokens.word_tokens import CURRENCIES

WHO = {"from": "sender", "sender": "sender", "reply-to": "reply address", "to": "recipient", "cc": "copied reader"}
SHAPES = {
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
    "reply:same": "answers go to the sender",
    "reply:host": "answers go to another address of the sender's host",
    "reply:other": "answers go elsewhere than to the sender",
    "date:no-zone": "date without a time zone",
}
"""Descriptions of tokens that have no variable part."""


def describe_token(token: str) -> str:
    """Describe what a message that has this token contains.

    >>> describe_token("subject:free"), describe_token("url:example.com"), describe_token("garden")
    ('subject has "free"', 'link to example.com', 'says "garden"')
    """
    if token in SHAPES:
        return SHAPES[token]
    place, colon, rest = token.partition(":")
    if colon and rest and place in PLACES:
        return PLACES[place](rest)
    return f'says "{token}"'


def _subject(rest: str) -> str:
    if rest.startswith("skip:"):
        return f"subject {_long_word(rest[5:])}"
    if rest.isupper() and len(rest) > 1:
        return f'subject has "{rest}" in capitals'
    if rest[0] in CURRENCIES and rest[1:2] == ":":
        return f"subject {_price(rest[0])(rest[2:])}"
    return f'subject has "{_pair(rest)}"'


def _pair(words: str) -> str:
    """Separate two neighbouring words, which a token joins by +."""
    return words.replace("+", " ")


def _price(sign: str) -> Callable[[str], str]:
    unit = "" if sign == "$" else f" in {sign}"
    return lambda n: f"has a price{unit}: {_digits(n)}"


def _digits(n: str) -> str:
    return f"{n} digit{'' if n == '1' else 's'}"


def _person(header: str) -> Callable[[str], str]:
    who = WHO[header]

    def describe(rest: str) -> str:
        kind, _, value = rest.partition(":")
        if rest == "nameless":
            return f"{who} has no name"
        if kind == "addr":
            return f"{who} is {value}"
        if value.startswith("skip:"):
            return f"{who}'s name {_long_word(value[5:])}"
        if kind == "name":
            return f'{who}\'s name has "{value}"'
        if rest.isdigit():
            return _count_people(who, int(rest))
        return f"{who} is at {_host(rest)}"

    return describe


def _count_people(who: str, power: int) -> str:
    """Describe a number of people, given as the bits of that number."""
    if power < 2:
        return f"one {who}" if power else f"no address of a {who}"
    return f"{2 ** (power - 1)} to {2**power - 1} {who}s"


def _host(name: str) -> str:
    """Return a host or a domain; the last part of one gets a dot in front."""
    return name if "." in name else f".{name}"


def _route(rest: str) -> str:
    return f"passed {rest[5:]} machines" if rest.startswith("hops:") else f"came by {_host(rest)}"


def _link(rest: str) -> str:
    kind, _, value = rest.partition(":")
    descriptions = {
        "path": f'link with "{value}" in its path', "port": f"link to port {value}",
        "mailto": f"link that writes to {value}", "scheme": f"link by {value}:",
    }  # fmt: skip
    return descriptions[kind] if value and kind in descriptions else f"link to {_host(rest)}"


def _html(rest: str) -> str:
    kind, _, value = rest.partition(":")
    descriptions = {
        "color": f"text in the colour #{value}", "ground": f"background in the colour #{value}",
        "size": f"text of size {value}", "event": f"web page that acts by itself ({value})",
    }  # fmt: skip
    return descriptions[kind] if value and kind in descriptions else f"web page with <{rest}>"


def _attachment(rest: str) -> str:
    kind, _, value = rest.partition(":")
    if kind == "size" and value.isdigit():
        return f"attachment of about {_size(int(value))}"
    if kind == "name" and value:
        return f'attachment with "{value}" in its name'
    return f"attachment that ends in {rest}" if rest.startswith(".") else f"attachment of type {rest}"


def _size(power: int) -> str:
    """Describe a size in bytes, given as the bits of that number."""
    unit = min(max(power - 1, 0) // 10, 3)
    return f"{2 ** (max(power - 1, 0) - 10 * unit)} {('bytes', 'KiB', 'MiB', 'GiB')[unit]}"


def _long_word(rest: str) -> str:
    first, _, length = rest.partition(":")
    return f"has a word of {length} letters or more that begins with {first}"


def _authentication(rest: str) -> str:
    method, _, result = rest.partition("=")
    return f"the receiving server's check of the sender ({method.upper()}): {result}"


PLACES: dict[str, Callable[[str], str]] = {
    "subject": _subject,
    **{header: _person(header) for header in WHO},
    "received": _route,
    "url": _link,
    "html": _html,
    "attachment": _attachment,
    "skip": _long_word,
    "auth": _authentication,
    "header": lambda rest: f'has a header "{rest}"',
    "no": lambda rest: f'has no header "{rest}"',
    "message-id": lambda rest: f"Message-ID of {_host(rest)}",
    "mailer": lambda rest: f'written with "{rest.replace("_", " ")}"',
    "x-priority": lambda rest: f'priority "{rest}"',
    "x-msmail-priority": lambda rest: f'priority "{rest}"',
    "importance": lambda rest: f'importance "{rest}"',
    "content-type": lambda rest: f"is {rest} as a whole",
    "content-transfer-encoding": lambda rest: f"is encoded as {rest}",
    "date": lambda rest: f"written in time zone {rest}",
    "list": lambda rest: f'came by a mailing list, "{rest}"',
    "dkim": lambda rest: f"signed by {_host(rest)}",
    "hidden": lambda rest: f'hides "{rest}" from sight',
    "type": lambda rest: f"has a part of type {rest}",
    "charset": lambda rest: f"has a part in {rest}",
    "encoding": lambda rest: f"has a part encoded as {rest}",
    "caps": lambda rest: f'says "{rest.upper()}" in capitals',
    **{sign: _price(sign) for sign in CURRENCIES},
}
"""Functions that describe a token, by the part of the message that it comes from."""
