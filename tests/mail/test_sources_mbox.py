"""Mbox files: where each message begins and ends, whatever program wrote the file."""

import gzip
import mailbox
import random
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.cli.mail.mail_inputs import read_stdin
from deciban.errors import InputError
from deciban.mail.sources import mbox
from deciban.mail.sources.message_sources import read_mail, source_kind

STAMP = b"From joe@example.org Thu Jan  1 00:01:40 1970\n"
ONE = b"Subject: one\n\nHello.\n"
TWO = b"Subject: two\n\nFarewell.\n"


def raws(path, **options):
    return [message.raw for message in read_mail(path, **options)]


def split(data, piece=7, longest=10_000):
    pieces = (data[at : at + piece] for at in range(0, len(data), piece))
    return [message.raw for message in mbox.split_mbox(pieces, longest)]


def test_messages_are_named_by_number_and_dated_by_their_from_line(tmp_path):
    box = tmp_path / "box"
    box.write_bytes(STAMP + ONE + b"\n" + STAMP + TWO)
    assert source_kind(box) == "mbox"
    assert [(message.name, message.raw, message.time) for message in read_mail(box)] == [
        (f"{box}:1", ONE, 100.0),
        (f"{box}:2", TWO, 100.0),
    ]


@pytest.mark.parametrize("piece", [1, 3, 64, 100_000])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_box_written_by_pythons_mailbox_is_read_back_whatever_the_pieces(tmp_path, piece, newline):
    bodies = ["plain", "From the shore we saw\n\nFrom here on", ">From quoted", "", "a\n\n\nb"]
    written = mailbox.mbox(tmp_path / "box")
    for number, body in enumerate(bodies):
        written.add(f"Subject: {number}\n\n{body}\n")
    written.close()
    data = (tmp_path / "box").read_bytes().replace(b"\n", newline)
    expected = [f"Subject: {number}\n\n{body}\n".encode() for number, body in enumerate(bodies)]
    expected[2] = b"Subject: 2\n\nFrom quoted\n"  # mboxo keeps no difference between the two
    assert [raw.replace(b"\r\n", b"\n") for raw in split(data, piece)] == expected


def test_quoting_of_mboxrd_is_undone_by_one_level(tmp_path):
    assert split(STAMP + b"A: b\n\n>From x\n>>From y\n> From z\n") == [b"A: b\n\nFrom x\n>From y\n> From z\n"]


@pytest.mark.parametrize(
    "line",
    [
        b"From joe Mon Jan  1 10:00:00 2024",
        b"From joe@x.org Mon Jan 1 10:00 2024",
        b"From 1780@xxx Tue Jan 03 04:05:06 +0000 2023",
        b"From - Tue Jan 03 04:05:06 2023",
        b"From ???@??? Tue Jan 03 04:05:06 2023",
        b'From "joe smith"@x.org Tue Jan 03 04:05:06 EST 2023',
        b"From joe@x.org",
        b"From MAILER-DAEMON",
        b"From joe@x.org 2023-01-03",
    ],
    ids=range(9),
)
def test_every_usual_from_line_begins_a_message(line):
    assert split(STAMP + ONE + b"\n" + line + b"\n" + TWO) == [ONE, TWO]


@pytest.mark.parametrize(
    "body",
    [
        b"\nFrom the shore we saw\nships: many\n",
        b"\nFrom now on all is well.\n",
        b"See below.\nFrom joe: hello\n",
        b"\n From joe Mon Jan  1 10:00:00 2024\nSubject: quoted\n",
        b"text\nFrom joe Mon Jan  1 10:00:00 2024 and no header\n",
        b"\nFrom " + b"x" * 5000 + b" 10:00:00 2024\nA: b\n",
    ],
    ids=range(6),
)
def test_prose_that_begins_with_from_is_prose(body):
    message = ONE + body
    assert split(STAMP + message + b"\n" + STAMP + TWO) == [message, TWO]


def test_boxes_put_together_without_an_empty_line_between_come_apart():
    assert split(STAMP + b"A: b\n\nno gap\n" + STAMP + TWO) == [b"A: b\n\nno gap\n", TWO]


def test_a_content_length_that_lies_is_not_heeded():
    first = b"Subject: one\nContent-Length: 9999\n\nHello.\n"
    second = b"Subject: two\nContent-Length: 1\n\nFarewell.\n"
    assert split(STAMP + first + b"\n" + STAMP + second + b"\n" + STAMP + ONE) == [first, second, ONE]


def test_empty_messages_and_a_cut_off_last_line():
    assert split(STAMP + b"\n" + STAMP + ONE + b"\n" + STAMP) == [b"", ONE, b""]
    assert split(STAMP + ONE + b"\n" + STAMP + b"Subj") == [ONE, b"Subj"]


def test_a_box_without_a_from_line_is_one_message(tmp_path):
    box = tmp_path / "all.mbox"
    box.write_bytes(ONE)
    assert [(message.name, message.raw) for message in read_mail(box)] == [(f"{box}:1", ONE)]


def test_what_stands_before_the_first_from_line_is_a_message_only_with_a_header(tmp_path):
    box, reported = tmp_path / "all.mbox", []
    box.write_bytes(ONE + b"\n" + STAMP + TWO)
    assert raws(box) == [ONE, TWO]
    box.write_bytes(b"\x00\x01 debris\n\n" + STAMP + TWO)
    assert raws(box, problems=reported.append) == [TWO]
    assert "10 bytes before the first" in str(reported[0])
    box.write_bytes(b"\xef\xbb\xbf\r\n\n" + STAMP + TWO)
    assert raws(box, problems=reported.append) == [TWO]
    assert len(reported) == 1


def test_a_file_with_one_message_and_a_from_line_has_the_name_of_the_file(tmp_path):
    path = tmp_path / "00001.7c53"
    path.write_bytes(STAMP + ONE)
    assert [(message.name, message.raw) for message in read_mail(path)] == [(str(path), ONE)]


def test_an_empty_box_has_no_messages(tmp_path):
    (tmp_path / "spool").write_bytes(b"")
    (tmp_path / "empty.mbox").write_bytes(b"")
    assert raws(tmp_path / "spool") == raws(tmp_path / "empty.mbox") == []


FRAGMENTS = [
    STAMP,
    b"From joe\n",
    b"From the shore\n",
    b"\n",
    b"\r\n",
    b"A: b\n",
    b"text\n",
    b">From x\n",
    b"\n\n",
    b"From ",
    b"\0",
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25), st.integers(1, 90), st.integers(1, 120))
def test_how_a_file_comes_in_pieces_changes_nothing(fragments, piece, longest):
    data = b"".join(fragments)
    whole = split(data, piece=10_000)
    assert split(data, piece) == whole
    assert split(data, piece, longest) == split(data, 10_000, longest)
    assert sum(map(len, whole)) <= len(data)


def test_a_message_longer_than_the_bound_is_read_up_to_it_and_the_next_is_found():
    long = b"Subject: long\n\n" + b"0123456789\n" * 200_000
    data = STAMP + long + b"\n" + STAMP + TWO
    assert split(data, piece=1 << 16, longest=1000) == [long[:1000], TWO]
    assert split(data, piece=10_000_000, longest=1000) == [long[:1000], TWO]


def test_memory_stays_small_in_a_box_far_larger_than_it():
    import tracemalloc

    def pieces():
        yield STAMP + b"A: b\n\n"
        for _ in range(2000):
            yield b"x" * 79 + b"\n" * 1 + b"y" * 65_456
        yield b"\n\n" + STAMP + TWO

    tracemalloc.start()
    sizes = [len(message.raw) for message in mbox.split_mbox(pieces(), 1 << 20)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == [1 << 20, len(TWO)]
    assert peak < 8 << 20


def test_gzip_is_known_by_its_bytes_also_in_several_members(tmp_path):
    data = STAMP + ONE + b"\n" + STAMP + TWO
    (tmp_path / "box").write_bytes(gzip.compress(data[:50]) + gzip.compress(data[50:]) + b"\0" * 512)
    (tmp_path / "one.eml.gz").write_bytes(gzip.compress(ONE))
    assert source_kind(tmp_path / "box") == "mbox"
    assert raws(tmp_path / "box") == [ONE, TWO]
    assert raws(tmp_path / "one.eml.gz") == [ONE]


def noisy_box(messages=60):
    noise = random.Random(7)
    texts = [b"Subject: %d\n\n%s\n" % (number, noise.randbytes(2000).hex().encode()) for number in range(messages)]
    return texts, b"\n".join(STAMP + text for text in texts)


def test_a_gzip_that_ends_early_gives_what_it_holds_then_says_so(tmp_path):
    texts, data = noisy_box()
    packed = gzip.compress(data)
    box = tmp_path / "cut.mbox.gz"
    box.write_bytes(packed[: len(packed) // 2])
    given = list(messages_in_until_error(box))
    with pytest.raises(InputError, match=f"cut.mbox.gz: the gzip data ends early, at byte {len(packed) // 2}"):
        list(read_mail(box))
    assert len(given) >= 25
    assert given[:-1] == texts[: len(given) - 1]
    assert texts[len(given) - 1].startswith(given[-1])


def messages_in_until_error(path):
    reading = read_mail(path)
    while True:
        try:
            yield next(reading).raw
        except (InputError, StopIteration):
            return


def test_a_gzip_damaged_in_the_middle_gives_all_before_the_damage(tmp_path):
    texts, data = noisy_box()
    packed = bytearray(gzip.compress(data))
    at = len(packed) // 2
    packed[at : at + 40] = bytes(40)
    box = tmp_path / "bad.gz"
    box.write_bytes(packed)
    given = list(messages_in_until_error(box))
    assert len(given) >= 20
    assert given[:20] == texts[:20]
    with pytest.raises(InputError, match="damaged"):
        list(read_mail(box))


def test_a_gzip_with_a_wrong_checksum_gives_all_of_its_one_message_then_says_so(tmp_path):
    raw = ONE + b"x" * (1 << 20)
    packed = bytearray(gzip.compress(raw))
    packed[-8] ^= 1
    (tmp_path / "one.gz").write_bytes(packed)
    (given,) = messages_in_until_error(tmp_path / "one.gz")
    assert len(given) == len(raw)
    with pytest.raises(InputError, match="damaged"):
        list(read_mail(tmp_path / "one.gz"))


def test_archives_and_other_packings_are_refused_with_a_way_out(tmp_path):
    for start, word in (
        (b"BZh91AY", "bzcat"),
        (b"\xfd7zXZ\0", "xzcat"),
        (b"PK\x03\x04", "unpack"),
        (b"SQLite format 3\0", "--store"),
    ):
        (tmp_path / "file").write_bytes(start + bytes(100))
        with pytest.raises(InputError, match=word):
            list(read_mail(tmp_path / "file"))
    (tmp_path / "file").write_bytes(bytes(257) + b"ustar" + bytes(100))
    with pytest.raises(InputError, match="tar archive"):
        list(read_mail(tmp_path / "file"))


def test_standard_input_is_a_box_or_one_message(monkeypatch):
    class Terminal:
        buffer = BytesIO(STAMP + ONE + b"\n" + STAMP + TWO)
        isatty = staticmethod(lambda: False)

    monkeypatch.setattr("sys.stdin", Terminal)
    assert [(message.name, message.raw) for message in read_mail("-")] == [("-:1", ONE), ("-:2", TWO)]
    Terminal.buffer = BytesIO(ONE)
    assert [(message.name, message.raw) for message in read_mail("-")] == [("-", ONE)]
    Terminal.buffer = BytesIO(STAMP + ONE + b"\n" + STAMP + TWO)
    assert read_stdin() == STAMP + ONE + b"\n" + STAMP + TWO


def test_messages_that_thunderbird_moved_away_are_left_out_and_counted(tmp_path):
    box, reported = tmp_path / "Inbox", []
    gone = b"X-Mozilla-Status: 0009\nSubject: moved\n\n.\n"
    forged = b"Subject: forged\nX-Mozilla-Status: 0009\n\n.\n"
    box.write_bytes(STAMP + gone + b"\n" + STAMP + forged)
    assert raws(box, problems=reported.append) == [forged]
    assert [(problem.messages, "trashed" in problem.reason) for problem in reported] == [(1, True)]
    assert raws(box, trashed=True) == [gone, forged]


def test_zones_in_from_lines_are_heeded_and_nonsense_is_no_time():
    assert mbox.parse_time(b"From a Thu Jan  1 02:00:00 +0200 1970") == 0.0
    assert mbox.parse_time(b"From a Thu Jan  1 00:00:00 1970 -0130") == 5400.0
    assert mbox.parse_time(b"From a Thu Foo 99 99:99:99 1970") is None
