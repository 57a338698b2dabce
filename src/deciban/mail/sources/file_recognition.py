"""Recognition of files that are not mail: archives, images, programs, tables.

A message begins with header fields. One field that mail programs write, in the lines before the first empty one, is
enough; so is a complete head of fields of any names, unless the name of the file says that it is something else. A
file named .eml is a message whatever it contains, as long as it is text.
"""

import re

from deciban.errors import InputError

ARCHIVES = {
    b"\x1f\x8b\x08": "is packed by gzip twice. Hint: zcat FILE | deciban mail … -",
    b"BZh": "is packed by bzip2. Hint: bzcat FILE | deciban mail … -",
    b"\xfd7zXZ": "is packed by xz. Hint: xzcat FILE | deciban mail … -",
    b"\x28\xb5\x2f\xfd": "is packed by zstd. Hint: zstdcat FILE | deciban mail … -",
    b"PK\x03\x04": "is a zip archive. Hint: unpack it, and give the folder",
    b"SQLite format 3\0": "is a database, not mail. Hint: the store is named by --store",
    b"\x89PNG": "is an image, not mail",
    b"\xff\xd8\xff": "is an image, not mail",
    b"GIF8": "is an image, not mail",
    b"%PDF": "is a PDF document, not mail",
    b"\x7fELF": "is a program, not mail",
    b"\xd0\xcf\x11\xe0": "is a file of Microsoft Office or Outlook (.msg). Hint: save the message as .eml",
    b"!BDN": "is a mailbox of Outlook (.pst). Hint: readpst -o FOLDER FILE, and give the folder",
}
"""Beginnings of files, unpacked if they are gzip, that are not mail, and what to report."""

SEARCHED_BYTES = 1 << 14
"""Bytes at the beginning of a file in which header fields are sought."""

KNOWN_FIELD = re.compile(
    rb"^(?:from|to|cc|bcc|subject|date|sender|reply-to|received|return-path|delivered-to|envelope-to|message-id|"
    rb"in-reply-to|references|mime-version|errors-to|dkim-signature|authentication-results|received-spf|"
    rb"(?:x|content|resent|list|arc)-[\w-]{1,60})[ \t]*:(?!:)",
    re.IGNORECASE | re.MULTILINE,
)
"""Fields that mail programs write."""

COMPLETE_HEAD = re.compile(
    rb"(?:[A-Za-z][\w.-]{0,75}+[ \t]*+:(?!//|:)[^\n]*+(?:\n[ \t][^\n]*+)*+(?:\n|\Z))++(?:\r?\n|\Z)"
)
"""Fields of any names, to the first empty line or the end."""

OTHER_SUFFIXES = (
    ".py .pyi .js .ts .css .html .htm .xml .json .jsonl .csv .tsv .yml .yaml .toml .ini .cfg .conf .md .rst .tex "
    ".c .h .cpp .rs .go .java .rb .pl .sh .sql .log .diff .patch .bib .plist .ics .vcf"
)
OTHER_SUFFIX = re.compile(rf"(?:{'|'.join(map(re.escape, OTHER_SUFFIXES.split()))})\Z", re.IGNORECASE)
"""Names of files that are not mail unless they have two known fields."""

EMLX_LENGTH = re.compile(rb"(\d{1,12})[ \t]*\r?\n")
"""The first line of a message as Apple Mail keeps it: its number of bytes; a property list follows the message."""


class NotMailError(InputError):
    """A file that is not mail."""


def refuse_archive(start: bytes, name: str) -> None:
    """Raise NotMailError for a file that begins as an archive, a database, an image, a program or a document does."""
    if start.startswith(tuple(ARCHIVES)):
        raise NotMailError(f"{name}: {next(what for magic, what in ARCHIVES.items() if start.startswith(magic))}")
    if start[257:262] == b"ustar":
        raise NotMailError(f"{name}: is a tar archive. Hint: unpack it (tar xf), and give the folder")


def is_message(start: bytes, name: str) -> bool:
    r"""Return whether a file with this beginning and name is a message.

    >>> is_message(b"Subject: tea\n\nAt four?", "1"), is_message(b"import os\n", "1.py"), is_message(b"a,b\n1,2", "1")
    (True, False, False)
    """
    if name.lower().endswith(".eml"):
        return True
    start = start[:SEARCHED_BYTES]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        start = start.decode("utf-16", "replace").encode()
    start = start.lstrip(b"\xef\xbb\xbf\r\n\t ")
    head = re.split(rb"\n\r?\n", start.replace(b"\r\n", b"\n").replace(b"\r", b"\n"), maxsplit=1)[0]
    known = len(KNOWN_FIELD.findall(head))
    if OTHER_SUFFIX.search(name):
        return known > 1
    return bool(known) or COMPLETE_HEAD.match(start) is not None


def refuse_other_files(start: bytes, name: str) -> None:
    """Raise NotMailError for a file that is neither blank nor a message."""
    if start.strip() and not is_message(start, name):
        first = start.strip().split(b"\n")[0][:40].decode("utf-8", "replace").strip()
        shown = repr(first) if first.isprintable() else "bytes that are not text"
        raise NotMailError(
            f"{name}: is not mail: it begins with {shown} in place of header fields such as From: or Subject:. "
            "Hint: a file named .eml is read as it is, and so is standard input (-)"
        )


def extract_emlx(raw: bytes) -> bytes:
    r"""Return the message of a file of Apple Mail (.emlx), without the length before it and the list after it.

    >>> extract_emlx(b"11\nSubject: hi<?xml version")
    b'Subject: hi'
    """
    length = EMLX_LENGTH.match(raw)
    return raw[length.end() : length.end() + int(length[1])] if length else raw
