"""Messages put together from small pieces that mean something: the compiled reader finds the same in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mail.fuzzing import WORDS, Compiled, compiled, difference, held_by

pytestmark = pytest.mark.skipif(Compiled is None, reason="the mail reader is not compiled here")

ADDRESS = [
    "a", "b", "@", "@", ".", ",", "<", ">", '"', " ", "'", "-", "_", ":", ";", "(", "mailto", "x" * 79, "y" * 81,
    "A1", "joe@ex.com", "!", "\n ", "z" * 210, "10.1.2.3", "=?utf-8?q?a=40b?=", "Joe Q", "é",
]  # fmt: skip
LIST = ["<", ">", "word", "a-b", "'", ".", " ", "-", "x" * 25, "y" * 100, "é"]
KIND = [
    "text/plain", "text/html", "multipart/mixed", ";", " ", "charset=utf-8", "boundary=x", '"', "=?utf-8?q?x?=",
    "name=a.b", "base64", "quoted-printable", "attachment",
]  # fmt: skip
MAILER = ["Microsoft", " ", "5.50", ".", "1", "-", "_", "a", "(", "/", "Z" * 30, "12."]
PRIORITY = ["1", " ", "(", "High", "abcdefgh"]
SUBJECT = [
    "AB", "ABC", "XYZ", "hello", "World", " ", " ", " ", "-", "'", "_", "!", "?", "$9.99", "50%", "3", ".", ",", "+",
    "Q" * 19, "q" * 21, "R" * 199, "\n\t", "=?", "=?iso-8859-1?q?=E9?=", "é", "今天", "€", "\x0b",
]  # fmt: skip
RECEIVED = [
    "from ", "from ", " by ", " by ", "a.b.com", "mx.example.org", "[", "]", "(", ")", " ", "10.0.0.1", "1.2.3.4",
    "172.16.3.4", "172.33.4.5", "[::1]", "localhost", "LOCALHOST", "unknown", "helo=", "fetchmail", "with IMAP",
    "x" * 90, "y.", ".", "1.2.3", "FROM ", "\n ", ";", "999.1.1.1", "=?utf-8?q?from_?=",
]  # fmt: skip
RESULTS = ["spf", "dkim", "DMARC", "dkim-adsp", "=", "=", " ", ";", "pass", "a", "_", "-", "abcdefghijklmno"]
HEADERS = {
    "From": ADDRESS, "To": ADDRESS, "Cc": ADDRESS, "Reply-To": ADDRESS, "Sender": ADDRESS, "Subject": SUBJECT,
    "Received": RECEIVED, "X-Mailer": MAILER, "User-Agent": MAILER, "List-Id": LIST, "Errors-To": LIST,
    "X-BeenThere": LIST, "X-Priority": PRIORITY, "Importance": PRIORITY, "Content-Type": KIND,
    "Content-Transfer-Encoding": KIND, "Content-Disposition": KIND,
    "Message-ID": ["<", ">", "@", "a", ".", "b.c", "-", "_", " ", "1.2.3.4", "x" * 50, "!", "..", "y." * 20],
    "Date": ["Mon, ", "+", "-", "0100", "1", " ", "a", "_", "0500", "(", "12:00"], "Authentication-Results": RESULTS,
    "Received-SPF": ["pass", " ", "(", "A", "x" * 40],
    "DKIM-Signature": ["d=", "d", "=", ";", " ", "a.b.c", "x" * 85, "v=1", ".", "-", "_", "/"],
    "X-Other": ["a", "=?"],
}  # fmt: skip
TEXT = [
    "$", "%", "!!", "??", "?!", "http://", "https://", "www.", "WWW.", "://", "$9.99", "50 %", "1,000.%", "\x1c",
    "\x0b", "\0", "é", "\u2019", "今天", "\xa0", "\u3000", "\u2028", "£5", "€ 9,99", "¥7", "٣", "\u200b", "ß", "İ",
    "ﬁ", "'", "-", "_", "--a--", "A" * 25, "b" * 205, ".,;", '"', "<", "\\", "@", "/", ":", ":80", "#", "?", "%41",
    "%zz", "x" * 1100, "10.1.2.3", "a@b.c", "mailto:", "word", "Word", " ", " ", "\n", "\t", "1", "12",
]  # fmt: skip
PAGE = [
    *TEXT[:24], "word", " ", " ", "\n", "<", "</", "<!--", "-->", "--!>", "<!-->", ">", "&", "&nbsp", "&nbsp;",
    "&#160", "&amp;", "&AMP;", "&lt", "&notit;", "&#x41;", "&#", "&;", "<style>", "</style>", "<script>",
    "</script >", "<style>.a{display:none}</style>", "<style>body{background:red}</style>", '<p class="b a">',
    "<div id=a>", "<font color=white>", '<font color="#fffffe" size=0>', '<font size=" +1\n">', "</font>",
    "<td bgcolor=#000>", '<td background="x.gif">', "</td>", "<body bgcolor=red text=red>",
    '<img src=x alt="a&amp;b é" width=1 height="0">', "<img alt='", "=", "= ", "style='display:none'", "onClick=x ",
    '<a href="mailto:x@y.z?a=b">', "<a href=' &#35;x'>", '<a href="http://a.b/?c=d&amp;e=f&copy=3">',
    '<span style="color:#fff">', "</span>", '<o:p style="display:none">', "</O:P>", "<bé x=y>", "<b\xa0c=d>", "ſ",
    "\u212a", "<div style='background:url(x)'>", "</div>", "/>", "<br>", "<input ", "<p style='display:none'>",
    "</p>", "alt=é ", "class=é ", "<a " + "y=z " * 1500 + "href=q>", "href='é'", "x" * 5000,
]  # fmt: skip
KINDS = [
    "text/plain", "text/html", "text/plain; charset=latin-1", "text/html; charset=windows-1252",
    "multipart/mixed; boundary=x",
]  # fmt: skip


def joined(pieces: list[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=most).map("".join)


COLONS = st.sampled_from([": ", ": ", ":", " : ", "\t:\t", "\n : "])
LINES = st.one_of(
    [st.tuples(st.sampled_from([name, name, name.upper()]), COLONS, joined(HEADERS[name], 20)) for name in HEADERS]
).map("".join)
HEADS = st.lists(LINES, max_size=12).map("\n".join)


def trouble_with(raw: bytes) -> str:
    [found] = compiled().of([raw])
    return difference(held_by(raw), found)


@given(HEADS, st.sampled_from(["", "\n", "\n\n", "\n\nbody\n", "\n\n<p>page\n", "\n\n--x\n\npart\n"]))
@settings(max_examples=250)
def test_heads_of_any_lines_hold_the_same(head, body):
    assert trouble_with((head + body).encode()) == ""


@given(joined(TEXT, 40), st.sampled_from(["utf-8", "latin-1"]))
@settings(max_examples=200)
def test_texts_of_any_pieces_hold_the_same(text, charset):
    head = f"Subject: x\nContent-Type: text/plain; charset={charset}\n\n"
    assert trouble_with(head.encode() + text.encode(charset, "replace")) == ""


@given(joined(PAGE, 40), st.sampled_from(["utf-8", "latin-1"]))
@settings(max_examples=300)
def test_pages_of_any_pieces_hold_the_same(page, charset):
    head = f"Subject: x\nContent-Type: text/html; charset={charset}\n\n"
    assert trouble_with(head.encode() + page.encode(charset, "replace")) == ""


@given(joined(TEXT, 12))
@settings(max_examples=200)
def test_links_of_any_pieces_hold_the_same(link):
    page = f"<a href=\"http://{link}\">x</a> <a href='{link}'>y</a> http://{link}"
    assert trouble_with(f"Content-Type: text/html; charset=utf-8\n\n{page}".encode()) == ""


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.binary(max_size=8)), max_size=25).map(b"".join))
@settings(max_examples=300)
def test_bytes_of_any_kind_hold_the_same(raw):
    assert trouble_with(raw) == ""


@given(st.lists(st.tuples(st.sampled_from(KINDS), joined(PAGE, 8)), max_size=6))
@settings(max_examples=200)
def test_parts_of_any_kind_hold_the_same(parts):
    written = "".join(f"--x\nContent-Type: {kind}\n\n{page}\n" for kind, page in parts)
    assert trouble_with(f"Content-Type: multipart/mixed; boundary=x\n\n{written}--x--\n".encode()) == ""
