"""The protocol in bytes, scores in SpamAssassin's terms, and the header that is put into a message."""

import zlib

import pytest

from deciban.mail.message.headers import insert_header
from deciban.mail.model.verdicts import Clue, Verdict
from deciban.mail.spamd.protocol import (
    Code,
    Refusal,
    compute_score,
    decompress,
    format_refusal,
    format_symbols,
    parse_first_line,
    parse_request,
)
from tests.mail.made_up import BROKEN, TEXTS, plain


def verdict(label, decibans, of="spam", **more):
    odds = 10 ** (min(max(decibans, -150), 150) / 10)
    return Verdict(
        label, of, odds / (1 + odds), decibans, 0.0, (), decibans, {"ham": 9, "spam": 9}, "evidence", **more
    )


@pytest.mark.parametrize(
    ("label", "decibans", "spam_at", "expected"),
    [
        ("spam", 20.0, 10 / 11, 10.0),  # 10 dB above a threshold of 10 dB: 5 points more
        ("unsure", 0.0, 10 / 11, 0.0),
        ("ham", -30.0, 10 / 11, -15.0),
        ("spam", 10.0, 10 / 11, 5.0),
        ("unsure", 9.99, 10 / 11, 4.9),  # what is not spam is never verdict as 5.0
        ("unsure", 80.0, 10 / 11, 4.9),  # too little was learned to be sure
        ("spam", 9e9, 0.9, 999.9),
        ("ham", -9e9, 0.9, -999.9),
        ("unsure", 30.0, 1.0, -999.9),  # nothing is spam
        ("spam", 0.0, 0.0, 999.9),  # everything is
    ],
)
def test_five_points_are_the_threshold_and_two_decibans_a_point(label, decibans, spam_at, expected):
    assert compute_score(verdict(label, decibans), spam_at) == pytest.approx(expected)


def test_of_more_labels_the_score_is_that_of_spam():
    sorted_into_work = verdict("work", 20.0, of="work", probabilities={"ham": 0.0, "spam": 0.01, "work": 0.99})
    assert compute_score(sorted_into_work, 10 / 11) == pytest.approx(5 + (-19.956 - 10) / 2, abs=0.06)
    assert compute_score(verdict("work", 20.0, of="work"), 10 / 11) == -999.9


def test_symbols_are_names_without_their_weights():
    clues = tuple(Clue(token, d, {}) for token, d in (("x-mas+2.0", 12.3), ("a,b c=d", -4.0), ("é", 0.04)))
    spam = Verdict("spam", "spam", 0.9, 9.0, 0.0, clues, 0.0, {}, "evidence")
    assert format_symbols(spam) == "DECIBAN_SPAM,x-mas+2.0,a?b?c?d,?"
    assert format_symbols(verdict("unsure", 0.0)) == "DECIBAN_UNSURE"


def test_headers_are_known_in_any_case_and_others_passed_over():
    lines = [b"CONTENT-LENGTH:5\n", b"user: joe\r\n", b"X-LazyCommand: yes: no\r\n", b"compress: ZLIB\r\n"]
    asked = parse_request("CHECK", (1, 5), lines)
    assert (asked.length, asked.compressed) == (5, True)


def test_later_versions_are_taken_for_the_latest_that_is_known():
    assert parse_first_line(b"CHECK SPAMC/1.6\r\n") == ("CHECK", (1, 6))


def test_a_reason_is_one_line_of_ascii():
    assert (
        format_refusal(Refusal(Code.EX_TEMPFAIL, "a\r\nSpam: False\n é"))
        == b"SPAMD/1.1 75 EX_TEMPFAIL: a Spam: False ?\r\n"
    )


def test_no_more_is_unpacked_than_the_bound():
    assert decompress(zlib.compress(b"x" * 10), 10) == b"x" * 10
    with pytest.raises(Refusal, match="longer than 9 bytes"):
        decompress(zlib.compress(b"x" * 10), 9)


@pytest.mark.parametrize(
    "raw", [*BROKEN.values(), *(plain(language).as_bytes() for language in TEXTS)], ids=[*BROKEN, *TEXTS]
)
def test_stamping_adds_a_line_and_changes_nothing_else(raw):
    out = insert_header(raw, "ham; p=0.1")
    line = b"X-Deciban: ham; p=0.1"
    at = out.index(line)
    end = out.index(b"\n", at) + 1
    assert out[:at] + out[end:] == raw
    assert insert_header(out, "ham; p=0.1") == out


@pytest.mark.parametrize(
    "forged",
    [
        b"X-Deciban: ham\n",
        b"x-deciban : ham\n\tstill ham\n ham\n",
        b"X-DECIBAN-Note: ham\n",
        b"X-Deciban:\n ham\n",
        b"X-Deciban: ham\r\n\tham\r\n",
    ],
)
def test_headers_of_our_name_are_taken_away_wherever_they_stand(forged):
    before, after, body = b"From: a@b.example\n", b"Subject: x\n", b"\nX-Deciban: in the text\n"
    for head in (
        forged + before + after,
        before + forged + after,
        before + after + forged,
        before + forged * 3 + after,
    ):
        assert insert_header(head + body, "spam") == b"X-Deciban: spam\n" + before + after + body


def test_lines_end_as_those_of_the_message_do():
    assert insert_header(b"X-Deciban: ham\nSubject: x\r\n\r\ny", "spam") == b"X-Deciban: spam\r\nSubject: x\r\n\r\ny"
    assert insert_header(b"\r\ny", "spam") == b"X-Deciban: spam\r\n\r\ny"
    assert insert_header(b"\ny", "spam") == b"X-Deciban: spam\n\ny"


def test_a_line_of_an_mbox_stays_first():
    assert (
        insert_header(b"From me now\nSubject: x\n\ny\n", "spam") == b"From me now\nX-Deciban: spam\nSubject: x\n\ny\n"
    )
