"""Invented messages in several languages: valid ones by Python's `email`, and broken ones by hand."""

from __future__ import annotations

import tarfile
from email.message import EmailMessage
from importlib.resources import files

TEXTS = {
    "english": ("Lunch on Thursday?", "Shall we meet at noon? I'll bring the drawings.\n", "utf-8"),
    "german": ("Grüße aus Köln", "Schöne Grüße, wir hören uns nächste Woche.\n", "iso-8859-1"),
    "french": ("Réunion déplacée à jeudi", "La réunion est déplacée, à bientôt.\n", "windows-1252"),
    "russian": ("Встреча завтра", "Встречаемся завтра в десять у входа.\n", "koi8-r"),
    "greek": ("Καλημέρα", "Τα λέμε το απόγευμα.\n", "iso-8859-7"),
    "chinese": ("明天的会议", "明天上午十点开会，请准时参加。\n", "gb2312"),
    "taiwanese": ("明天的會議", "明天上午十點開會。\n", "big5"),
    "japanese": ("明日の会議", "明日の午前十時に会議があります。\n", "iso-2022-jp"),
    "japanese on windows": ("明日の会議", "明日の午前十時に会議があります。\n", "shift_jis"),
    "korean": ("내일 회의", "내일 오전 열 시에 회의가 있습니다.\n", "euc-kr"),
    "hebrew": ("שלום", "להתראות מחר בבוקר.\n", "utf-8"),
    "turkish": ("Yarın görüşürüz", "Toplantı yarın saat onda başlıyor.\n", "iso-8859-9"),
}
"""By language: a subject, a text, and a charset that holds both."""

PAGE = (
    '<html><head><style>p { color: red }</style></head><body bgcolor="#ffffff"><p>Dear <b>fri</b>end,<br>click '
    '<a href="http://shop.example.com:8080/offer/now?id=7">here</a></p><!-- words for the filter -->'
    '<div style="display: none">meadow river</div><font color="#fffffe">invisible ink</font>'
    '<img src="http://203.0.113.9/x.gif" width=1 height=1 alt="logo"><script>var wallet;</script></body></html>\n'
)


def example_mailbox() -> list[bytes]:
    """The messages of the packed example mailbox: wanted mail and spam in eleven languages."""
    with tarfile.open(str(files("deciban.cli.examples") / "mailbox.tar.xz")) as archive:
        return [archive.extractfile(member).read() for member in archive]  # type: ignore[union-attr]


def plain(language: str, encoding: str | None = None) -> EmailMessage:
    """A message in a language, in its charset, by a transfer encoding of choice."""
    subject, text, charset = TEXTS[language]
    message = _new_message(subject)
    message.set_content(text, charset=charset, cte=encoding)
    return message


def rich() -> EmailMessage:
    """Text and page as alternatives, and two attachments, one with a name that is not ASCII."""
    message = _new_message("Rapport d'été")
    message.set_content("Le texte simple.\n")
    message.add_alternative(PAGE, subtype="html")
    pdf = b"%PDF-1.4 " + bytes(range(256))
    message.add_attachment(pdf, maintype="application", subtype="pdf", filename="été.pdf")
    message.add_attachment("a;b\n1;2\n", subtype="csv", filename="numbers 2024.csv")
    return message


def forwarded() -> EmailMessage:
    """A message that encloses another."""
    message = _new_message("Fwd: the message")
    message.set_content("See below.\n")
    message.add_attachment(plain("german"))
    return message


def _new_message(subject: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Anna Müller <anna@office.example.org>"
    message["To"] = "Bob <bob@home.example.net>"
    message["Subject"] = subject
    message["Date"] = "Thu, 04 Jul 2024 10:00:00 +0200"
    message["Message-ID"] = "<1234@mail.office.example.org>"
    return message


BROKEN = {
    "nothing": b"",
    "only a blank line": b"\n",
    "no headers": b"hello there\nthis is a text without any header\n",
    "only headers": b"Subject: alone\nFrom: a@b.example",
    "no blank line": b"Subject: soon\nthe text begins at once\nand goes on\n",
    "NULs": b"Subject: a\0b\n\nwo\0rd\0\n",
    "multipart without a boundary": b"Content-Type: multipart/mixed\n\n--x\n\nhello\n--x--\n",
    "multipart whose boundary is not there": b"Content-Type: multipart/mixed; boundary=zz\n\nhello\n",
    "multipart that never closes": b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\nhello\n--x\n\nworld\n",
    "multipart that closes at once": b"Content-Type: multipart/mixed; boundary=x\n\n--x--\n",
    "multipart of itself": b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" * 2 + b"\nhi\n",
    "unknown charset": b"Content-Type: text/plain; charset=x-martian\n\ngr\xfc\xdfe\n",
    "base64 cut short": b"Content-Transfer-Encoding: base64\n\naGVsbG8gd29ybGQgYWdhaW",
    "base64 with dirt": b"Content-Transfer-Encoding: base64\n\naGVs*bG8g!d29y\nbGQ=\n",
    "quoted-printable with dirt": b"Content-Transfer-Encoding: quoted-printable\n\nhello =zz w=6Frld =\n",
    "encoded word broken": b"Subject: =?utf-8?q?caf=C3=A9 and =?utf-8?b?!!!?= rest\n\nx",
    "eight-bit header": b"Subject: caf\xe9 cr\xe8me\nFrom: \xc3\xa9t\xc3\xa9 <a@b.example>\n\nx",
    "CR only": b"Subject: old\rFrom: mac@a.example\r\rhello there\r",
    "CR CR LF": b"Subject: twice\r\r\nFrom: a@b.example\r\r\n\r\r\nhello\r\r\n",
    "header without a name": b": nameless\nSubject: named\n\nx",
    "page that never closes": b"Content-Type: text/html\n\n<html><body><p style='display:none'>lost <a href=",
    "type of nonsense": b"Content-Type: ;;;=;/;charset=\"\n\nhello",
    "a huge type": b"Content-Type: " + b"x" * 5_000 + b"/y\n\nhello",
}  # fmt: skip
