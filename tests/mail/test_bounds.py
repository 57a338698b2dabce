"""Limits: what exceeds one is omitted and reported; no message takes long or much memory."""

import time
from functools import lru_cache
from itertools import chain

import pytest

import deciban.mail.message
import deciban.mail.tokens
from deciban.mail.message import html
from deciban.mail.message.headers import insert_header
from deciban.mail.message.message import compute_digest, read_message
from deciban.mail.tokens.tokens import MAX_TOKENS, TokenOptions, extract_tokens, list_omissions
from tests.mail import hostile
from tests.timing import clear_caches, least_seconds

MOST_SECONDS = 1.0
LONGEST_MESSAGE_SECONDS = 0.3
"""Most seconds of CPU for any message of 16 MiB, read as it usually is."""
QUARTER = hostile.MEGABYTE // 4
ALL = TokenOptions(pairs=True, others=True)


def cut(raw):
    return " / ".join(read_message(raw).cut)


def takes_longer(raw, limit, *options):
    """Whether reading a message takes more than `limit` seconds of CPU time."""

    def read():
        clear_caches(deciban.mail.message, deciban.mail.tokens)
        compute_digest(raw)
        extract_tokens(read_message(raw), *options)

    return least_seconds(read, limit, most_calls=12) > limit


def test_each_bound_is_reported():
    mixed = b"Content-Type: multipart/mixed; boundary=b\n\n"
    assert "parts after the first 100" in cut(mixed + b"--b\n\nhello\n" * 500)
    assert "deep" in cut(
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(50))
    )
    assert "deep" in cut(b"Content-Type: message/rfc822\n\n" * 50)
    assert "headers" in cut(b"".join(b"X-%d: %d\n" % (i, i) for i in range(2000)) + b"\n")
    assert "64 KiB" in cut(b"X: " + b"y" * 100_000 + b"\n\n")
    assert "characters of a header subject" in cut(b"Subject: " + b"y" * 10_000 + b"\n\n")
    assert "text after the first 256 KiB" in cut(b"\n" + b"word " * 100_000)
    assert "16 MiB" in cut(b"\n" + b"word " * (5 << 20))
    assert "boundaries after" in cut(mixed + b"--b\n\nhello\n" + b"--bb\n" * 200_000)
    assert "headers of a part" in cut(mixed + b"--b\nX: " + b"y" * 10_000 + b"\n\nhello\n--b--")


def test_text_is_bounded_over_all_parts_together():
    part = b"--b\nContent-Transfer-Encoding: base64\n\n" + b"aGVsbG8g" * 20_000 + b"\n"
    message = read_message(b"Content-Type: multipart/mixed; boundary=b\n\n" + part * 5)
    assert sum(len(part.text) for part in message.parts) == 1 << 18


def test_multiparts_and_enclosed_messages_count_as_parts():
    empty = read_message(hostile.MIXED + (b"--b\n" + hostile.NO_LEAVES) * 200 + b"--b\n\nhello\n")
    assert empty.cut == ("parts after the first 100",)
    assert empty.parts == ()
    enclosed = read_message(hostile.MIXED + (hostile.ENCLOSED + b"Subject: x\n\nhello\n") * 200)
    assert enclosed.cut == ("parts after the first 100",)
    assert [part.text for part in enclosed.parts] == ["x", "hello\n"] * 49 + ["x"]


def test_headers_of_enclosed_messages_count_as_text():
    words = b"Subject: " + b"word " * 1600 + b"\n"
    message = read_message(hostile.MIXED + (hostile.ENCLOSED + words + hostile.NO_LEAVES) * 200)
    assert sum(len(part.text) for part in message.parts) <= 1 << 18
    assert "text after the first 256 KiB" in message.cut


@pytest.mark.parametrize("encoding", [b"base64", b"quoted-printable"])
def test_bytes_that_decode_to_nothing_count_as_text(encoding):
    part = b"--b\nContent-Transfer-Encoding: " + encoding + b"\n\n" + b"=\n" * 100_000 + b"\n"
    message = read_message(hostile.MIXED + part * 6 + b"--b\n\nhello\n")
    assert "text after the first 256 KiB" in message.cut
    assert message.parts[-1].text == ""


def test_boundaries_are_searched_in_so_many_bytes_over_all_levels():
    levels = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(7))
    assert any("boundaries after" in words for words in read_message(levels + b"x" * (15 << 20)).cut)
    assert any("boundaries after" in words for words in read_message(levels + b"--b6x\n" * 30_000).cut)


def test_the_limit_of_tokens_is_reported():
    message = read_message(b"\n" + b" ".join(b"w%x" % i for i in range(30_000)))
    tokens = extract_tokens(message)
    assert len(tokens) == MAX_TOKENS
    assert list_omissions(message, tokens)[-1] == f"tokens after the first {MAX_TOKENS}"


def test_an_attachment_of_any_size_leaves_nothing_out():
    raw = b"Content-Type: application/zip; name=a.zip\nContent-Transfer-Encoding: base64\n\n" + b"UEsDBBQA" * 100_000
    message = read_message(raw)
    assert message.cut == ()
    assert message.parts[0].size == 600_000


def test_a_slow_parser_is_noticed_though_its_results_are_cached(monkeypatch):
    def parse_slowly(style):
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        return False, None, None

    monkeypatch.setattr(html, "_parse_style", lru_cache(parse_slowly))
    assert takes_longer(b'Content-Type: text/html\n\n<p style="color:red">x', 0.01)


@pytest.mark.parametrize("string", hostile.REPEATED)
def test_no_string_repeated_anywhere_takes_long(string):
    slow = [name for name, raw in hostile.repeated(QUARTER, [string]) if takes_longer(raw, MOST_SECONDS, ALL)]
    assert slow == []


def test_no_crowd_takes_long():
    slow = [name for name, raw in hostile.crowds(QUARTER) if takes_longer(raw, MOST_SECONDS, ALL)]
    assert slow == []


@pytest.mark.thorough(reason="reads megabytes hundreds of times: over ten seconds")
def test_no_longest_message_takes_more_than_three_tenths_of_a_second():
    slow = [name for name, raw in hostile.largest() if takes_longer(raw[: 16 << 20], LONGEST_MESSAGE_SECONDS)]
    assert slow == []


@pytest.mark.parametrize("unit", [b"x\n", b"\r", b"X-Deciban-", b"X-Deciban: a\n", b"X-Deciban:\n "])
def test_a_header_is_written_into_a_longest_message_within_three_tenths_of_a_second(unit):
    raw = b"A: b\n" + unit * ((16 << 20) // len(unit))

    def insert():
        assert insert_header(raw, "spam").startswith(b"X-Deciban: spam\n")

    assert least_seconds(insert, LONGEST_MESSAGE_SECONDS) <= LONGEST_MESSAGE_SECONDS


@pytest.mark.thorough(reason="reads megabytes hundreds of times: over ten seconds")
def test_no_string_repeated_in_a_longest_message_takes_more_than_three_tenths_of_a_second():
    large = chain(hostile.repeated(16 << 20), hostile.crowds(16 << 20))
    slow = [name for name, raw in large if takes_longer(raw[: 16 << 20], LONGEST_MESSAGE_SECONDS)]
    assert slow == []


@pytest.mark.thorough(reason="reads megabytes hundreds of times: over ten seconds")
def test_no_megabyte_and_no_longest_message_takes_long():
    large = chain(hostile.repeated(hostile.MEGABYTE), hostile.crowds(hostile.MEGABYTE), hostile.crowds(17 << 20))
    slow = [name for name, raw in large if takes_longer(raw, MOST_SECONDS, ALL)]
    assert slow == []
