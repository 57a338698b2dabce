"""Digests: the same message is known again, another is not taken for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.mail.digest import digest_of

RAW = b"From: a@b.example\nSubject: Hi\n there\nDate: today\n\nDear Bob,\n\nFrom now on.\n"


@pytest.mark.parametrize(
    "same",
    [
        RAW.replace(b"\n", b"\r\n"),
        RAW.replace(b"\n", b"\r\r\n"),
        b"From me Thu Jul  4 10:00:00 2024\n" + RAW,
        RAW + b"\n\n\n",
        RAW.rstrip(),
        b"\n\n" + RAW,
        b"Status: RO\nX-Status: A\nX-UID: 77\n" + RAW,
        RAW.replace(b"\n\n", b"\nX-Keywords: NonJunk\n   \nContent-Length: 33\nLines: 3\n\n", 1),
        b"X-Deciban: spam; p=0.99;\n top=free\nX-Spam-Status: Yes\nX-Bogosity: Spam\n" + RAW,
        b"Delivered-To: me\nReturn-Path: <a@b>\nReceived: from x\n by y\n" + RAW,
        b"X-SPAM-FLAG: YES\n" + RAW,
        RAW.replace(b"\nFrom now", b"\n>From now"),
        RAW.replace(b"Hi\n there", b"Hi\n\tthere"),
    ],
)
def test_the_same_message_has_the_same_digest(same):
    assert digest_of(same) == digest_of(RAW)
    assert len(digest_of(RAW)) == 16


@pytest.mark.parametrize(
    "other",
    [
        b"",
        RAW.replace(b"Hi", b"Ho"),
        RAW.replace(b"Bob", b"Rob"),
        RAW.replace(b"Dear Bob,\n\n", b"Dear Bob,\n"),
        RAW + b"PS",
        b"X-Statuses: x\n" + RAW,
        RAW.replace(b"\n\n", b"\n\nStatus: RO\n", 1),
    ],
)
def test_another_message_has_another_digest(other):
    assert digest_of(other) != digest_of(RAW)


@given(st.binary(max_size=200))
def test_any_bytes_have_a_digest_that_ends_of_lines_do_not_change(raw):
    raw = raw.replace(b"\r", b"")
    assert digest_of(raw) == digest_of(raw.replace(b"\n", b"\r\n"))
