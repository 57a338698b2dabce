"""Wanted mail: friends, work, lists, shops, newsletters that look like spam, and unknown senders."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from docs.make_mailbox import people, spam
from docs.make_mailbox.drafts import (
    Attachment,
    Draft,
    Headers,
    address_headers,
    list_headers,
    mailer_headers,
    reply_headers,
    transport_headers,
)
from docs.make_mailbox.draw import Draw
from docs.make_mailbox.pages import newsletter_page, plain_page
from docs.make_mailbox.people import Person
from docs.make_mailbox.phrases import (
    Blanks,
    charset_for,
    common_blanks,
    compose,
    encoding_for,
    quote_lines,
    wrap_paragraphs,
)

SHARES = {
    "friend": 0.3, "colleague": 0.23, "on_list": 0.15, "service": 0.11, "newsletter": 0.12, "stranger": 0.06,
    "forwarded_spam": 0.03,
}  # fmt: skip
"""How often each of the functions below writes."""

FILES = (
    ("proofs-chapter-3.pdf", "application/pdf"), ("glossary.csv", "text/csv"), ("minutes.rtf", "application/rtf"),
    ("légendes.pdf", "application/pdf"), ("map.png", "image/png"),
)  # fmt: skip
WROTE = {
    "english": "Mila Novak wrote:", "german": "Mila Novak schrieb:", "french": "Mila Novak a écrit :",
    "spanish": "Mila Novak escribió:", "polish": "Mila Novak napisała:",
}  # fmt: skip


def write_ham(draw: Draw, time: datetime) -> Draft:
    """Write a wanted message of a random kind."""
    kinds: dict[str, Callable[[Draw, datetime], Draft]] = {
        "friend": friend, "colleague": colleague, "on_list": on_list, "service": service,
        "newsletter": newsletter, "stranger": stranger, "forwarded_spam": forwarded_spam,
    }  # fmt: skip
    return kinds[draw.choice_by_share(SHARES)](draw, time)


def friend(draw: Draw, time: datetime) -> Draft:
    """Write a short message from a friend, often a reply, sometimes with a photograph or as HTML."""
    who = draw.choice(people.FRIENDS)
    files = (_file(draw, "IMG_{}.jpg", "image/jpeg"),) if draw.bernoulli(0.12) else ()
    return _write(draw, who, time, "friends", draw.randint(1, 3), answers=0.35, page=0.25, files=files)


def colleague(draw: Draw, time: datetime) -> Draft:
    """Write a message about maps and captions."""
    who = draw.choice(people.COLLEAGUES[:5] if draw.bernoulli(0.7) else people.COLLEAGUES)
    files = (_file(draw, *draw.choice(FILES)),) if draw.bernoulli(0.35) else ()
    return _write(draw, who, time, "work", draw.randint(2, 4), answers=0.4, page=0.4, files=files)


def on_list(draw: Draw, time: datetime) -> Draft:
    """Write a message to a mailing list."""
    topic = draw.choice(tuple(people.LISTS))
    name, writers = people.LISTS[topic]
    address = draw.choice(writers)
    who = Person(people.WRITERS[address], address, "english", 2)
    more = list_headers(name, draw.randint(100, 999))
    return _write(draw, who, time, topic, draw.randint(1, 3), answers=0.3, more=more, to=name.replace(".", "@", 1))


def service(draw: Draw, time: datetime) -> Draft:
    """Write an automatic message of a shop, the bank or the library."""
    topic = draw.choice(tuple(people.SERVICES))
    who = people.SERVICES[topic]
    files = (_file(draw, "ticket-{}.pdf", "application/pdf"),) if topic == "railway" else ()
    more = (("Auto-Submitted", "auto-generated"),) if draw.bernoulli(0.5) else ()
    subject, paragraphs = compose(draw, "english", "ham", topic, _ham_blanks(draw, who), draw.randint(2, 3))
    paragraphs = [draw.choice(("Dear Mila Novak,", "Dear customer,")), paragraphs[1], who.name]
    page = plain_page(paragraphs) if draw.bernoulli(0.6) else ""
    return _address(draw, who, time, subject, wrap_paragraphs("english", paragraphs), page, files, more)


def newsletter(draw: Draw, time: datetime) -> Draft:
    """Write a newsletter: percentages, prices, links, a table and small print."""
    who = draw.choice(people.NEWSLETTERS)
    host = f"www.{who.address.partition('@')[2]}"
    subject, paragraphs = compose(draw, who.language, "ham", "news", _ham_blanks(draw, who), draw.randint(3, 5))
    paragraphs = [*paragraphs[1].replace("! ", "!\n").replace(". ", ".\n").splitlines(), f"© {who.name}, {host}"]
    text = wrap_paragraphs(who.language, paragraphs) if draw.bernoulli(0.5) else ""
    page = newsletter_page(draw, subject, host, paragraphs)
    more = (("List-Unsubscribe", f"<https://{host}/leave/{draw.digits(6)}>"),)
    return _address(draw, who, time, subject, text, page, more=more)


def stranger(draw: Draw, time: datetime) -> Draft:
    """Write a request from an unknown sender."""
    name = draw.choice(people.STRANGERS)
    host = draw.choice(("freemail.example", "post.example.net", f"{draw.choice(people.SYLLABLES)}firm.example.com"))
    who = Person(name, f"{name.split()[1].lower()}{draw.randint(1, 99)}@{host}", "english", draw.randint(-6, 8))
    return _write(draw, who, time, "stranger", draw.randint(2, 4), page=0.3)


def forwarded_spam(draw: Draw, time: datetime) -> Draft:
    """Write a message in which a friend forwards spam."""
    who = draw.choice(people.FRIENDS[:3])
    topic = spam.spam_topic(draw, "english")
    subject, paragraphs = compose(draw, "english", "spam", topic, spam.spam_blanks(draw), 3)
    remark = draw.choice(
        ("Look what I got today, is that real?", "They never give up.", "And this is how I got rich:")
    )
    text = (
        wrap_paragraphs("english", [remark, who.name.split()[0]])
        + "\n"
        + quote_lines(wrap_paragraphs("english", paragraphs))
    )
    return _address(draw, who, time, f"Fwd: {subject}", text, "")


def _write(
    draw: Draw, who: Person, time: datetime, topic: str, n: int, answers: float = 0.0, page: float = 0.0,
    files: tuple[Attachment, ...] = (), more: Headers = (), to: str = "",
) -> Draft:  # fmt: skip
    """Write a message, perhaps with the quoted message that it replies to."""
    words = _ham_blanks(draw, who)
    subject, paragraphs = compose(draw, who.language, "ham", topic, words, n)
    if n == 1 and draw.bernoulli(0.5):
        paragraphs = paragraphs[1:2]
    text = wrap_paragraphs(who.language, paragraphs)
    if draw.bernoulli(answers):
        subject, more = f"Re: {subject}", (*more, *reply_headers(draw))
        earlier = wrap_paragraphs(who.language, compose(draw, who.language, "ham", topic, words, 2)[1][1:2])
        text += f"\n{WROTE.get(who.language, 'Mila Novak:')}\n{quote_lines(earlier)}"
    page_text = plain_page(paragraphs) if draw.bernoulli(page) else ""
    return _address(draw, who, time, subject, text, page_text, files, more, to)


def _address(
    draw: Draw, who: Person, time: datetime, subject: str, text: str, page: str,
    files: tuple[Attachment, ...] = (), more: Headers = (), to: str = "",
) -> Draft:  # fmt: skip
    """Add all headers."""
    charset = charset_for(draw, who.language, subject, text, page, who.name)
    has_host_name = draw.bernoulli(0.9)
    top = (
        *transport_headers(draw, who.address, time, who.zone, has_host_name=has_host_name),
        *address_headers(who.name, who.address, subject, to), *mailer_headers(who.mailer), *more,
    )  # fmt: skip
    return Draft(top, text, charset, encoding_for(draw, charset), page, files, f"=_{draw.digits(12)}")


def _ham_blanks(draw: Draw, who: Person) -> Blanks:
    host = f"www.{who.address.partition('@')[2]}"
    link = lambda: f"https://{host}/{draw.choice(('order', 'programme', 'account', 'shop'))}/{draw.digits(6)}"  # noqa: E731
    return {
        **common_blanks(draw),
        "me": lambda: who.name.split()[-1 if who.language == "japanese" else 0],
        "link": link,
    }


def _file(draw: Draw, name: str, kind: str) -> Attachment:
    content = bytes(draw.randint(0, 255) for _ in range(draw.randint(60, 600)))
    return Attachment(name.format(draw.randint(1000, 9999)), kind, content)
