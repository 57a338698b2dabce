"""Messages are parsed as by Python's own `email` if they are valid, and without an error if they are not."""

from email import message_from_bytes, policy

import pytest

from deciban.mail.message.message import read_message
from tests.mail import made_up

WHOLE_MESSAGES = {
    **{
        f"{name} by {way}": made_up.plain(name, way)
        for name in made_up.TEXTS
        for way in ("base64", "quoted-printable")
    },
    **{name: made_up.plain(name) for name in made_up.TEXTS},
    "rich": made_up.rich(),
    "forwarded": made_up.forwarded(),
}


def read(text):
    return read_message(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize("name", WHOLE_MESSAGES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_whole_messages_are_read_as_the_standard_library_reads_them(name, end):
    raw = WHOLE_MESSAGES[name].as_bytes().replace(b"\n", end)
    theirs, ours = message_from_bytes(raw, policy=policy.default), read_message(raw)
    assert ours.cut == ()
    assert dict(ours.headers)["subject"] == theirs["subject"]
    assert dict(ours.headers)["from"] == str(theirs["from"])
    leaves = [part for part in theirs.walk() if not part.is_multipart()]
    assert [part.get_filename() or "" for part in leaves] == [
        p.name for p in ours.parts if p.type != "message/rfc822"
    ]
    texts = [part.get_content() for part in leaves if part.get_content_type() == "text/plain"]
    found = [part.text for part in ours.parts if part.type == "text/plain"]
    assert [text.split() for text in texts] == [text.split() for text in found]


def test_attachments_are_named_and_measured_but_not_opened():
    *_, report, table = read_message(made_up.rich().as_bytes()).parts
    assert (report.kind, report.type, report.name, report.text) == ("attachment", "application/pdf", "été.pdf", "")
    assert abs(report.size - 265) < 10
    assert (table.kind, table.type, table.name, table.text) == ("attachment", "text/csv", "numbers 2024.csv", "")


def test_an_enclosed_message_gives_its_headers_and_its_parts():
    parts = read_message(made_up.forwarded().as_bytes()).parts
    assert [part.type for part in parts] == ["text/plain", "message/rfc822", "text/plain"]
    assert "Grüße aus Köln" in parts[1].text
    assert "wir hören uns" in parts[2].text


@pytest.mark.parametrize("name", made_up.BROKEN)
def test_broken_messages_are_read_somehow(name):
    assert read_message(made_up.BROKEN[name]).cut == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no headers", "hello there this is a text without any header"),
        ("no blank line", "the text begins at once and goes on"),
        ("NULs", "word"),
        ("multipart without a boundary", "--x hello --x--"),
        ("multipart whose boundary is not there", "hello"),
        ("multipart that never closes", "hello world"),
        ("unknown charset", "grüße"),
        ("base64 cut short", "hello world agai"),
        ("quoted-printable with dirt", "hello =zz world"),
        ("CR only", "hello there"),
        ("CR CR LF", "hello"),
    ],
)
def test_what_can_be_saved_of_a_broken_message(name, text):
    assert " ".join(" ".join(part.text for part in read_message(made_up.BROKEN[name]).parts).split()) == text


def test_the_last_part_of_an_unclosed_multipart_goes_to_the_end_of_its_parent():
    raw = b"""Content-Type: multipart/mixed; boundary=out

--out
Content-Type: multipart/alternative; boundary=in

--in

first
--in

second
--out

third
--out--
epilogue"""
    assert [part.text.strip() for part in read_message(raw).parts] == ["first", "second", "third"]


def test_a_boundary_that_begins_like_another_is_not_taken_for_it():
    raw = b"Content-Type: multipart/mixed; boundary=ab\n\n--ab\n\none\n--abc\nstill one\n--ab--\n"
    assert [part.text for part in read_message(raw).parts] == ["one\n--abc\nstill one\n"]


def test_uuencoded_files_are_attachments():
    message = read(b"Subject: x\n\nbefore\nbegin 644 cat.gif\nM" + b"A" * 60 + b"\n`\nend\nafter\n")
    assert [(part.kind, part.name) for part in message.parts] == [("attachment", "cat.gif"), ("text", "")]
    assert message.parts[1].text.split() == ["before", "after"]


def test_a_page_sent_as_plain_text_is_read_as_a_page():
    assert read("Content-Type: text/plain\n\n<html><b>Hi</b></html>").parts[0].kind == "html"


def test_names_in_pieces_and_percents_are_put_together():
    raw = (
        "Content-Type: application/zip\nContent-Disposition: attachment;\n filename*0*=utf-8''%C3%A9t%C3%A9;\n"
        " filename*1=_2024.zip\n\nUEs="
    )
    assert read(raw).parts[0].name == "été_2024.zip"


def test_pieces_of_a_name_are_put_together_by_their_numbers():
    raw = (
        "Content-Type: application/zip\nContent-Disposition: attachment; filename*1=_2024; filename*10=.zip;\n"
        " filename*0*=utf-8''%C3%A9t%C3%A9\n\nUEs="
    )
    assert read(raw).parts[0].name == "été_2024.zip"


def test_a_line_before_the_headers_that_an_mbox_adds_is_not_a_header():
    assert read("From me Thu Jul  4\nSubject: x\n\ny").headers == (("subject", "x"),)


def test_a_content_type_of_a_part_that_looks_like_utf_16_is_left_out():
    value = b"multipar" + bytes(11) + b"\xeaTK\x18\xc5\x9e\xba\x93TK" + bytes(46)
    raw = b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: " + value + b"\n\nbody\n--x--\n"
    assert read_message(raw).parts
