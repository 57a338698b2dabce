"""SpamAssassin's public corpus, compared with Python's own `email`."""

import tarfile
from email import message_from_bytes
from email.header import decode_header, make_header

import pytest
from benchmarks import data

from deciban.mail.message.message import compute_digest, read_message
from deciban.mail.tokens.tokens import extract_tokens

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def raws():
    try:
        archive = data.find_file("spamassassin.tar.gz")
    except data.DataMissingError as absent:
        pytest.skip(str(absent))
    with tarfile.open(archive) as members:
        return [members.extractfile(member).read() for member in members if member.isfile()][::5]


def theirs_of(raw):
    return message_from_bytes(raw.partition(b"\n")[2] if raw.startswith(b"From ") else raw)


def test_subjects_are_the_same_where_they_can_be_read(raws):
    for raw in raws:
        subject = " ".join(str(make_header(decode_header(theirs_of(raw).get("subject", "")))).split())
        if subject.isprintable() and "\ufffd" not in subject:
            assert dict(reversed(read_message(raw).headers)).get("subject", "") == subject


def test_plain_texts_are_the_same_where_their_charset_fits(raws):
    compared = 0
    for raw in raws:
        theirs, ours = theirs_of(raw), read_message(raw)
        if (
            theirs.get_content_type() != "text/plain"
            or "7bit" not in theirs.get("content-transfer-encoding", "7bit").lower()
        ):
            continue
        body = theirs.get_payload(decode=True)
        if body.isascii() and b"\nbegin " not in body and not body.lstrip().startswith(b"<") and b"\x1b" not in body:
            assert ours.parts[0].text.split() == body.decode("ascii").split()
            compared += 1
    assert compared > 500


def test_named_parts_are_the_same(raws):
    for raw in raws:
        leaves = [part for part in theirs_of(raw).walk() if not part.is_multipart()]
        names = [
            " ".join(str(make_header(decode_header(name))).split())
            for part in leaves
            if (name := part.get_filename())
        ]
        found = read_message(raw).parts
        assert [" ".join(part.name.split()) for part in found if part.name and part.encoding != "x-uuencode"] == names


def test_each_message_is_another_and_gives_tokens(raws):
    assert len({compute_digest(raw) for raw in raws}) == len(raws)
    assert min(len(extract_tokens(read_message(raw))) for raw in raws) > 10
