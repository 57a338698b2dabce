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


MIXED = b"Content-Type: multipart/mixed; boundary=b\n\n"
NO_LEAVES = b"Content-Type: multipart/mixed; boundary=c\n\n--c--\n"
ENCLOSED = b"--b\nContent-Type: message/rfc822\n\n"
STYLES = [
    b'<p style="color:#%06x;background:#%06x">x', b'<font color="#%06x" size=%d>x', b"<td bgcolor=#%06x id=i%d>x",
    b'<a href="http://h%x.example/p/%d">x</a>', b"<i class='c%x d%d'>x</i>", b"<b onx%d='%d'>x", b"&#%d;&#x%x;",
    b"&a%x&%dnbsp;", b"<!--%x-->%d", b"<s style='font-size:%dpx;opacity:%d'>x", b"%x.%d ",
    b"\xc3\xa9%d\xe4\xbb\x8a%d ",
    b"$%d.%d!! ", b"http://h%x.example/%d ", b"w%x@h%d.example ",
]  # fmt: skip
"""Pieces of a page of which no two are the same."""


def largest(size: int = 16 * MEGABYTE) -> Iterator[tuple[str, bytes]]:
    """Messages of the greatest size that is read, of the shapes that cost most."""

    def fill(head: bytes, unit: bytes) -> bytes:
        return head + unit * ((size - len(head)) // len(unit))

    words = b"Subject: " + b"word " * 1600 + b"\n"
    yield "multiparts without leaves", fill(MIXED, b"--b\n" + NO_LEAVES)
    yield "enclosed messages without leaves", fill(MIXED, ENCLOSED + b"Subject: x\n" + NO_LEAVES)
    yield "enclosed messages with long headers", fill(MIXED, ENCLOSED + words + NO_LEAVES)
    yield (
        "enclosed messages with encoded words",
        fill(MIXED, ENCLOSED + (b"X: " + b"=?a?b?x" * 1000 + b"\n") * 9 + b"\nx\n"),
    )
    yield (
        "enclosed messages with many headers",
        fill(MIXED, ENCLOSED + b"".join(b"X%x: %d\n" % (i, i) for i in range(5000)) + b"\nx\n"),
    )
    yield "enclosed messages of headers alone", fill(MIXED, ENCLOSED + b"x: y\n" * 210_000)
    yield "headers that never end", fill(b"A: b\n", b"x: y\n")
    yield "one header that never ends", fill(b"Subject: x", b"\n x")
    yield "a name of a header that never ends", fill(b"", b"a")
    yield "encoded words", fill(b"Subject:", b" =?utf-8?q?x?=\n")
    yield "encoded words that do not end", fill(b"Subject:", b" =?utf-8?b?\n")
    yield "ways of a message", fill(b"", b"Received: from a.b (c.d [1.2.3.4]) by e; Mon, 1 Jan 2024 10:00:00 +0000\n")
    yield "addresses", fill(b"From: a@b.c\nTo: ", b"Ann Lee <ann@a.example>,\n\t")
    yield "carriage returns", fill(TEXT, b"a\r")
    yield "lines that end in two carriage returns", fill(TEXT, b"a\r\r\n")
    yield "quoted From lines", fill(TEXT, b"\n>>From ")
    yield "empty lines", fill(b"", b"\n")
    levels = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(7))
    for name, unit in {
        "hardly": b"\n-",
        "nearly": b"\n--b",
        "falsely": b"\n--b0x\n--b1x\n--b2x",
        "emptily": b"\n--b6",
    }.items():
        yield f"levels that are searched {name}", fill(levels, unit)
        yield f"levels that are searched {name}, with carriage returns", fill(levels, unit.replace(b"\n", b"\r\n"))
    for encoding, unit in (
        ("base64", b"=\n"),
        ("base64", b"YQ==\n"),
        ("quoted-printable", b"=\n"),
        ("quoted-printable", b"=3D"),
    ):
        part = b"--b\nContent-Type: text/html\nContent-Transfer-Encoding: %s\n\n" % encoding.encode()
        yield f"{unit!r} in parts of {encoding}", fill(MIXED, part + unit * (160_000 // len(unit)) + b"\n")
    for form in STYLES:
        yield f"a page of {form!r}", fill(HTML, b"".join(form % (i, i) for i in range(40_000)))
        yield f"a text of {form!r}", fill(TEXT, b"".join(form % (i, i) for i in range(40_000)))
    for unit in (
        b"<b>",
        b"<",
        b"&",
        b"&#",
        b"9",
        b"<style>.a{display:none}</style>",
        b"<p class=a>",
        b"<font color=white>",
        b"@{",
    ):
        yield f"a page of {unit!r} after a style sheet", fill(HTML + b"<style>.a{display:none}</style>&#", unit)
        yield f"a style sheet of {unit!r}", fill(HTML + b"<style>.a{display:none}", unit)
    page = b"--b0\nContent-Type: text/html\n\n" + b"".join(
        b"<b onx%d='%d'>\xc3\xa9%d\r" % (i, i, i) for i in range(10_000)
    )
    yield "many things at once", fill(levels + page, b"\r\n-\r\n--b0x")
