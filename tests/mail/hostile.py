"""Messages made to be slow, large or deep: each kind as bytes of about a given size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

MEGABYTE = 1 << 20

HEAD = b"From: a@b.example\nSubject: x\n"
HTML = HEAD + b"Content-Type: text/html; charset=utf-8\n\n"
TEXT = HEAD + b"Content-Type: text/plain; charset=utf-8\n\n"

REPEATED = [
    b"<", b">", b"&", b"=?", b" ", b"\n", b"\r", b"\0", b"=", b"a", b"\xff", b"-", b"\n--", b"<!--", b"<!",
    b"<a ", b"<a b=", b'<a b="',
    b"<style>", b"<script", b"</div>", b"<div>", b'<div style="display:none">', b"<font color=white>", b"&#",
    b"&amp", b"&aaaaaaaaaa",
    b"http://", b"://", b"www.", b"$1", b"1%", b"!!", b"?!", b"a@", b"@b.c", b"a.", b"a-", b"'",
    b"\xe4\xbb\x8a", b"\xe2\x80\x8b", b"\xcc\x81\xcc\xa3",
    b"\xef\xb7\xba", b"a b ", b"=?a?b?x", b"=?utf-8?q?x?= ", b"=?utf-8?b?", b";a=", b';a="', b';a="\\',
    b";a*0=x", b"begin 644 a\n", b"\nbegin 644 a\n",
    b"From x\n", b">From ", b"\n>From ", b"x: y\n", b"x:", b"\n x", b"\x1b$B", b"+2AA-", b"%41",
    b"<td bgcolor=white><font color=white>", b"\t ",
    b"Received: from a (b [1.2.3.4]) by c\n", b"Subject: hello there\n", b"Content-Type: text/html\n", b"word%d ",
]  # fmt: skip


def repeated(size: int = MEGABYTE, strings: Sequence[bytes] = REPEATED) -> Iterator[tuple[str, bytes]]:
    """Each of the repeated strings where it may hurt: a text, a page, a header, a type, or the whole message."""
    places: dict[str, Callable[[bytes], bytes]] = {
        "whole": lambda run: run,
        "text": lambda run: TEXT + run,
        "page": lambda run: HTML + run,
        "subject": lambda run: b"Subject: " + run.replace(b"\n", b"\n ") + b"\n\nx",
        "headers": lambda run: b"A: b\n" + run + b"\n\nx",
        "type": lambda run: b"Content-Type: text/plain" + run.replace(b"\n", b"\n ") + b"\n\nx",
        "boundary": lambda run: b"Content-Type: multipart/mixed; boundary=" + run[:60].strip() + b"\n\n" + run,
        "packed": lambda run: HEAD + b"Content-Transfer-Encoding: base64\nContent-Type: text/html\n\n" + run,
        "quoted": lambda run: HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n" + run,
        "wide": lambda run: HEAD + b"Content-Type: text/plain; charset=utf-16\n\n" + run,
        "shifted": lambda run: HEAD + b"Content-Type: text/plain; charset=utf-7\n\n" + run,
    }
    for string in strings:
        run = string * (size // len(string))
        for place, made in places.items():
            yield f"{string!r} in {place}", made(run)


def crowds(size: int = MEGABYTE) -> Iterator[tuple[str, bytes]]:
    """Many headers, boundaries, levels and parts."""
    yield "100000 headers", b"".join(b"X-%d: %d\n" % (i, i) for i in range(100_000)) + b"\nbody"
    mixed = b"Content-Type: multipart/mixed; boundary=b\n\n"
    yield "10000 parts", mixed + b"--b\nContent-Type: text/plain\n\nhello\n" * 10_000 + b"--b--\n"
    yield "10000 empty parts", mixed + b"--b\n" * 10_000
    yield "false boundaries", mixed + b"--bb\n" * (size // 5)
    yield (
        "10000 levels",
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(10_000)),
    )
    yield "the same boundary at each level", (mixed + b"--b\n") * 10_000
    yield "10000 enclosed messages", b"Content-Type: message/rfc822\n\n" * 10_000 + b"Subject: deep\n\nx"
    yield "a long line", TEXT + b"a" * size
    yield "distinct words", TEXT + b" ".join(b"%x" % i for i in range(size // 6))
    yield "distinct links", TEXT + b" ".join(b"http://h%x.example/" % i for i in range(size // 24))
    yield (
        "distinct tags",
        HTML + b"".join(b'<a href="http://h%x.example/" color="%06x">' % (i, i) for i in range(size // 44)),
    )
    yield "distinct entities", HTML + b"".join(b"&a%x" % i for i in range(size // 7))
    yield "a page of hidden depths", HTML + b'<div style="display:none">' * (size // 30) + b"x" + b"</div>" * 10_000
    yield "dashes", b'Content-Type: multipart/mixed; boundary="%s"\n\n' % (b"-" * 199) + b"\n" + b"-" * size
