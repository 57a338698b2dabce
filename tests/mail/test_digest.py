"""Digests: equal for the same message wherever it is stored, different for others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.mail.message.message import compute_digest
from deciban.mail.sources.message_files import max_read_bytes

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
    assert compute_digest(same) == compute_digest(RAW)
    assert len(compute_digest(RAW)) == 16


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
    assert compute_digest(other) != compute_digest(RAW)


@given(st.binary(max_size=200))
def test_any_bytes_have_a_digest_that_ends_of_lines_do_not_change(raw):
    raw = raw.replace(b"\r", b"")
    assert compute_digest(raw) == compute_digest(raw.replace(b"\n", b"\r\n"))


LINE = b"a line of a message that is longer than anybody looks at\n"
LONG = RAW + LINE * ((17 << 20) // len(LINE))


@pytest.mark.parametrize("raw", [LONG, RAW + b"\n" * (17 << 20) + b"end", RAW + b">From x\n" * (3 << 20)], ids=len)
@pytest.mark.parametrize("ending", [b"\r\n", b"\r\r\n"])
def test_a_message_of_which_not_all_is_read_is_the_same_however_its_lines_end(raw, ending):
    """As its sources read it: up to a bound, wherever that lies in its lines."""
    read = max_read_bytes()
    assert compute_digest(raw.replace(b"\n", ending)[:read]) == compute_digest(raw[:read])
    assert compute_digest(b"Received: from x\n by y\n" * 2000 + raw[: read - 50_000]) == compute_digest(raw[:read])


def test_long_messages_are_distinguished_by_their_first_megabytes():
    assert compute_digest(LONG[:-1] + b"x") == compute_digest(LONG)
    assert compute_digest(LONG.replace(b"From now", b"From then")) != compute_digest(LONG)
    assert compute_digest(LONG.replace(b"Hi", b"Ho")) != compute_digest(LONG)
    assert compute_digest(LONG[: 4 << 20] + b"!" + LONG[4 << 20 :]) != compute_digest(LONG)
    assert compute_digest(LONG[: 4 << 20]) != compute_digest(LONG)
