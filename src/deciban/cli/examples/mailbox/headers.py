"""The headers that the way of a letter leaves on it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

from deciban.cli.examples.mailbox.draw import Draw
from deciban.cli.examples.mailbox.people import OWNER

Headers = tuple[tuple[str, str], ...]

NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
"""Kept free for examples; wanted mail and junk come from all of them."""

HERE, HOME_ZONE = "mx.home.example", 2


def envelope(draw: Draw, address: str, moment: datetime, zone: int, host: str = "", honest: bool = True) -> Headers:
    """From Return-Path to Message-ID; a machine that is not honest has no name, or gives a false one."""
    host = host or address.partition("@")[2]
    number = f"{draw.one_of(NETWORKS)}.{draw.between(1, 254)}"
    false = draw.one_of((host, f"[{number}]", "pc"))
    came_from = f"mail.{host} (mail.{host} [{number}])" if honest else f"{false} (unknown [{number}])"
    taken = f"by {HERE} with ESMTP id {draw.digits(10)};\n {_date(moment, HOME_ZONE)}"
    return (
        ("Return-Path", f"<{address}>"),
        ("Received", f"from {came_from}\n {taken}"),
        ("Date", _date(moment - timedelta(seconds=draw.between(1, 90)), zone)),
        ("Message-ID", f"<{draw.digits(16)}@{host}>"),
    )


def _date(moment: datetime, zone: int) -> str:
    return format_datetime(moment.astimezone(timezone(timedelta(hours=zone))))


def letterhead(name: str, address: str, subject: str, to: str = "") -> Headers:
    """Who writes to whom, about what."""
    sender = f"{name} <{address}>" if name else address
    return (("From", sender), ("To", to or f"{OWNER[0]} <{OWNER[1]}>"), ("Subject", subject))


def answering(draw: Draw) -> Headers:
    """Of a letter that answers one of the owner's."""
    earlier = f"<{draw.digits(16)}@home.example>"
    return (("In-Reply-To", earlier), ("References", earlier))


def of_list(name: str, number: int) -> Headers:
    """What a mailing list adds."""
    post = name.replace(".", "@", 1)
    return (
        ("List-Id", f"<{name}>"),
        ("List-Post", f"<mailto:{post}>"),
        ("List-Unsubscribe", f"<mailto:{name.replace('.', '-leave@', 1)}>"),
        ("Precedence", "list"),
        ("X-Sequence", str(number)),
    )


def of_mailer(mailer: str) -> Headers:
    """The program that a letter was written with, if it says so."""
    return (("X-Mailer", mailer),) if mailer else ()
