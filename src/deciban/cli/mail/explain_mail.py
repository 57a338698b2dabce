"""`deciban mail explain`: the clues in a message, in plain English, what each contributes to its verdict, and where
it was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from deciban.cli.error_handling import handle_errors
from deciban.cli.files import escape_for_terminal
from deciban.cli.mail import mail_inputs as a
from deciban.cli.mail.mail_inputs import open_to_classify, read_messages
from deciban.formatting import format_probability, format_signed, format_thousands
from deciban.mail.tokens.word_tokens import CURRENCIES

if TYPE_CHECKING:
    from deciban.mail.model.verdicts import Verdict

MAX_LABEL_COLUMNS: Final = 3
"""With more labels, only the likeliest has a column, next to one for all others together."""

OTHERS: Final = "others"

MIN_SHOWN_DECIBANS: Final = 0.05
"""Evidence that a clue needs to be shown: less would be shown as 0."""

MAX_HEADER_CHARACTERS: Final = 200
"""Characters of a header that are shown."""

PEOPLE = {"from": "sender", "sender": "sender", "reply-to": "reply address", "to": "recipient", "cc": "copied reader"}
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
    "reply:same": "answers go to the sender",
    "reply:host": "answers go to another address of the sender's host",
    "reply:other": "answers go elsewhere than to the sender",
    "date:no-zone": "date without a time zone",
    **{f"{header}:nameless": f"{who} has no name" for header, who in PEOPLE.items()},
}
"""Descriptions of tokens that have no variable part."""


@a.command(
    a.MESSAGES, a.STORE, a.MODEL,
    a.number("--top", "NUMBER", "How many clues to show, the strongest first.", minimum=0, default=15),
    a.JSON_LINES, a.DEBUG,
    examples=["deciban mail explain message.eml", "deciban mail explain < message.eml"],
)  # fmt: skip
def explain(paths: Sequence[str], store: str | None, model: str | None, top: int, json: bool, debug: bool) -> None:
    """Show why messages get their verdicts: their clues, the evidence of each in decibans, and where it was seen."""
    paths = [] if paths == ["-"] else paths
    with handle_errors(debug, interrupted="nothing was changed"), open_to_classify(store, model) as mail:
        for name, raw in read_messages(paths, "standard input"):
            verdict = mail.classify(raw, clues=top)
            if json:
                print(escape_for_terminal(_format_json(name, verdict)))
            else:
                _show(name, verdict, raw)


def _format_json(name: str, verdict: Verdict) -> str:
    from deciban.plain_json import to_json

    figures = verdict.to_dict()
    for clue in figures["top"]:
        clue["in_words"] = describe_token(clue["token"])
    return to_json({"path": name, **figures})


def _show(name: str, verdict: Verdict, raw: bytes) -> None:
    from deciban.cli.render import Screen, to_one_line
    from deciban.mail.message.message import read_message

    out = Screen()
    out.print_heading(to_one_line(name))
    evidence = f"{format_signed(verdict.decibans, 1)} dB for {verdict.of}, by {verdict.model}"
    out.print_line(f"{verdict.label}: p({verdict.of}) = {format_probability(verdict.probability)}, {evidence}")
    headers = dict(reversed(read_message(raw).headers))
    out.print_pairs(
        [(name, headers[name][:MAX_HEADER_CHARACTERS]) for name in ("from", "subject") if headers.get(name)]
    )
    labels = list(verdict.learned)
    columns = labels if len(labels) <= MAX_LABEL_COLUMNS else [verdict.of, OTHERS]
    head = ["decibans", *columns, "what"]
    out.print_table(head, _rows(verdict, columns), right=range(len(head) - 1), wide=len(head) - 1)
    if verdict.why:
        out.print_line(f"unsure: {verdict.why}")
    for part in verdict.cut:
        out.print_line(f"not read: {part}")


def _rows(verdict: Verdict, columns: list[str]) -> list[list[str]]:
    blank = [""] * len(columns)
    shown = [clue for clue in verdict.clues if abs(clue.decibans) >= MIN_SHOWN_DECIBANS]
    others = verdict.others + sum(clue.decibans for clue in verdict.clues if clue not in shown)
    rows = [(verdict.prior, _counts_by_column(verdict.learned, columns), "messages learned, before this one is read")]
    rows += [(clue.decibans, _counts_by_column(clue.counts, columns), describe_token(clue.token)) for clue in shown]
    rows += [(others, blank, "all else that it has"), (verdict.decibans, blank, "together")]
    return [[format_signed(decibans, 1), *counts, words] for decibans, counts, words in rows]


def _counts_by_column(counts: Mapping[str, float], columns: list[str]) -> list[str]:
    """Format the messages of the labels that have columns; where messages age, one of today counts 1."""
    others = sum(n for label, n in counts.items() if label not in columns)
    shown = [others if name == OTHERS else counts.get(name, 0) for name in columns]
    return [format_thousands(n) if float(n).is_integer() else format_thousands(n, ".1f") for n in shown]


def describe_token(token: str) -> str:
    """Describe in plain English what a message that has this token contains.

    >>> describe_token("subject:free"), describe_token("url:example.com"), describe_token("garden")
    ('subject has "free"', 'link to example.com', 'has "garden"')
    """
    if token in FIXED_TOKENS:
        return FIXED_TOKENS[token]
    place, _, value = token.partition(":")
    kind, _, inner = value.partition(":")
    for prefix, text in ((f"{place}:{kind}:", inner), (f"{place}:", value)):
        if text and prefix in DESCRIPTIONS:
            return DESCRIPTIONS[prefix](text)
    return f'has "{token}"'


def _describe_subject(words: str) -> str:
    if words.isupper() and len(words) > 1:
        return f'subject has "{words}" in capitals'
    return f'subject has "{words.replace("+", " ")}"'  # a token joins two neighbouring words by +


def _describe_price(sign: str, digits: str) -> str:
    unit = "" if sign == "$" else f" in {sign}"
    return f"has a price{unit}: {digits} digit{'' if digits == '1' else 's'}"


def _describe_long_word(word: str) -> str:
    first, _, length = word.partition(":")
    return f"has a word of {length} letters or more that begins with {first}"


def _describe_name(who: str, word: str) -> str:
    is_long = word.startswith("skip:")
    return f"{who}'s name {_describe_long_word(word[5:])}" if is_long else f'{who}\'s name has "{word}"'


def _describe_person(who: str, value: str) -> str:
    """Describe the host of a person, or a number of people, which a token gives as its number of bits."""
    if not value.isdigit():
        return f"{who} is at {_format_host(value)}"
    power = int(value)
    if power < 2:
        return f"one {who}" if power else f"no address of a {who}"
    return f"{2 ** (power - 1)} to {2**power - 1} {who}s"


def _describe_size(bits: str) -> str:
    """Describe the size of an attachment in bytes, given as the bits of that number."""
    power = max(int(bits) - 1, 0)
    unit = min(power // 10, 3)
    return f"attachment of about {2 ** (power - 10 * unit)} {('bytes', 'KiB', 'MiB', 'GiB')[unit]}"


def _describe_authentication(value: str) -> str:
    method, _, result = value.partition("=")
    return f"the receiving server's check of the sender ({method.upper()}): {result}"


def _format_host(name: str) -> str:
    """Return a host or a domain; the last part of one gets a dot in front."""
    return name if "." in name else f".{name}"


def _for_each(places: Mapping[str, str], describe: Callable[[str, str], str]) -> dict[str, Callable[[str], str]]:
    """Return a description for each of some prefixes, of the word that belongs to the prefix and of the value."""
    return {prefix: partial(describe, word) for prefix, word in places.items()}


DESCRIPTIONS: dict[str, Callable[[str], str]] = {
    "subject:": _describe_subject,
    "subject:skip:": lambda word: f"subject {_describe_long_word(word)}",
    **_for_each({f"subject:{s}:": s for s in CURRENCIES}, lambda sign, n: f"subject {_describe_price(sign, n)}"),
    **_for_each({f"{sign}:": sign for sign in CURRENCIES}, _describe_price),
    **_for_each({f"{header}:": who for header, who in PEOPLE.items()}, _describe_person),
    **_for_each({f"{header}:addr:": who for header, who in PEOPLE.items()}, "{} is {}".format),
    **_for_each({f"{header}:name:": who for header, who in PEOPLE.items()}, _describe_name),
    "received:": lambda host: f"came by {_format_host(host)}",
    "received:hops:": "passed {} machines".format,
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
    "attachment:name:": 'attachment with "{}" in its name'.format,
    "skip:": _describe_long_word,
    "auth:": _describe_authentication,
    "header:": 'has a header "{}"'.format,
    "no:": 'has no header "{}"'.format,
    "message-id:": lambda host: f"Message-ID of {_format_host(host)}",
    "mailer:": lambda words: f'written with "{words.replace("_", " ")}"',
    "x-priority:": 'priority "{}"'.format,
    "x-msmail-priority:": 'priority "{}"'.format,
    "importance:": 'importance "{}"'.format,
    "content-type:": "is {} as a whole".format,
    "content-transfer-encoding:": "is encoded as {}".format,
    "date:": "written in time zone {}".format,
    "list:": 'came by a mailing list, "{}"'.format,
    "dkim:": lambda host: f"signed by {_format_host(host)}",
    "hidden:": 'hides "{}" from sight'.format,
    "type:": "has a part of type {}".format,
    "charset:": "has a part in {}".format,
    "encoding:": "has a part encoded as {}".format,
    "caps:": lambda word: f'has "{word.upper()}" in capitals',
}
"""Functions that describe the variable part of a token, by what comes before it."""
