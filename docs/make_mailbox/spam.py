"""Spam: pills from the moon, prizes, estates, full mailboxes; some of it hidden, disguised, or a single line."""

from __future__ import annotations

import re
from datetime import datetime
from html import escape

from docs.make_mailbox import people
from docs.make_mailbox.drafts import (
    Attachment,
    Draft,
    Headers,
    address_headers,
    mailer_headers,
    transport_headers,
)
from docs.make_mailbox.draw import Draw
from docs.make_mailbox.pages import coloured_page, plain_page
from docs.make_mailbox.phrases import (
    CHARSETS,
    Blanks,
    charset_for,
    common_blanks,
    compose,
    encoding_for,
    sections,
    wrap_paragraphs,
)

SHARES = {"plain": 0.83, "imitation": 0.07, "borrowed_name": 0.1}
"""How often each of the functions below writes."""

ENGLISH = {
    "pills": 0.2, "prize": 0.14, "estate": 0.12, "mailbox": 0.2, "watches": 0.12, "coins": 0.12, "orders": 0.1,
}  # fmt: skip
ELSEWHERE = {"offer": 0.5, "prize": 0.25, "mailbox": 0.25}
DISGUISE = str.maketrans({"a": "@", "o": "0", "i": "1", "e": "3"})
MAILERS = ("TurboMail 3", "Bureau 2024", "Thistle Mail 12.1", "PocketPost 4", "", "")
FILES = (
    ("order.zip", "application/zip"), ("invoice.html", "text/html"), ("advice.pdf.exe", "application/octet-stream"),
    ("document.pdf", "application/pdf"),
)  # fmt: skip
PRETENDED = ("https://mail.home.example/verify", "https://www.lindenbank.example/login", "www.railways.example.com")
OPEN_LIST = "undisclosed-recipients:;"


def write_spam(draw: Draw, time: datetime) -> Draft:
    """Write a spam message of a random kind."""
    kinds = {"plain": offer, "imitation": imitation, "borrowed_name": borrowed_name}
    return kinds[draw.choice_by_share(SHARES)](draw, time)


def offer(draw: Draw, time: datetime) -> Draft:
    """Write an offer of things that nobody needs."""
    language = "english" if draw.bernoulli(0.5) else draw.choice(tuple(CHARSETS)[1:])
    topic = spam_topic(draw, language)
    subject, paragraphs = compose(draw, language, "spam", topic, spam_blanks(draw), draw.randint(1, 4))
    if draw.bernoulli(0.15):
        subject, paragraphs = disguise(subject), [disguise(text) for text in paragraphs]
    text, page = _lay_out(draw, language, topic, paragraphs)
    files = (_file(draw),) if topic == "orders" else ()
    return _address(draw, time, language, sender(draw, topic), subject, text, page, _more(draw, topic), files)


def imitation(draw: Draw, time: datetime) -> Draft:
    """Write a message in the words and name of a known shop or bank; only address and links differ."""
    topic = draw.choice(tuple(people.SERVICES))
    who = people.SERVICES[topic]
    subject, paragraphs = compose(draw, "english", "ham", topic, spam_blanks(draw, who.name.split()[0]), 2)
    request = compose(draw, "english", "spam", "mailbox", spam_blanks(draw), 1)[1][1]
    lines = ["Dear customer,", paragraphs[1], request, who.name]
    text, page = wrap_paragraphs("english", lines), plain_page(lines) if draw.bernoulli(0.5) else ""
    return _address(draw, time, "english", (who.name, f"service@{host(draw)}"), subject, text, page)


def borrowed_name(draw: Draw, time: datetime) -> Draft:
    """Write a line and a link in the name of a friend, sometimes from the friend's address."""
    who = draw.choice(people.FRIENDS[:8])
    address = (
        who.address if draw.bernoulli(0.5) else f"{who.name.split()[0].lower()}{draw.randint(1, 99)}@freemail.example"
    )
    subject, paragraphs = compose(draw, "english", "spam", "short", spam_blanks(draw, who.name.split()[0]), 1)
    lines = paragraphs[1:2]
    if draw.bernoulli(0.5):
        lines = [
            *compose(draw, who.language, "ham", "friends", spam_blanks(draw, who.name.split()[0]), 1)[1][:2],
            *lines,
        ]
    sender_name = (who.name, address if address.isascii() else who.address)
    return _address(draw, time, who.language, sender_name, subject, wrap_paragraphs(who.language, lines), "")


def spam_topic(draw: Draw, language: str) -> str:
    """Choose a topic among those that have phrases in a language."""
    shares = ENGLISH if language == "english" else ELSEWHERE
    return draw.choice_by_share(
        {name: share for name, share in shares.items() if f"spam {name}" in sections(language)}
    )


def disguise(text: str) -> str:
    """Replace a character of long words by a similar one; links are unchanged."""
    return re.sub(
        r"(?<![/\w.:])[a-z]{6,}\b(?![./:@])", lambda word: word[0][:2] + word[0][2:].translate(DISGUISE), text
    )


def _lay_out(draw: Draw, language: str, topic: str, paragraphs: list[str]) -> tuple[str, str]:
    """Lay out paragraphs as text, as a plain page, or as a coloured page with hidden words."""
    text = wrap_paragraphs(language, paragraphs)
    if topic in ("estate", "orders") and draw.bernoulli(0.75):
        return text, ""
    if draw.bernoulli(0.25):
        return text, plain_page(paragraphs) if draw.bernoulli(0.6) else ""
    hidden = " ".join(draw.sample(sections(language)["ham friends"].sentences, 2)) if draw.bernoulli(0.3) else ""
    shown = draw.choice(PRETENDED) if topic == "mailbox" and draw.bernoulli(0.7) else ""
    page = coloured_page(draw, paragraphs, re.sub(r"[][|]", " ", hidden), escape(shown))
    return (text if draw.bernoulli(0.3) else ""), page


def _address(
    draw: Draw, time: datetime, language: str, sender_name: tuple[str, str], subject: str, text: str, page: str,
    more: Headers = (), files: tuple[Attachment, ...] = (),
) -> Draft:  # fmt: skip
    """Add the headers of an unknown machine."""
    name, address = sender_name
    charset = charset_for(draw, language, subject, text, page, name)
    has_host_name = draw.bernoulli(0.45)
    to = OPEN_LIST if draw.bernoulli(0.2) else people.OWNER[1] if draw.bernoulli(0.5) else ""
    top = (
        *transport_headers(draw, address, time, draw.randint(-8, 9), has_host_name=has_host_name),
        *address_headers(name, address, subject, to), *mailer_headers(draw.choice(MAILERS)), *more,
    )  # fmt: skip
    return Draft(top, text, charset, encoding_for(draw, charset), page, files, f"=_{draw.digits(12)}")


def sender(draw: Draw, topic: str) -> tuple[str, str]:
    """Return a name (empty for some) and an address."""
    first, last = draw.choice(people.FIRST), draw.choice(people.LAST)
    at = host(draw) if draw.bernoulli(0.6) else draw.choice(("freemail.example", "post.example.net"))
    name = draw.choice(people.BRANDS) if topic in ("mailbox", "watches", "pills") else f"{first} {last}"
    return (name if draw.bernoulli(0.85) else ""), f"{last.lower()}{draw.randint(1, 999)}@{at}"


def host(draw: Draw) -> str:
    """Return the name of a host registered yesterday."""
    top = draw.choice(("example", "example.com", "example.net"))
    return "".join(draw.choice(people.SYLLABLES) for _ in range(2)) + f".{top}"


def _more(draw: Draw, topic: str) -> Headers:
    answers = (("Reply-To", f"agent{draw.randint(1, 99)}@{host(draw)}"),) if topic in ("estate", "prize") else ()
    urgent = (("X-Priority", "1"),) if draw.bernoulli(0.2) else ()
    leave = (("List-Unsubscribe", f"<http://{host(draw)}/out>"),) if draw.bernoulli(0.15) else ()
    return (*answers, *urgent, *leave)


def spam_blanks(draw: Draw, me: str = "") -> Blanks:
    """Return the functions that fill in the blanks of spam."""

    def link() -> str:
        at = f"203.0.113.{draw.randint(1, 254)}" if draw.bernoulli(0.2) else host(draw)
        return f"http://{at}/{draw.choice(('c', 'go', 'claim', 'order', 'verify', 'shop'))}?u={draw.digits(6)}"

    return {**common_blanks(draw), "link": link, "brand": lambda: draw.choice(people.BRANDS), "me": lambda: me}


def _file(draw: Draw) -> Attachment:
    return Attachment(*draw.choice(FILES), bytes(draw.randint(0, 255) for _ in range(draw.randint(60, 600))))


def damage(draw: Draw, raw: bytes) -> bytes:
    """Damage a message as careless senders do: a multipart without its end, or an unknown charset."""
    end = raw.rstrip().rpartition(b"\n")
    if end[2].endswith(b"--"):
        return end[0] + b"\n"
    return raw.replace(b"charset=", b"charset=x-", 1) if draw.bernoulli(0.5) else raw
