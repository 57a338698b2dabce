"""Tokens: each names its place; headers that would separate collections are excluded."""

from dataclasses import fields, replace

import pytest

from deciban.mail.message.message import read_message
from deciban.mail.tokens.tokens import DEFAULT_OPTIONS, TokenOptions, extract_tokens
from tests.mail import made_up

OFF = TokenOptions(**{each.name: False for each in fields(TokenOptions) if isinstance(each.default, bool)})


def tokens(raw, *kinds, **options):
    """The tokens of a message with all options off but these: those of some kinds, or words without a kind."""
    found = extract_tokens(read_message(raw if isinstance(raw, bytes) else raw.encode()), replace(OFF, **options))
    always = ("content-type:", "type:", "charset:", "encoding:", "shape:", "html:", "hidden:", "attachment:", "url:")
    return [token for token in found if (token.startswith(kinds) if kinds else not token.startswith(always))]


def test_words_of_the_subject():
    raw = "Subject: FREE money, don't wait!!\n\n"
    words = ["subject:free", "subject:money", "subject:don't", "subject:wait"]
    assert tokens(raw, subject=True) == [*words, "subject:FREE"]
    assert tokens(raw, subject=True, amounts=True)[-2:] == ["subject:!!", "subject:!"]
    assert "subject:free+money" in tokens(raw, subject=True, subject_pairs=True)


def test_senders_in_pieces():
    raw = "From: Anna Smith <anna@mail.office.example>\nReply-To: win@other.example\nMessage-ID: <1@h.example>\n\n"
    assert tokens(raw, sender=True) == [
        "from:addr:anna@mail.office.example", "from:mail.office.example", "from:office.example",
        "from:example", "from:name:anna",
        "from:name:smith", "reply-to:addr:win@other.example", "reply-to:other.example", "reply-to:example",
        "reply-to:nameless",
        "message-id:h.example", "message-id:example", "reply:other",
    ]  # fmt: skip


def test_recipients_and_how_many_they_are():
    found = tokens("To: a@x.example, b@y.example, c@z.example\n\n", "to:")
    assert {"to:addr:a@x.example", "to:y.example", "to:2"} <= set(found)


def test_hops_outside_the_own_machines():
    raw = """Received: from localhost (localhost [127.0.0.1]) by home.example with ESMTP
Received: from mx.home.example [192.0.2.1] by localhost with POP3 (fetchmail-5.9.0)
Received: from gateway [10.1.2.3] by mx.home.example
Received: from friend (dsl.isp.example [203.0.113.77]) by mx.home.example (Postfix)
Received: by isp.example id 12

"""
    assert tokens(raw, received=True) == [
        "received:dsl.isp.example", "received:isp.example", "received:example", "received:203.0.113.77",
        "received:203.0.113",
        "received:203.0", "received:helo:bare", "received:hops:1",
    ]  # fmt: skip


def test_links_in_pieces():
    raw = "\nsee http://www.shop.example:8080/buy/now, https://203.0.113.9/x and HTTP://user@a.example."
    assert tokens(raw, "url:") == [
        "url:www.shop.example", "url:shop.example", "url:example", "url:port:8080", "url:path:buy", "url:path:now",
        "url:203.0.113.9", "url:203.0.113", "url:203.0", "url:numeric", "url:a.example", "url:user",
    ]  # fmt: skip
    assert tokens(raw, body=True) == ["see", "and"]


def test_pages_tell_their_marks_their_links_and_what_they_hide():
    raw = b"Content-Type: text/html\n\n" + made_up.PAGE.encode()
    assert tokens(raw, body=True) == ["dear", "friend", "click", "here", "logo"]
    assert tokens(raw, "hidden:") == ["hidden:meadow", "hidden:river", "hidden:invisible", "hidden:ink"]
    assert {"html:pixel", "html:script", "html:hidden:style", "html:hidden:colour"} <= set(tokens(raw, "html:"))
    assert {"url:shop.example.com", "url:port:8080", "url:numeric"} <= set(tokens(raw, "url:"))


def test_attachments_by_name_type_and_size():
    found = tokens(made_up.rich().as_bytes(), "attachment:")
    assert found == [
        "attachment:application/pdf", "attachment:size:9", "attachment:.pdf", "attachment:name:été",
        "attachment:text/csv",
        "attachment:size:4", "attachment:.csv", "attachment:name:numbers", "attachment:name:2024",
    ]  # fmt: skip


def test_words_of_the_body():
    raw = "\nThe quick-brown fox -- it's 'quoted', a_b; $1,000.00 or 50% off!!! x " + "w" * 33 + " " + "q" * 300
    words = ["the", "quick-brown", "fox", "it's", "quoted", "a_b", "000", "00", "or", "50", "off"]
    assert tokens(raw, body=True) == [*words, "skip:w:30"]
    assert tokens(raw, body=True, amounts=True)[:4] == ["$1,000.00", "$:4", "50%", "!!!"]
    assert tokens("\na good day", body=True, pairs=True) == ["good+day", "good", "day"]


def test_words_split_invisibly_or_in_other_forms_of_characters_are_the_plain_words():
    assert tokens("\nvi\u200bag\u00adra 𝐅𝐑𝐄𝐄 ＣＡＳＨ don’t", body=True) == ["viagra", "free", "cash", "don't"]


def test_scripts_without_spaces_become_pairs():
    assert tokens("\n明天开会, hello", body=True) == ["明天", "天开", "开会", "hello"]


FOREIGN = """
X-Spam-Status X-Spam-Flag X-Bogosity X-Deciban Status X-UID Delivered-To X-Original-To
Return-Path Delivery-Date X-Rspamd-Score X-Virus-Scanned
"""


@pytest.mark.parametrize("header", FOREIGN.split())
def test_headers_of_stores_and_filters_leave_no_trace(header):
    everything = TokenOptions(others=True)
    plain = read_message(b"Subject: x\n\ny")
    marked = read_message(f"{header}: yes telling word\nSubject: x\n\ny".encode())
    assert extract_tokens(marked, everything) == extract_tokens(plain, everything)


def test_headers_of_mailing_lists_have_an_option():
    raw = "List-Id: <crew.lists.example>\nPrecedence: bulk\nX-BeenThere: crew@lists.example\n\n"
    assert tokens(raw, names=True, subject=True)[:1] == ["no:from"]
    found = tokens(raw, names=True, lists=True)
    assert {"header:list-id", "list:crew", "list:bulk"} <= set(found)
    assert tokens("Sender: crew-admin@lists.example\n\n", sender=True) == []
    assert "sender:lists.example" in tokens("Sender: crew-admin@lists.example\n\n", sender=True, lists=True)


def test_results_of_authentication():
    raw = "Authentication-Results: mx.example; spf=pass smtp.mailfrom=a; dkim=fail (bad)\n"
    raw += "DKIM-Signature: v=1; d=a.example; b=x\n\n"
    assert tokens(raw, "auth:", "dkim:") == ["auth:spf=pass", "auth:dkim=fail", "dkim:a.example", "dkim:example"]


@pytest.mark.parametrize("raw", [*made_up.BROKEN.values(), made_up.rich().as_bytes(), made_up.forwarded().as_bytes()],
                         ids=[*made_up.BROKEN, "rich", "forwarded"])  # fmt: skip
@pytest.mark.parametrize("options", [DEFAULT_OPTIONS, TokenOptions(pairs=True, others=True)], ids=["default", "all"])
def test_tokens_are_distinct_short_and_without_spaces(raw, options):
    found = extract_tokens(read_message(raw), options)
    assert len(found) == len(set(found))
    assert all(0 < len(token) <= 60 and len(token.split()) == 1 for token in found)


def test_each_option_changes_the_fingerprint():
    names = [each.name for each in fields(TokenOptions) if isinstance(each.default, bool)]
    changed = [replace(DEFAULT_OPTIONS, **{name: not getattr(DEFAULT_OPTIONS, name)}) for name in names]
    fingerprints = {options.fingerprint for options in changed}
    assert DEFAULT_OPTIONS.fingerprint not in fingerprints
    assert len(fingerprints) == len(names)
    assert TokenOptions().fingerprint == DEFAULT_OPTIONS.fingerprint


def test_the_fingerprints_are_those_of_version_0_1():
    assert DEFAULT_OPTIONS.fingerprint == "1-5e970898c23b35ac"
    assert TokenOptions(pairs=True).fingerprint == "1-fc6b3a91df50d1de"
