"""Every kind of token has a description in plain English, and no description shows the token itself."""

import re
from pathlib import Path

import pytest

from deciban.mail.filter import MailFilter
from deciban.mail.message import html
from deciban.mail.message.message import read_message
from deciban.mail.spamd.protocol import format_report
from deciban.mail.tokens import tokens as tokens_module
from deciban.mail.tokens import word_tokens
from deciban.mail.tokens.token_descriptions import DESCRIPTIONS, FIXED_TOKENS, describe_token
from deciban.mail.tokens.token_options import TokenOptions
from deciban.mail.tokens.tokens import extract_tokens
from tests.mail.hostile import crowds, repeated
from tests.mail.spamds import learn_messages, make_message

EVERYTHING = TokenOptions(pairs=True, others=True)
LONG = "Donaudampfschifffahrtsgesellschaft"
HEADERS = f"""\
Received: from pc (unknown [192.0.2.7]) by mx.home.example
Received: from [198.51.100.3] (mx.a.example [198.51.100.3]) by mx.home.example
From: Ann {LONG} <ann@b.example>
Sender: Ann <ann@b.example>
Reply-To: Ann <ann@b.example>
To: Me {LONG} <me@home.example>, you@home.example
Cc: Carl <carl@home.example>
Subject: FREE PILLS {LONG} NOW $99 €5 £7 ¥9 50% for you!!! ありがとう
X-Mailer: Microsoft Outlook Express 6.0
X-Priority: 3 (Normal)
X-MSMail-Priority: High
Importance: very high
List-Id: {LONG} news <news.b.example>
X-Other: something {LONG}
Message-ID: <1@b.example>
Date: Mon, 1 Jan 2024 10:00:00 +0100
Authentication-Results: me; spf=pass; dkim=fail
Received-SPF: none (no record)
DKIM-Signature: v=1; d=b.example
Content-Transfer-Encoding: 7bit
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: 8bit

<html><!-- x --><style>.gone {{display: none}}</style><body bgcolor=#ffffff onload="x()"><font color=red size=7>Hello
</font><font size="">y</font><a href='http://1.2.3.4:80/buy/now'>x</a><a href='http://u@www.shop.example/'>x</a>
<a href='mailto:a@d.example'>y</a><a href='javascript:x()'>y</a><img src=x width=1 height=1>
<div style='display:none'>meadow {LONG}</div><div class=gone>sheet</div><font color=white>pale</font>
$9.99 €5 £7 ¥9 50% !!! {LONG} 今天</body></html>
--b
Content-Type: application/pdf; name="{LONG} bill.pdf"
Content-Disposition: attachment

x
--b--
"""
MESSAGES = [
    HEADERS.encode(),
    HEADERS.replace("Reply-To: Ann <ann@b.example>", "Reply-To: other@b.example").encode(),
    HEADERS.replace("Reply-To: Ann <ann@b.example>", "Reply-To: x@c.example").encode(),
    b"Subject: BUY THESE PILLS\nDate: today\nFrom: <a@b.example>\nTo: <b@c.example>\nCc: <c@d.example>\n"
    b"Sender: <a@b.example>\nReply-To: <a@b.example>\n\n<html><img src=x></html>\n",
    b"To: nobody\nReceived: from pc.example.net (pc.example.net [192.0.2.9]) by x\n"
    b"Content-Type: multipart/x; boundary=b\n"
    b"\n--b--\n",
    b"\nplain words only\n",
    b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: size:big\n\nx\n--b--\n",
    "To: x@example.²\nFrom: y@host.123\n\nx\n".encode(),
    b"Received: from pc (mx.a.example [203.0.113.5]) by x\n\nx\n",
]


def all_tokens():
    found = {}
    for raw in MESSAGES:
        for options in (TokenOptions(), EVERYTHING):
            found |= dict.fromkeys(extract_tokens(read_message(raw), options))
    return list(found)


def shows_itself(token):
    """Return whether a description has the token, or the prefix of any kind, as the filter writes them."""
    described = describe_token(token)
    prefixes = [prefix for prefix in DESCRIPTIONS if prefix != "html:"]
    return (":" in token and token in described) or any(f'"{prefix}' in described for prefix in prefixes)


def test_no_description_shows_a_token_as_the_filter_writes_it():
    tokens = all_tokens()
    assert len(tokens) > 200
    assert [(token, describe_token(token)) for token in tokens if shows_itself(token)] == []
    assert [token for token in tokens if "skip:" in describe_token(token)] == []


def test_every_description_is_of_a_token_that_messages_have():
    tokens = all_tokens()
    assert [token for token in FIXED_TOKENS if token not in tokens] == []
    assert [prefix for prefix in DESCRIPTIONS if not any(token.startswith(prefix) for token in tokens)] == []


def test_every_prefix_in_the_tokenizers_has_a_description():
    sources = [Path(module.__file__).read_text() for module in (tokens_module, word_tokens)]
    written = set(re.findall(r'f?"((?:[a-z-]+:)+)(?:\{|[a-z0-9-]+")', "".join(sources)))
    assert {"type:", "url:path:", "received:hops:", "reply:", "shape:"} <= written
    fixed = {token[: token.rindex(":") + 1] for token in FIXED_TOKENS}
    assert written <= set(DESCRIPTIONS) | fixed


@pytest.mark.parametrize(
    "mark", [*sorted(html.MARKED_TAGS), "comment", "pixel", "mailto", "hidden:style", "hidden:sheet"]
)
def test_marks_of_pages_are_described(mark):
    described = describe_token(f"html:{mark}")
    assert not described.startswith(("has ", "header "))
    assert "html:" not in described


@pytest.mark.parametrize(
    ("token", "described"),
    [
        ("subject:FREE", 'subject has "FREE" in capitals'),
        ("from:addr:ann@b.example", "sender is ann@b.example"),
        ("to:2", "2 to 3 recipients"),
        ("to:0", "no address of a recipient"),
        ("from:123", "sender is at .123"),
        ("to:²", "recipient is at .²"),
        ("skip:d:30", "has a word of 30 letters or more that begins with d"),
        ("won+skip:d:30", 'has "won", then a word of 30 letters or more that begins with d'),
        ("subject:you+won", 'subject has "you won"'),
        ("subject:won+skip:d", 'subject has "won", then a word of many letters or more that begins with d'),
        ("hidden:meadow", 'hides "meadow" from sight'),
        ("hidden:skip:d:30", "hides a word of 30 letters or more that begins with d from sight"),
        ("x-other:word", 'header "x-other" has "word"'),
        ("x-priority:3_(normal)", 'priority "3 (normal)"'),
        ("attachment:size:big", "attachment of type size:big"),
        ("attachment:size:11", "attachment of about 1 KiB"),
        ("attachment:size:0", "empty attachment"),
        ("received:hops:1", "passed one machine"),
        ("received:hops:3", "passed 3 machines"),
        ("$:1", "has a price: 1 digit"),
        ("50%", 'has "50%"'),
        ("html:size:", "text whose size is left empty"),
    ],
)
def test_a_token_in_words(token, described):
    assert describe_token(token) == described


def test_a_report_of_the_server_is_in_words(tmp_path):
    learn_messages(tmp_path / "mail.db", each=20)
    with MailFilter(tmp_path / "mail.db") as mail:
        verdict = mail.classify(make_message("spam", 900))
    report = format_report(verdict)
    assert all(describe_token(clue.token) in report for clue in verdict.clues)
    assert not any(clue.token in report for clue in verdict.clues if ":" in clue.token)


def test_hostile_messages_are_described_too():
    for _, raw in [*repeated(1 << 12), *crowds(1 << 14)]:
        assert all(map(describe_token, extract_tokens(read_message(raw), EVERYTHING)[:500]))
