"""Charsets that are right, wrong, unknown or dangerous; transfer encodings with damage."""

import base64
import quopri
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.mail.message.decoding import CODECS, decode_text, decode_transfer, find_codec
from tests.mail.made_up import TEXTS


@pytest.mark.parametrize("language", TEXTS)
def test_texts_in_their_own_charset(language):
    _, text, charset = TEXTS[language]
    assert decode_text(text.encode(charset), charset) == text


@pytest.mark.parametrize("language", TEXTS)
def test_utf8_that_is_declared_as_latin(language):
    text = TEXTS[language][1]
    assert (
        decode_text(text.encode(), "iso-8859-1")
        == decode_text(text.encode(), "us-ascii")
        == decode_text(text.encode())
        == text
    )


def test_windows_characters_under_another_charset():
    assert decode_text("naïve “quotes” – €5".encode("cp1252"), "utf-8") == "naïve “quotes” – €5"
    assert decode_text("“quotes”".encode("cp1252"), "iso-8859-1") == "“quotes”"


def test_utf8_cut_in_the_middle_of_a_character_is_still_utf8():
    assert decode_text("Встреча завтра".encode()[:-1], "utf-8") == "Встреча завтр\ufffd"


def test_a_charset_that_does_not_fit_at_all_is_ignored():
    assert decode_text("Schöne Grüße aus Köln".encode(), "shift_jis") == "Schöne Grüße aus Köln"


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("claimed", ["utf-16", "", "iso-8859-1"])
def test_wide_characters_with_and_without_a_mark(codec, claimed):
    assert decode_text("Hello, world".encode(codec), claimed) == "Hello, world"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_wide_characters_that_are_not_latin(codec):
    assert decode_text("明天上午十点开会请准时参加".encode(codec), "utf-16") == "明天上午十点开会请准时参加"


def test_wide_characters_that_are_not():
    assert decode_text(b"just ascii", "utf-16") == "just ascii"


def test_japanese_that_does_not_say_so():
    assert decode_text("明日の会議".encode("iso-2022-jp")) == "明日の会議"


def test_utf7_is_only_text():
    assert decode_text(b"Hi +AGE-+ZeVnLIqe-", "utf-7") == "Hi a日本語"
    halves = decode_text(b"+2AA- +3AA-", "utf-7")
    halves.encode()
    assert decode_text(b"\xff\xfe\xfd\xfc", "utf-7")


@pytest.mark.parametrize(
    "name", ["zlib", "rot13", "idna", "punycode", "undefined", "unicode_escape", "hex", "mbcs", "os", "../x"]
)
def test_names_of_python_codecs_and_modules_are_no_charsets(name):
    before = set(sys.modules)
    assert find_codec(name) is None
    assert decode_text(b"abc\xe9", name) == "abcé"
    assert set(sys.modules) - before == set()


@given(st.binary(max_size=300), st.sampled_from(["", "x-unknown", *sorted(CODECS)]))
def test_whatever_the_bytes_and_the_charset_there_is_text_that_can_be_written_down(data, charset):
    text = decode_text(data, charset)
    assert "\0" not in text
    text.encode()


@given(st.text(max_size=200))
def test_text_in_utf8_comes_back(text):
    assert decode_text(text.encode("utf_8", "replace"), "utf-8") in (
        text.encode("utf_8", "replace").decode().replace("\0", ""),
        decode_text(text.encode("utf_8", "replace")),
    )


@given(st.binary(max_size=500))
def test_transfer_encodings_undo_those_of_the_standard_library(data):
    packed = base64.encodebytes(data)
    if len(data) > 2:
        assert decode_transfer(packed, "base64") == data
        assert decode_transfer(packed.rstrip(b"=\n"), "base64") == data
    data = data.replace(b"\r", b"")  # quopri loses those at ends of lines
    assert decode_transfer(quopri.encodestring(data), "quoted-printable") == data


@given(st.binary(max_size=300), st.sampled_from(["base64", "quoted-printable", "x", ""]))
def test_any_bytes_can_be_unpacked(data, encoding):
    assert isinstance(decode_transfer(data, encoding), bytes)


def test_plain_text_that_claims_base64_is_left_as_it_is():
    assert decode_transfer(b"Dear friend, how are you?", "base64") == b"Dear friend, how are you?"
