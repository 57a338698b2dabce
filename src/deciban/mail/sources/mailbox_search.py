"""Search for mail: the usual places of mailboxes, the IMAP server of an address, and the folder for spam."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

from deciban.errors import InputError
from deciban.mail.sources import imap_connection, message_files
from deciban.mail.sources.imap import list_folders
from deciban.mail.sources.imap_connection import Address, Password, password_for
from deciban.mail.sources.message_sources import source_kind

JUNK_NAMES = """
junk|spam|junk e-mail|junk mail|bulk|bulk mail|spamverdacht|unerwünscht|junk-e-mail|courrier indésirable|indésirables|
pourriel|correo no deseado|no deseado|posta indesiderata|indesiderata|lixo eletrônico|lixo electrónico|
correu brossa|ongewenste e-mail|ongewenst|skräppost|søppelpost|uønsket e-post|uønsket mail|uønsket|ruslpóstur|
roskaposti|rämpspost|mēstules|brukalas|šlamštas|niechciane|wiadomości-śmieci|nevyžádaná pošta|nevyžiadaná pošta|
levélszemét|neželena pošta|neželjena pošta|mesaje nedorite|нежелательная почта|спам|небажана пошта|нежелана поща|
непожељна пошта|ανεπιθύμητη αλληλογραφία|ανεπιθύμητα|önemsiz e-posta|önemsiz|istenmeyen|gereksiz|posta e padëshiruar|
דואר זבל|البريد العشوائي|هرزنامه|垃圾邮件|垃圾郵件|迷惑メール|정크 메일|스팸|스팸메일함|อีเมลขยะ|จดหมายขยะ|
thư rác|spam mail|spambox|e-mel remeh|zabor-posta|correo lixo
"""
"""Names that mail programs give the folder for spam, in many languages, between bars."""

IMAP_HOSTS = {
    "gmail.com": "imap.gmail.com", "googlemail.com": "imap.gmail.com", "icloud.com": "imap.mail.me.com",
    "me.com": "imap.mail.me.com", "mac.com": "imap.mail.me.com", "yahoo.com": "imap.mail.yahoo.com",
    "aol.com": "imap.aol.com", "gmx.de": "imap.gmx.net", "gmx.net": "imap.gmx.net", "web.de": "imap.web.de",
}  # fmt: skip
"""The IMAP servers of some domains; that of another domain is taken to be imap.DOMAIN."""

OAUTH_DOMAINS = ("outlook.com", "hotmail.com", "live.com", "msn.com")
"""Domains whose servers accept no passwords over IMAP."""

ADDRESS = re.compile(r"[^\s/@:]+@([\w-]+(?:\.[\w-]+)+)")

PROFILES = (".thunderbird", "snap/thunderbird/common/.thunderbird", "Library/Thunderbird/Profiles")
"""Folders of Thunderbird's profiles, in the user's home."""


def _simplify(name: str) -> str:
    """Return the letters and digits of a name, without regard to capitals."""
    return "".join(filter(str.isalnum, normalize("NFKC", name).casefold()))


_SIMPLE_JUNK_NAMES = frozenset(map(_simplify, JUNK_NAMES.replace("\n", "").split("|")))


def is_junk_name(name: str) -> bool:
    """Return whether a folder's name is one for spam; of a path its last part counts.

    >>> is_junk_name("INBOX.Junk"), is_junk_name("[Gmail]/Spam"), is_junk_name("Skräppost"), is_junk_name("Sent")
    (True, True, True, False)
    """
    return _simplify(re.split(r"[/.\\]", name.removesuffix(".mbox"))[-1]) in _SIMPLE_JUNK_NAMES


def address_to_url(address: str) -> str:
    """Return the inbox of a mail address, InputError if its server takes no passwords; another text stays as it is.

    >>> address_to_url("joe@gmail.com"), address_to_url("~/Maildir")
    ('imaps://joe%40gmail.com@imap.gmail.com/INBOX', '~/Maildir')
    """
    found = ADDRESS.fullmatch(address)
    if not found:
        return address
    domain = found[1].lower()
    if domain in OAUTH_DOMAINS:
        raise InputError(
            f"{address}: the servers of {domain} accept no passwords over IMAP, only OAuth, which deciban does not "
            "use. Hint: give the mail that a program keeps on this machine; docs/guides/mail-clients.md says how"
        )
    return str(Address(True, address, IMAP_HOSTS.get(domain, f"imap.{domain}"), 993, "INBOX"))


def find_mailboxes(home: Path) -> list[str]:
    """Return the mailboxes found in the usual places: a Maildir, the system's mbox, Thunderbird's, Apple Mail's."""
    user = os.environ.get("USER") or home.name
    places = [home / "Maildir", Path("/var/mail", user), Path("/var/spool/mail", user)]
    patterns = [f"{profiles}/*/{box}" for profiles in PROFILES for box in ("ImapMail/*/INBOX", "Mail/*/Inbox")]
    for pattern in (*patterns, "Library/Mail/V*/*/INBOX.mbox"):
        places += sorted(home.glob(pattern))
    there = [place for place in places if place.is_dir() or (place.is_file() and place.stat().st_size)]
    return [str(place) for place in {place.resolve(): place for place in reversed(there)}.values()][::-1]


def list_neighbours(path: str, password: Password = password_for) -> list[tuple[str, str]]:
    """Return name and path of each folder of an account (those marked as junk, if any), in or next to a Maildir."""
    kind = source_kind(path)
    if kind == "imap":
        return _list_server(Address.parse(path), password)
    place = Path(path).expanduser()
    within = message_files.find_maildirs(place) if kind == "maildir" else []
    return [(found.name.lstrip("."), str(found)) for found in within or _list_siblings(place)]


def _list_server(address: Address, password: Password) -> list[tuple[str, str]]:
    """Return "Junk" and the address of each folder marked so; if none is, name and address of all other folders."""
    with imap_connection.translate_errors(address):
        connection = imap_connection.connect(address, password(address))
        try:
            found = list_folders(connection)
        finally:
            connection.leave()
    ordered = sorted(found, key=lambda each: each[0])
    marked = [name for name, attributes in ordered if "\\junk" in attributes]
    names = marked or [name for name, attributes in ordered if "\\noselect" not in attributes]
    return [("Junk" if marked else name, address.with_folder(name)) for name in names if name != address.folder]


def _list_siblings(place: Path) -> Iterator[Path]:
    """Yield the files and folders next to a mailbox that may be mailboxes, and those in Thunderbird's folders."""
    for folder in (place.parent, *sorted(place.parent.glob("*.sbd"))):
        for found in sorted(folder.iterdir()) if folder.is_dir() else ():
            if found != place and not message_files.NOT_MAIL.fullmatch(found.name) and found.suffix != ".sbd":
                yield found
