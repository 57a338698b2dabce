"""IMAP folders: all messages are read, nothing is changed, and errors never contain the password."""

import logging
import os
import time
from contextlib import closing
from ipaddress import ip_address

import pytest

from deciban.errors import InputError
from deciban.mail.sources import imap, imap_connection
from deciban.mail.sources.imap import ImapFolder, group_by_size, imap_messages
from deciban.mail.sources.imap_connection import Address, RefusedError, decode_folder, encode_folder, password_for
from deciban.mail.sources.mailbox_search import list_neighbours
from deciban.mail.sources.message_sources import read_mail, source_kind
from tests.mail import dovecot
from tests.mail.imap_script import serve_script

real = pytest.mark.skipif(dovecot.ABSENT is not None, reason=str(dovecot.ABSENT))


@pytest.fixture(scope="module")
def filled_server():
    with dovecot.running() as running, running.reader() as reader:
        for folder in ("Junk", '"Old news"', encode_folder("Gelöscht & weg"), "Lists.python", "Empty", "Many"):
            assert reader.create(folder)[0] == "OK"
        for number in range(5):
            reader.append("INBOX", "", f'"01-Jan-2024 10:00:0{number} +0000"', message(number))
        for folder in ('"Old news"', encode_folder("Gelöscht & weg"), "Lists.python"):
            reader.append(folder, "", None, message(folder.encode()))
        for number in range(450):
            reader.append("Many", "", None, message(number))
        reader.append("Junk", "(\\Seen \\Flagged)", None, message("kept"))
        reader.append("Junk", "(\\Deleted)", None, message("thrown away"))
        yield running


@pytest.fixture(autouse=True)
def some_password(monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "hunter2")


@pytest.fixture
def server(filled_server, monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    return filled_server


def message(about):
    about = about if isinstance(about, bytes) else str(about).encode()
    return b"Subject: " + about + b"\r\n\r\nHello.\r\n"


def subjects(address, **options):
    return [
        found.raw.split(b"\r\n")[0].removeprefix(b"Subject: ").decode() for found in read_mail(address, **options)
    ]


@real
def test_a_folder_is_read_by_uid_with_names_and_times(server):
    found = list(read_mail(server.address()))
    assert source_kind(server.address()) == "imap"
    assert [item.raw for item in found] == [message(number) for number in range(5)]
    assert [item.time for item in found] == [1704103200.0 + number for number in range(5)]
    assert found[2].name == f"imaps://joe%40x.org@127.0.0.1:{server.tls_port}/INBOX;uid=3"


@real
def test_no_message_becomes_seen_or_old(server):
    with server.reader() as reader:
        before = reader.status("INBOX", "(MESSAGES UNSEEN RECENT UIDNEXT)")
        list(read_mail(server.address()))
        assert reader.status("INBOX", "(MESSAGES UNSEEN RECENT UIDNEXT)") == before
        assert b"UNSEEN 5" in before[1][0]


@real
def test_deleted_messages_are_omitted_and_counted(server):
    reported = []
    (kept,) = read_mail(server.address("Junk"), problems=reported.append)
    assert (kept.raw, kept.is_trashed) == (message("kept"), False)
    assert [problem.messages for problem in reported] == [1]
    assert subjects(server.address("Junk"), trashed=True) == ["kept", "thrown away"]


@real
@pytest.mark.parametrize("folder", ["Old%20news", "Gel%C3%B6scht%20%26%20weg", "Lists/python", "Lists.python"])
def test_names_with_spaces_other_alphabets_and_either_divider_are_found(server, folder):
    assert len(subjects(server.address(folder))) == 1


@real
def test_many_messages_come_in_batches(server, monkeypatch):
    assert subjects(server.address("Many")) == [str(number) for number in range(450)]
    monkeypatch.setattr(imap, "SEARCH_UIDS", 100)
    monkeypatch.setattr(imap, "FETCH_BYTES", 500)
    assert subjects(server.address("Many")) == [str(number) for number in range(450)]
    assert subjects(server.address("Empty")) == []


@real
def test_a_long_message_is_read_up_to_the_bound(server, monkeypatch):
    monkeypatch.setattr(imap, "max_read_bytes", lambda: 20)
    assert {len(found.raw) for found in read_mail(server.address())} == {20}


@real
def test_messages_that_vanish_while_reading_are_reported_and_the_others_go_on(server, monkeypatch):
    monkeypatch.setattr(imap, "FETCH_MESSAGES", 1)
    with server.reader() as reader:
        reader.create("Going")
        for number in range(3):
            reader.append("Going", "", None, message(number))
        reported = []
        reading = read_mail(server.address("Going"), problems=reported.append)
        next(reading)
        reader.select("Going")
        reader.store("2", "+FLAGS", "\\Deleted")
        reader.expunge()
        assert [found.raw for found in reading] == [message(2)]
    assert [problem.messages for problem in reported] == [1]


@real
def test_the_certificate_is_checked(server, monkeypatch):
    with pytest.raises(InputError, match=r"certificate is not trusted.*SSL_CERT_FILE"):
        list(read_mail(server.address(options=False)))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.ca))
    assert len(list(read_mail(server.address(options=False)))) == 5
    wrong_host = server.address(options=False).replace("127.0.0.1", "localhost")
    with pytest.raises(InputError, match="certificate is not trusted"):
        list(read_mail(wrong_host))


@real
def test_a_plain_line_is_for_loopback_and_goes_on_by_starttls_elsewhere(server, monkeypatch):
    assert len(list(read_mail(server.address(secure=False)))) == 5
    monkeypatch.setattr(imap_connection, "ip_address", lambda text: ip_address("192.0.2.1"))
    with pytest.raises(InputError, match="certificate is not trusted"):
        list(read_mail(server.address(secure=False)))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.ca))
    assert len(list(read_mail(server.address(secure=False)))) == 5


def test_a_server_elsewhere_without_starttls_gets_no_password(monkeypatch):
    monkeypatch.setattr(imap_connection, "ip_address", lambda text: ip_address("192.0.2.1"))
    with serve_script() as (address, received):
        with pytest.raises(InputError, match="no STARTTLS"):
            list(read_mail(address))
        assert not any(b"LOGIN" in line for line in received)


@real
def test_a_wrong_password_is_refused_in_words_without_it(server, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "wrong-and-secret")
    with pytest.raises(RefusedError, match=r"refused the login of joe@x\.org") as caught:
        list(read_mail(server.address()))
    seen = str(caught.value) + repr(caught.value.__cause__) + caplog.text + "".join(capfd.readouterr())
    assert "secret" not in seen


@real
def test_a_folder_that_is_not_there_names_those_that_are(server):
    with pytest.raises(InputError, match=r"no folder 'Jnuk'; did you mean 'Junk'\?.*Gelöscht & weg.*Junk.*Old news"):
        list(read_mail(server.address("Jnuk")))


@real
def test_an_open_folder_notices_new_messages_and_new_uids(server):
    with server.reader() as reader:
        reader.create("Anew")
        reader.append("Anew", "", None, message("one"))
        with closing(ImapFolder(Address.parse(server.address("Anew")), dovecot.PASSWORD)) as folder:
            assert list(folder.uids()) == [1]
            reader.append("Anew", "", None, message("two"))
            folder.refresh()
            assert list(folder.uids(since=folder.next_uid - 1)) == [2]
            assert list(folder.uids(since=3)) == []
            validity = folder.validity
        reader.delete("Anew")
        time.sleep(1.1)  # UIDVALIDITY is a time
        reader.create("Anew")
        with closing(ImapFolder(Address.parse(server.address("Anew")), dovecot.PASSWORD)) as folder:
            assert folder.validity != validity > 0


def test_a_password_that_an_old_server_cannot_take_is_not_in_the_error(monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "sécret")
    with serve_script() as (address, received):
        with pytest.raises(RefusedError, match="ASCII alone") as caught:
            list(read_mail(address))
        assert "cret" not in str(caught.value)
        assert not any(b"cret" in line for line in received)


def test_a_server_that_repeats_the_password_does_not_get_it_into_the_error(monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "hunter2")
    refusal = b"{tag} NO wrong password hunter2 for joe\r\n"
    with serve_script(LOGIN=refusal) as (address, _), pytest.raises(RefusedError, match="wrong password … for joe"):
        list(read_mail(address))


@pytest.mark.parametrize("command", ["CAPABILITY", "LOGIN", "EXAMINE", "SEARCH", "RFC822_SIZE", "BODY_PEEK"])
def test_a_connection_that_drops_is_reported(command):
    with (
        serve_script(**{command: None}) as (address, _),
        pytest.raises(InputError, match=r"127\.0\.0\.1.*connection failed"),
    ):
        list(read_mail(address))


@pytest.mark.parametrize(
    "answer",
    [
        b"* 1 FETCH (UID 1 BODY[]<0> {99999999999999}\r\nhello)\r\n",
        b"* 1 FETCH (UID 1 BODY[]<0> {1000}\r\nhello)\r\n{tag} OK done\r\n",
        b"* 1 FETCH (UID 1 BODY[]<0> {3}\r\nhello)\r\n",
        b"* 1 FETCH (UID 1 BODY[]<0> {-5}\r\nhello)\r\n",
        b"nonsense\r\n",
        b"* 1 FETCH (UID 1 BODY[]<0> " + b"x" * 1_100_000,
        b"{tag} BAD no\r\n",
    ],
    ids=range(7),
)
def test_a_server_that_lies_about_sizes_gets_an_error_and_no_memory(answer, monkeypatch):
    monkeypatch.setattr(imap_connection, "TIMEOUT_SECONDS", 0.5)
    with serve_script(BODY_PEEK=answer) as (address, _):
        if b"{3}" in answer:  # less than there is: the rest is no answer that makes sense
            assert [found.raw for found in read_mail(address)] == [b"hel"]
        else:
            with pytest.raises(InputError, match=r"127\.0\.0\.1"):
                list(read_mail(address))


def test_a_server_that_never_stops_talking_is_left(monkeypatch):
    monkeypatch.setattr(imap_connection, "MAX_RESPONSE_BYTES", 100_000)
    endless = (b"* 1 FETCH (UID 1 FLAGS (\\Seen))\r\n" * 100 for _ in range(100_000))
    more = "more than it was asked for"
    with serve_script(BODY_PEEK=endless) as (address, _), pytest.raises(InputError, match=more):
        list(read_mail(address))


def test_a_server_that_sends_the_whole_of_a_long_message_is_borne(monkeypatch):
    monkeypatch.setattr(imap_connection, "max_read_bytes", lambda: 10)
    monkeypatch.setattr(imap, "max_read_bytes", lambda: 10)
    body = b"* 1 FETCH (BODY[] {300000}\r\n" + b"x" * 300_000 + b" UID 1)\r\n* 2 FETCH (UID 9 FLAGS ())\r\n"
    with serve_script(BODY_PEEK=body) as (address, _):
        assert [found.raw for found in read_mail(address)] == [b"x" * 10]


@pytest.mark.parametrize("day", ["01-Foo-1970", "01-Jan-0000"])
def test_a_date_that_there_is_not_is_no_time_of_arrival(day):
    answer = f'* 1 FETCH (UID 1 RFC822.SIZE 5 INTERNALDATE "{day} 00:01:40 +0000" FLAGS ())\r\n'
    with serve_script(RFC822_SIZE=answer.encode()) as (address, _):
        assert [(found.raw, found.time) for found in read_mail(address)] == [(b"hello", None)]


def test_short_messages_may_come_in_quotes():
    with serve_script(BODY_PEEK=b'* 1 FETCH (UID 1 BODY[]<0> "a\\"b")\r\n') as (address, _):
        assert [found.raw for found in read_mail(address)] == [b'a"b']


def test_backslashes_and_quotes_are_escaped_in_quoted_names_of_folders_alone():
    rows = [
        rb'* LIST () "\\" "Old\\new \"s\"" ("CHILDINFO" ("SUBSCRIBED"))',
        rb'* LIST (\Marked) "\\" Plain\\name',
        rb"* LIST () NIL {7}",
        rb'a\\b"c"',
        rb'* LIST () "/" two words',
    ]
    with serve_script(LIST=b"".join(row + b"\r\n" for row in rows)) as (address, _):
        names = [name for name, _ in list_neighbours(address)]
    assert names == [r'Old\new "s"', r"Plain\\name", r'a\\b"c"', "two words"]


def test_a_backslash_may_separate_the_parts_of_a_name():
    separator, refusal = rb'* LIST (\Noselect) "\\" ""' + b"\r\n", b"{tag} NO none\r\n"
    with serve_script(**{"LIST": separator, '"Old/news"': refusal}) as (address, received):
        assert len(list(read_mail(address.replace("INBOX", "Old/news")))) == 1
    assert any(rb'EXAMINE "Old\\news"' in line for line in received)


def test_only_reading_commands_are_sent(monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "hunter2")
    with serve_script() as (address, received):
        assert [(found.raw, found.time) for found in read_mail(address)] == [(b"hello", 100.0)]
    words = [line.split(b" ", 1)[1].split(b" (")[0].strip() for line in received]
    assert [word.split()[0] for word in words] == [
        b"CAPABILITY",
        b"LOGIN",
        b"EXAMINE",
        b"UID",
        b"UID",
        b"UID",
        b"LOGOUT",
    ]
    assert b"BODY.PEEK[]<0." in received[-2]


def test_nobody_there_is_reported():
    with pytest.raises(InputError, match="Connection refused"):
        list(read_mail("imap://joe@127.0.0.1:1/INBOX"))


@pytest.mark.parametrize(
    "address",
    [
        "imaps://joe:hunter2@x.org/INBOX",
        "imaps://joe:hun/ter2@x.org/INBOX",
        "imaps://joe:12/34@x.org/INBOX",
        "imaps://joe:12#34@x.org/INBOX",
        "imaps://joe:hunter2%0a@x.org/",
    ],
)
def test_an_address_with_a_password_is_refused_without_repeating_it(address):
    with pytest.raises(InputError) as caught:
        read_mail(address)
    assert not any(part in str(caught.value) for part in ("hunter2", "ter2", "hun/", "34", "12"))


@pytest.mark.parametrize(
    "address", ["imaps://x.org/", "imaps://joe@/A", "imaps://joe@x.org/a%0d%0ab", "imaps://joe@[::1/"]
)
def test_an_address_that_makes_no_sense_says_how_it_is_written(address):
    with pytest.raises(InputError, match="imaps://user@host/Folder"):
        read_mail(address)
    with pytest.raises(InputError, match=r"\?ca=FILE"):
        read_mail("imaps://joe@x.org/INBOX?verify=no")


def test_addresses_are_written_as_they_were_read():
    for text in (
        "imaps://joe@x.org/Old%20news",
        "imap://a%40b@[::1]:1143/INBOX",
        "imaps://joe@x.org:1993/Lists/a%26b",
    ):
        assert str(Address.parse(text)) == text
    assert Address.parse("imaps://joe@x.org").folder == "INBOX"
    assert [Address.parse(f"imaps://joe@x.org/{name}").folder for name in ("inbox", "Inbox/a")] == [
        "INBOX",
        "Inbox/a",
    ]
    assert str(Address.parse("imaps://joe@x.org/#news/a#b")) == "imaps://joe@x.org/%23news/a%23b"


@pytest.mark.parametrize("name", ["INBOX", "Entwürfe", "台北/日本語", "a & b", "&", 'quo"ted\\', "🙂", "é" * 50])
def test_folder_names_go_over_the_line_and_back(name):
    spelt = encode_folder(name)
    assert spelt.isascii()
    assert decode_folder(spelt[1:-1].replace('\\"', '"').replace("\\\\", "\\")) == name


def test_rfc_3501s_own_example_of_a_folder_name():
    assert encode_folder("~peter/mail/台北/日本語") == '"~peter/mail/&U,BTFw-/&ZeVnLIqe-"'
    assert decode_folder("&Jjo!") == "&Jjo!"


def test_the_password_comes_from_the_environment_or_the_keyring_or_is_asked_for(monkeypatch, tmp_path):
    address = Address.parse("imaps://joe@x.org/INBOX")
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "from env")
    assert password_for(address) == "from env"
    monkeypatch.delenv("DECIBAN_IMAP_PASSWORD")
    (tmp_path / "keyring.py").write_text(
        "class errors:\n    KeyringError = OSError\n"
        "def get_password(*who):\n    return {('deciban', 'joe@x.org'): 'from keyring'}.get(who)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert password_for(address) == "from keyring"
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match="DECIBAN_IMAP_PASSWORD"):
        password_for(Address.parse("imaps://ann@x.org/INBOX"))


def refuse(*_):
    raise OSError


def test_a_password_that_could_end_a_line_is_refused(monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "a\r\nb LOGOUT")
    with pytest.raises(InputError, match="line end"):
        list(read_mail("imap://joe@127.0.0.1:1/"))


def test_large_messages_are_asked_for_one_at_a_time():
    sizes = [10, imap.FETCH_BYTES, imap.FETCH_BYTES, 5, 5]
    notes = [imap.Attributes(uid, size, None, False) for uid, size in enumerate(sizes)]
    assert [[note.uid for note in group] for group in group_by_size(notes)] == [[0], [1], [2], [3, 4]]


def test_the_password_may_come_from_the_caller():
    with serve_script() as (address, _):
        assert [found.raw for found in imap_messages(Address.parse(address), password=lambda _: "x")] == [b"hello"]
