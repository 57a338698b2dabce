"""Wanted mail: friends, work, lists, shops, newsletters that look like junk, and strangers who are none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from deciban.cli.examples.mailbox import headers as h
from deciban.cli.examples.mailbox import pages, people, spam
from deciban.cli.examples.mailbox.draw import Draw
from deciban.cli.examples.mailbox.headers import Headers
from deciban.cli.examples.mailbox.letter import Attachment, Letter
from deciban.cli.examples.mailbox.people import Person
from deciban.cli.examples.mailbox.texts import usual
from deciban.cli.examples.mailbox.wording import Words, charset_for, composed, in_lines, quoted, way_for

SHARES = {
    "friend": 0.3, "colleague": 0.23, "on_list": 0.15, "service": 0.11, "newsletter": 0.12, "stranger": 0.06,
    "forwarded": 0.03,
}  # fmt: skip
"""How often which of the functions below writes."""

FILES = (
    ("proofs-chapter-3.pdf", "application/pdf"), ("glossary.csv", "text/csv"), ("minutes.rtf", "application/rtf"),
    ("légendes.pdf", "application/pdf"), ("map.png", "image/png"),
)  # fmt: skip
WROTE = {
    "english": "Mila Novak wrote:", "german": "Mila Novak schrieb:", "french": "Mila Novak a écrit :",
    "spanish": "Mila Novak escribió:", "polish": "Mila Novak napisała:",
}  # fmt: skip


def wanted(draw: Draw, moment: datetime) -> Letter:
    """Somebody writes."""
    kinds: dict[str, Callable[[Draw, datetime], Letter]] = {
        "friend": friend, "colleague": colleague, "on_list": on_list, "service": service,
        "newsletter": newsletter, "stranger": stranger, "forwarded": forwarded,
    }  # fmt: skip
    return kinds[draw.by_share(SHARES)](draw, moment)


def friend(draw: Draw, moment: datetime) -> Letter:
    """A few words from a friend, often an answer, at times with a photograph or as a web page."""
    who = draw.one_of(people.FRIENDS)
    files = (_file(draw, "IMG_{}.jpg", "image/jpeg"),) if draw.chance(0.12) else ()
    return _letter(draw, who, moment, "friends", draw.between(1, 3), answers=0.35, page=0.25, files=files)


def colleague(draw: Draw, moment: datetime) -> Letter:
    """About maps and captions."""
    who = draw.one_of(people.COLLEAGUES[:5] if draw.chance(0.7) else people.COLLEAGUES)
    files = (_file(draw, *draw.one_of(FILES)),) if draw.chance(0.35) else ()
    return _letter(draw, who, moment, "work", draw.between(2, 4), answers=0.4, page=0.4, files=files)


def on_list(draw: Draw, moment: datetime) -> Letter:
    """To everybody on a list."""
    occasion = draw.one_of(tuple(people.LISTS))
    name, writers = people.LISTS[occasion]
    address = draw.one_of(writers)
    who = Person(people.WRITERS[address], address, "english", 2)
    more = h.of_list(name, draw.between(100, 999))
    return _letter(
        draw, who, moment, occasion, draw.between(1, 3), answers=0.3, more=more, to=name.replace(".", "@", 1)
    )


def service(draw: Draw, moment: datetime) -> Letter:
    """What machines of shops, the bank and the library write."""
    occasion = draw.one_of(tuple(people.SERVICES))
    who = people.SERVICES[occasion]
    files = (_file(draw, "ticket-{}.pdf", "application/pdf"),) if occasion == "railway" else ()
    more = (("Auto-Submitted", "auto-generated"),) if draw.chance(0.5) else ()
    subject, paragraphs = composed(draw, "english", "ham", occasion, _words(draw, who), draw.between(2, 3))
    paragraphs = [draw.one_of(("Dear Mila Novak,", "Dear customer,")), paragraphs[1], who.name]
    page = pages.decent(paragraphs) if draw.chance(0.6) else ""
    return _sent(draw, who, moment, subject, in_lines("english", paragraphs), page, files, more)


def newsletter(draw: Draw, moment: datetime) -> Letter:
    """Offers that were asked for: percents, prices, links, a table and small print."""
    who = draw.one_of(people.NEWSLETTERS)
    host = f"www.{who.address.partition('@')[2]}"
    subject, paragraphs = composed(draw, who.language, "ham", "news", _words(draw, who), draw.between(3, 5))
    paragraphs = [*paragraphs[1].replace("! ", "!\n").replace(". ", ".\n").splitlines(), f"© {who.name}, {host}"]
    text = in_lines(who.language, paragraphs) if draw.chance(0.5) else ""
    page = pages.newsletter(draw, subject, host, paragraphs)
    more = (("List-Unsubscribe", f"<https://{host}/leave/{draw.digits(6)}>"),)
    return _sent(draw, who, moment, subject, text, page, more=more)


def stranger(draw: Draw, moment: datetime) -> Letter:
    """Somebody who was never heard of, and wants something."""
    name = draw.one_of(people.STRANGERS)
    host = draw.one_of(("freemail.example", "post.example.net", f"{draw.one_of(people.SYLLABLES)}firm.example.com"))
    who = Person(name, f"{name.split()[1].lower()}{draw.between(1, 99)}@{host}", "english", draw.between(-6, 8))
    return _letter(draw, who, moment, "stranger", draw.between(2, 4), page=0.3)


def forwarded(draw: Draw, moment: datetime) -> Letter:
    """A friend shows what junk came today."""
    who = draw.one_of(people.FRIENDS[:3])
    occasion = spam.occasion_in(draw, "english")
    subject, paragraphs = composed(draw, "english", "spam", occasion, spam.words_of(draw), 3)
    remark = draw.one_of(
        ("Look what I got today, is that real?", "They never give up.", "And this is how I got rich:")
    )
    text = in_lines("english", [remark, who.name.split()[0]]) + "\n" + quoted(in_lines("english", paragraphs))
    return _sent(draw, who, moment, f"Fwd: {subject}", text, "")


def _letter(
    draw: Draw, who: Person, moment: datetime, occasion: str, n: int, answers: float = 0.0, page: float = 0.0,
    files: tuple[Attachment, ...] = (), more: Headers = (), to: str = "",
) -> Letter:  # fmt: skip
    """In words, and perhaps with what it answers."""
    words = _words(draw, who)
    subject, paragraphs = composed(draw, who.language, "ham", occasion, words, n)
    if n == 1 and draw.chance(0.5):
        paragraphs = paragraphs[1:2]
    text = in_lines(who.language, paragraphs)
    if draw.chance(answers):
        subject, more = f"Re: {subject}", (*more, *h.answering(draw))
        earlier = in_lines(who.language, composed(draw, who.language, "ham", occasion, words, 2)[1][1:2])
        text += f"\n{WROTE.get(who.language, 'Mila Novak:')}\n{quoted(earlier)}"
    drawn = pages.decent(paragraphs) if draw.chance(page) else ""
    return _sent(draw, who, moment, subject, text, drawn, files, more, to)


def _sent(
    draw: Draw, who: Person, moment: datetime, subject: str, text: str, page: str,
    files: tuple[Attachment, ...] = (), more: Headers = (), to: str = "",
) -> Letter:  # fmt: skip
    """With all the headers."""
    charset = charset_for(draw, who.language, subject, text, page, who.name)
    honest = draw.chance(0.9)
    top = (
        *h.envelope(draw, who.address, moment, who.zone, honest=honest),
        *h.letterhead(who.name, who.address, subject, to), *h.of_mailer(who.mailer), *more,
    )  # fmt: skip
    return Letter(top, text, charset, way_for(draw, charset), page, files, f"=_{draw.digits(12)}")


def _words(draw: Draw, who: Person) -> Words:
    host = f"www.{who.address.partition('@')[2]}"
    link = lambda: f"https://{host}/{draw.one_of(('order', 'programme', 'account', 'shop'))}/{draw.digits(6)}"  # noqa: E731
    return {**usual(draw), "me": lambda: who.name.split()[-1 if who.language == "japanese" else 0], "link": link}


def _file(draw: Draw, name: str, kind: str) -> Attachment:
    content = bytes(draw.between(0, 255) for _ in range(draw.between(60, 600)))
    return Attachment(name.format(draw.between(1000, 9999)), kind, content)
