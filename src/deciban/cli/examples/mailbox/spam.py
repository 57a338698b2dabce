"""Junk: pills from the moon, prizes, estates, full mailboxes; some of it hidden, disguised, or hardly a word long."""

from __future__ import annotations

import re
from datetime import datetime
from html import escape

from deciban.cli.examples.mailbox import headers as h
from deciban.cli.examples.mailbox import pages, people
from deciban.cli.examples.mailbox.draw import Draw
from deciban.cli.examples.mailbox.headers import Headers
from deciban.cli.examples.mailbox.letter import Attachment, Letter
from deciban.cli.examples.mailbox.texts import CHARSETS, sections, usual
from deciban.cli.examples.mailbox.wording import Words, charset_for, composed, in_lines, way_for

SHARES = {"plain": 0.83, "imitated": 0.07, "borrowed": 0.1}
"""How often which of the functions below sends."""

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


def unwanted(draw: Draw, moment: datetime) -> Letter:
    """Somebody sends this to everybody, or nearly so."""
    kinds = {"plain": offered, "imitated": imitated, "borrowed": borrowed}
    return kinds[draw.by_share(SHARES)](draw, moment)


def offered(draw: Draw, moment: datetime) -> Letter:
    """Things that nobody needs."""
    language = "english" if draw.chance(0.5) else draw.one_of(tuple(CHARSETS)[1:])
    occasion = occasion_in(draw, language)
    subject, paragraphs = composed(draw, language, "spam", occasion, words_of(draw), draw.between(1, 4))
    if draw.chance(0.15):
        subject, paragraphs = disguised(subject), [disguised(text) for text in paragraphs]
    text, page = _dressed(draw, language, occasion, paragraphs)
    files = (_file(draw),) if occasion == "orders" else ()
    return _sent(draw, moment, language, sender(draw, occasion), subject, text, page, _more(draw, occasion), files)


def imitated(draw: Draw, moment: datetime) -> Letter:
    """In the words and the name of a shop or bank that is trusted; only the address and links are others."""
    occasion = draw.one_of(tuple(people.SERVICES))
    who = people.SERVICES[occasion]
    subject, paragraphs = composed(draw, "english", "ham", occasion, words_of(draw, who.name.split()[0]), 2)
    asked = composed(draw, "english", "spam", "mailbox", words_of(draw), 1)[1][1]
    lines = ["Dear customer,", paragraphs[1], asked, who.name]
    text, page = in_lines("english", lines), pages.decent(lines) if draw.chance(0.5) else ""
    return _sent(draw, moment, "english", (who.name, f"service@{host(draw)}"), subject, text, page)


def borrowed(draw: Draw, moment: datetime) -> Letter:
    """A line and a link, as if from a friend, whose address it at times is."""
    who = draw.one_of(people.FRIENDS[:8])
    address = (
        who.address if draw.chance(0.5) else f"{who.name.split()[0].lower()}{draw.between(1, 99)}@freemail.example"
    )
    subject, paragraphs = composed(draw, "english", "spam", "short", words_of(draw, who.name.split()[0]), 1)
    lines = paragraphs[1:2]
    if draw.chance(0.5):
        lines = [
            *composed(draw, who.language, "ham", "friends", words_of(draw, who.name.split()[0]), 1)[1][:2],
            *lines,
        ]
    named = (who.name, address if address.isascii() else who.address)
    return _sent(draw, moment, who.language, named, subject, in_lines(who.language, lines), "")


def occasion_in(draw: Draw, language: str) -> str:
    """What is offered, of all that can be said in a language."""
    shares = ENGLISH if language == "english" else ELSEWHERE
    return draw.by_share({name: share for name, share in shares.items() if f"spam {name}" in sections(language)})


def disguised(text: str) -> str:
    """One letter of some words is another sign; links stay as they are."""
    return re.sub(
        r"(?<![/\w.:])[a-z]{6,}\b(?![./:@])", lambda word: word[0][:2] + word[0][2:].translate(DISGUISE), text
    )


def _dressed(draw: Draw, language: str, occasion: str, paragraphs: list[str]) -> tuple[str, str]:
    """As text, as a decent page, or as a loud one that hides words of letters."""
    text = in_lines(language, paragraphs)
    if occasion in ("estate", "orders") and draw.chance(0.75):
        return text, ""
    if draw.chance(0.25):
        return text, pages.decent(paragraphs) if draw.chance(0.6) else ""
    hidden = " ".join(draw.some(sections(language)["ham friends"].sentences, 2)) if draw.chance(0.3) else ""
    shown = draw.one_of(PRETENDED) if occasion == "mailbox" and draw.chance(0.7) else ""
    page = pages.loud(draw, paragraphs, re.sub(r"[][|]", " ", hidden), escape(shown))
    return (text if draw.chance(0.3) else ""), page


def _sent(
    draw: Draw, moment: datetime, language: str, named: tuple[str, str], subject: str, text: str, page: str,
    more: Headers = (), files: tuple[Attachment, ...] = (),
) -> Letter:  # fmt: skip
    """With the headers of a machine that nobody knows."""
    name, address = named
    charset = charset_for(draw, language, subject, text, page, name)
    honest = draw.chance(0.45)
    to = OPEN_LIST if draw.chance(0.2) else people.OWNER[1] if draw.chance(0.5) else ""
    top = (
        *h.envelope(draw, address, moment, draw.between(-8, 9), honest=honest),
        *h.letterhead(name, address, subject, to), *h.of_mailer(draw.one_of(MAILERS)), *more,
    )  # fmt: skip
    return Letter(top, text, charset, way_for(draw, charset), page, files, f"=_{draw.digits(12)}")


def sender(draw: Draw, occasion: str) -> tuple[str, str]:
    """A name, if there is one, and an address."""
    first, last = draw.one_of(people.FIRST), draw.one_of(people.LAST)
    at = host(draw) if draw.chance(0.6) else draw.one_of(("freemail.example", "post.example.net"))
    name = draw.one_of(people.BRANDS) if occasion in ("mailbox", "watches", "pills") else f"{first} {last}"
    return (name if draw.chance(0.85) else ""), f"{last.lower()}{draw.between(1, 999)}@{at}"


def host(draw: Draw) -> str:
    """A machine that was rented yesterday."""
    top = draw.one_of(("example", "example.com", "example.net"))
    return "".join(draw.one_of(people.SYLLABLES) for _ in range(2)) + f".{top}"


def _more(draw: Draw, occasion: str) -> Headers:
    answers = (("Reply-To", f"agent{draw.between(1, 99)}@{host(draw)}"),) if occasion in ("estate", "prize") else ()
    urgent = (("X-Priority", "1"),) if draw.chance(0.2) else ()
    leave = (("List-Unsubscribe", f"<http://{host(draw)}/out>"),) if draw.chance(0.15) else ()
    return (*answers, *urgent, *leave)


def words_of(draw: Draw, me: str = "") -> Words:
    """How blanks are filled in."""

    def link() -> str:
        at = f"203.0.113.{draw.between(1, 254)}" if draw.chance(0.2) else host(draw)
        return f"http://{at}/{draw.one_of(('c', 'go', 'claim', 'order', 'verify', 'shop'))}?u={draw.digits(6)}"

    return {**usual(draw), "link": link, "brand": lambda: draw.one_of(people.BRANDS), "me": lambda: me}


def _file(draw: Draw) -> Attachment:
    return Attachment(*draw.one_of(FILES), bytes(draw.between(0, 255) for _ in range(draw.between(60, 600))))


def damaged(draw: Draw, raw: bytes) -> bytes:
    """As careless senders write it: a multipart without its end, or a charset that there is not."""
    end = raw.rstrip().rpartition(b"\n")
    if end[2].endswith(b"--"):
        return end[0] + b"\n"
    return raw.replace(b"charset=", b"charset=x-", 1) if draw.chance(0.5) else raw
