"""Headers: folded, encoded, eight-bit and broken."""

import pytest

from deciban.mail.message.headers import decode_words, parse_content_type, parse_headers


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("=?utf-8?q?caf=C3=A9?=", "café"),
        ("=?utf-8?Q?a_b?= =?utf-8?Q?_c?=", "a b c"),
        ("=?utf-8?q?a?= b =?utf-8?q?c?=", "a b c"),
        ("=?utf-8?b?4pg=?= =?utf-8?b?gw==?=", "☃"),  # one character split between two words
        ("=?iso-8859-1?q?gr=FC=DFe?= =?koi8-r?b?1M/TxQ==?=", "grüßeтосе"),
        ("=?gb2312?B?w/fM7A==?=", "明天"),
        ("=?ISO-2022-JP?B?GyRCTEBGfBsoQg==?=", "明日"),
        ("=?utf-8*en?q?hi?=", "hi"),
        ("=?utf-8*en?b?4pg=?= =?utf-8*en?b?gw==?=", "☃"),
        ("=?utf-8?q?a?= =?broken =?utf-8?q?b?=", "a=?broken b"),
        ("=?x-unknown?q?hi?=", "hi"),
        ("=?utf-8?q?never closed", "=?utf-8?q?never closed"),
        ("=?utf-8?q?a =?utf-8?q?b?=", "=?utf-8?q?a b"),
        ("=?utf-8?z?what?=", "=?utf-8?z?what?="),
        ("=?utf-8?b?aGk?=", "hi"),  # padding forgotten
        ("what?=?=", "what?=?="),
        ("=?utf-8?q?really??=", "really?"),
    ],
)
def test_encoded_words(written, read):
    assert decode_words(written) == read


def test_folded_headers_are_one_line():
    assert parse_headers(b"Subject: one\n two\n\tthree\nX: y\n") == [("subject", "one two three"), ("x", "y")]


def test_eight_bit_headers_are_utf8_or_in_the_charset_of_the_body():
    assert parse_headers("Subject: été".encode()) == [("subject", "été")]
    assert parse_headers(b"Subject: \xe9t\xe9") == [("subject", "été")]
    russian = "Subject: Встреча".encode("koi8-r") + b"\nContent-Type: text/plain; charset=koi8-r"
    assert parse_headers(russian)[0] == ("subject", "Встреча")


def test_lines_that_are_no_headers_are_left_out():
    assert parse_headers(b"what is this\nSubject: x\n: y\nna me: z") == [("subject", "x")]


@pytest.mark.parametrize(
    ("value", "kind", "parameters"),
    [
        ("", "", {}),
        ("TEXT/Plain", "text/plain", {}),
        ('multipart/mixed; boundary="a;b\\"c"', "multipart/mixed", {"boundary": 'a;b"c'}),
        ("text/plain; charset = utf-8 ; format=flowed", "text/plain", {"charset": "utf-8", "format": "flowed"}),
        ('a/b; name="=?utf-8?q?caf=C3=A9?="', "a/b", {"name": "café"}),
        ('a/b; name="never closed', "a/b", {"name": "never closed"}),
        ("a/b;;;x=1", "a/b", {"x": "1"}),
        ("text", "text", {}),
        ("a/b; name=x; name=y", "a/b", {"name": "x"}),
    ],
)
def test_types_and_their_parameters(value, kind, parameters):
    assert parse_content_type(value) == (kind, parameters)
