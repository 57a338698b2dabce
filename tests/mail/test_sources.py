"""Folders and single messages: which files are mail, in which order, and what is reported of the others."""

import gzip
import mailbox
import os

import pytest

from deciban.errors import DecibanWarning, InputError
from deciban.mail.message.message import compute_digest
from deciban.mail.sources.message_files import find_maildirs
from deciban.mail.sources.message_sources import read_mail, source_kind

ONE = b"Subject: one\n\nHello.\n"
TWO = b"Subject: two\n\nFarewell.\n"


def put(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, raw in files.items():
        (folder / name).write_bytes(raw)


def subjects(path, **options):
    return [message.raw.split(b"\n")[0].removeprefix(b"Subject: ").decode() for message in read_mail(path, **options)]


@pytest.fixture
def maildir(tmp_path):
    root = tmp_path / "Maildir"
    for part in ("cur", "new", "tmp", ".Junk/cur", ".Junk/new", ".Junk/tmp"):
        (root / part).mkdir(parents=True)
    for place, subject in {
        "new/1700000003.M3.host": "fresh",
        "cur/1700000001.M1.host,S=20:2,FS": "old",
        "cur/1700000002.M2.host:2,ST": "thrown away",
        "cur/.hidden": "hidden",
        "tmp/1700000009.M9.host": "half",
        "dovecot.index.log": "index",
        ".Junk/cur/1700000004.M4.host:2,": "junk",
    }.items():
        (root / place).write_bytes(f"Subject: {subject}\n\n.\n".encode())
    return root


def test_a_maildir_gives_cur_and_new_by_arrival(maildir):
    reported = []
    found = list(read_mail(maildir, problems=reported.append))
    assert source_kind(maildir) == "maildir"
    assert [message.time for message in found] == [1700000001.0, 1700000003.0]
    assert found[0].name == str(maildir / "cur/1700000001.M1.host,S=20:2,FS")
    assert [problem.messages for problem in reported] == [1]
    assert "1 message that is marked as trashed" in str(reported[0])


def test_trash_and_folders_within_are_read_when_asked_for(maildir):
    assert subjects(maildir, trashed=True) == ["old", "thrown away", "fresh"]
    assert subjects(maildir, subfolders=True, problems=lambda _: None) == ["old", "fresh", "junk"]
    assert find_maildirs(maildir) == [maildir / ".Junk"]
    assert source_kind(maildir / ".Junk") == "maildir"
    assert subjects(maildir / ".Junk") == ["junk"]


def test_a_folder_of_a_maildir_that_cannot_be_read_is_reported_and_the_others_go_on(maildir, monkeypatch):
    scandir, reported = os.scandir, []
    for part in ("cur", "new"):
        (maildir / ".Closed" / part).mkdir(parents=True)

    def read_guarded(path):
        if path == maildir / ".Closed/cur":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", read_guarded)
    found = subjects(maildir, trashed=True, subfolders=True, problems=reported.append)
    assert found == ["old", "thrown away", "fresh", "junk"]
    reason = f"{maildir}/.Closed/cur: the folder cannot be read: Permission denied"
    assert [str(problem) for problem in reported] == [f"{maildir}/.Closed: {reason}"]


def test_a_maildir_whose_folders_cannot_be_listed_is_reported_and_the_others_go_on(maildir, monkeypatch):
    scandir, reported, unlisted = os.scandir, [], maildir / ".Closed"
    for part in ("cur", "new", ".Within/cur", ".Within/new"):
        (unlisted / part).mkdir(parents=True)
    (unlisted / "cur/1700000005.M5.host:2,").write_bytes(ONE)

    def read_guarded(path):
        if path == unlisted:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", read_guarded)
    assert subjects(maildir, trashed=True, subfolders=True, problems=reported.append) == [
        "old", "thrown away", "fresh", "one", "junk",
    ]  # fmt: skip
    assert [str(problem) for problem in reported] == [f"{unlisted}: the folder cannot be read: Permission denied"]
    unlisted = maildir
    with pytest.raises(InputError, match="Maildir: the folder cannot be read"):
        find_maildirs(maildir)


def test_a_link_to_a_maildir_that_it_is_in_is_left_out(maildir, tmp_path):
    (maildir / ".Loop").symlink_to(maildir)
    (maildir / ".Junk/.Loop").symlink_to(maildir)
    (maildir / ".Archive").symlink_to(tmp_path / "elsewhere")
    for part in ("cur", "new"):
        (tmp_path / "elsewhere" / part).mkdir(parents=True)
    assert find_maildirs(maildir) == [maildir / ".Junk", maildir / ".Archive"]


def test_maildirs_that_link_to_each_other_are_listed_once(maildir):
    names = [f".Year{number}" for number in range(12)]
    for name in names:
        for part in ("cur", "new"):
            (maildir / name / part).mkdir(parents=True)
        for other in names:
            (maildir / name / f".To{other}").symlink_to(maildir / other)
    assert find_maildirs(maildir) == [maildir / name for name in (".Junk", *sorted(names))]


def test_a_maildir_is_listed_by_its_path_without_links(maildir, tmp_path):
    """Otherwise no folder would be called Junk where a folder before it links to it."""
    for part in ("cur", "new"):
        for folder in (maildir / ".Archive", tmp_path / "other", tmp_path / "other/.Within"):
            (folder / part).mkdir(parents=True)
    (maildir / ".Archive/link").symlink_to(maildir / ".Junk")
    (maildir / ".Archive/other").symlink_to(tmp_path / "other")
    (maildir / ".Archive/loop").symlink_to("loop")
    names = [".Archive", ".Junk", ".Archive/other", ".Archive/other/.Within"]
    assert find_maildirs(maildir) == [maildir / name for name in names]


def test_a_part_of_a_maildir_may_be_empty(tmp_path, monkeypatch):
    for part in ("cur", "new"):
        (tmp_path / "empty" / part).mkdir(parents=True)
    (tmp_path / "empty/tmp").mkdir()
    assert list(read_mail(tmp_path / "empty/cur")) == []
    (tmp_path / "link").symlink_to(tmp_path / "empty/cur")
    assert list(read_mail(tmp_path / "link")) == []
    monkeypatch.chdir(tmp_path / "empty/cur")
    assert list(read_mail(".")) == []
    with pytest.raises(InputError, match="the folder has no files with messages"):
        list(read_mail(tmp_path / "empty/tmp"))


def test_a_file_of_a_part_of_a_maildir_is_one_message_whatever_path_leads_to_it(maildir, monkeypatch):
    stamp = b"From joe Thu Jan  1 00:01:40 1970\n"
    raw = stamp + ONE + b"\n" + stamp + TWO
    (maildir / "cur/1700000002.M2.host:2,ST").write_bytes(raw)
    monkeypatch.chdir(maildir / "cur")
    assert [message.raw for message in read_mail(".", trashed=True)][1:] == [raw]


def test_a_message_whose_flags_change_while_its_folder_is_read_is_not_lost(maildir):
    reading = read_mail(maildir, trashed=True)
    next(reading)
    old = maildir / "new/1700000003.M3.host"
    old.rename(maildir / "cur/1700000003.M3.host:2,S")
    assert [message.raw.split(b"\n")[0] for message in reading] == [b"Subject: thrown away", b"Subject: fresh"]


def test_a_message_that_is_gone_meanwhile_is_reported_and_the_others_go_on(maildir):
    reported = []
    reading = read_mail(maildir, trashed=True, problems=reported.append)
    next(reading)
    (maildir / "cur/1700000002.M2.host:2,ST").unlink()
    assert len(list(reading)) == 1
    assert "No such file" in str(reported[0])


def test_an_empty_maildir_has_no_messages_and_that_is_no_error(tmp_path):
    mailbox.Maildir(tmp_path / "box", create=True)
    assert list(read_mail(tmp_path / "box")) == []


def test_an_mh_folder_is_read_by_number(tmp_path):
    box = mailbox.MH(tmp_path / "mh", create=True)
    for number in range(11):
        box.add(f"Subject: {number + 1}\n\n.\n")
    box.set_sequences({"unseen": [2, 3, 4], "flagged": [10], "replied": [1]})
    box.remove(5)
    (tmp_path / "mh/,6").write_bytes(ONE)
    found = list(read_mail(tmp_path / "mh"))
    assert source_kind(tmp_path / "mh") == "mh"
    assert [message.raw.split(b"\n")[0] for message in found] == [
        b"Subject: %d" % number for number in range(1, 12) if number != 5
    ]


def test_numbered_files_alone_are_an_mh_folder_and_malformed_sequences_are_ignored(tmp_path):
    put(tmp_path / "mh", **{"10": TWO, "9": ONE})
    assert source_kind(tmp_path / "mh") == "mh"
    assert subjects(tmp_path / "mh") == ["one", "two"]
    put(tmp_path / "mh", **{".mh_sequences": b"\xff unseen 1-\nunseen: x 10-12 " + b"9" * 5000})
    assert subjects(tmp_path / "mh") == ["one", "two"]


def test_a_folder_is_gone_through_by_name_without_hidden_and_index_files(tmp_path):
    put(tmp_path / "a", **{"2.eml": TWO, "1.eml": ONE, ".hidden": ONE, "cmds": b"mv 1 2", "dovecot.index": b"x"})
    put(tmp_path / "a/deeper", **{"x.txt": TWO, "Inbox.msf": b"// <!-- <mdb", ".mh_profile": b""})
    put(tmp_path / "a/.git", config=b"x")
    assert source_kind(tmp_path / "a") == "folder"
    assert [message.name for message in read_mail(tmp_path / "a")] == [
        str(tmp_path / "a" / name) for name in ("1.eml", "2.eml", "deeper/x.txt")
    ]


def test_boxes_and_maildirs_within_a_folder_are_read_as_what_they_are(tmp_path, maildir):
    stamp = b"From joe Thu Jan  1 00:01:40 1970\n"
    put(tmp_path / "mail", Inbox=stamp + ONE + b"\n" + stamp + TWO)
    maildir.rename(tmp_path / "mail/Maildir")
    assert subjects(tmp_path / "mail", problems=lambda _: None) == ["one", "two", "old", "fresh"]


def test_an_eml_is_one_message_even_if_it_begins_as_a_box(tmp_path):
    stamp = b"From joe Thu Jan  1 00:01:40 1970\n"
    put(tmp_path, **{"a.eml": stamp + ONE + b"\n" + stamp + TWO})
    assert source_kind(tmp_path / "a.eml") == "message"
    assert [message.raw for message in read_mail(tmp_path / "a.eml")] == [stamp + ONE + b"\n" + stamp + TWO]
    assert [message.raw for message in read_mail(tmp_path)] == [stamp + ONE + b"\n" + stamp + TWO]


def test_any_bytes_are_a_message_in_a_file_that_is_named_so(tmp_path):
    put(tmp_path, **{"letter.eml": b"\xff\x00no header at all"})
    assert source_kind(tmp_path / "letter.eml") == "message"
    (message,) = read_mail(tmp_path / "letter.eml")
    assert message.raw == b"\xff\x00no header at all"
    assert message.time == os.stat(tmp_path / "letter.eml").st_mtime


def test_files_that_cannot_be_read_are_reported_and_the_others_go_on(tmp_path):
    put(tmp_path / "a", **{"1.eml": ONE, "4.eml": TWO, "5.gz": b"\x1f\x8b\x08\0\0\0"})
    (tmp_path / "a/2.eml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "a/3.eml")
    (tmp_path / "a/loop").symlink_to(tmp_path / "a")
    (tmp_path / "a/6").symlink_to("6")
    reported = []
    assert subjects(tmp_path / "a", problems=reported.append) == ["one", "two"]
    assert [problem.name.rpartition("/")[2] for problem in reported] == ["2.eml", "3.eml", "5.gz", "6"]
    words = ("No such file", "pipe", "ends early", "symbolic links")
    assert [word in str(problem) for word, problem in zip(words, reported)] == [True] * 4
    (tmp_path / "a/2.eml").unlink()
    (tmp_path / "a/6").unlink()
    (tmp_path / "a/5.gz").unlink()
    with pytest.warns(DecibanWarning, match=r"3\.eml: is a folder, a pipe"):
        assert subjects(tmp_path / "a") == ["one", "two"]


def test_a_folder_within_that_cannot_be_read_is_reported_and_the_others_go_on(tmp_path, monkeypatch):
    put(tmp_path / "a", **{"1.eml": ONE})
    put(tmp_path / "b", **{"2.eml": ONE})
    put(tmp_path / "c", **{"3.eml": TWO})
    reported, scandir = [], os.scandir

    def read_guarded(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", read_guarded)
    assert subjects(tmp_path, problems=reported.append) == ["one", "two"]
    assert str(reported[0]) == f"{tmp_path}/b: the folder cannot be read: Permission denied"
    with pytest.raises(InputError, match="b: the folder cannot be read"):
        read_mail(tmp_path / "b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_reported(tmp_path):
    put(tmp_path / "a", **{"1.eml": ONE, "2.eml": TWO})
    (tmp_path / "a/1.eml").chmod(0)
    reported = []
    assert subjects(tmp_path / "a", problems=reported.append) == ["two"]
    assert "Permission denied" in str(reported[0])
    with pytest.raises(InputError, match="Permission denied"):
        list(read_mail(tmp_path / "a/1.eml"))


def test_a_path_that_is_not_there_and_an_empty_folder_name_what_is_accepted(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path / "nowhere/cur", "a\0b", ""):
        with pytest.raises(InputError):
            read_mail(path)
    with pytest.raises(
        InputError, match=r"nowhere: there is no such file.*mbox.*Maildir.*MH.*standard input.*imaps://"
    ):
        source_kind(tmp_path / "nowhere")
    (tmp_path / "empty/inner").mkdir(parents=True)
    put(tmp_path / "empty", cmds=b"x")
    with pytest.raises(InputError, match=r"empty: the folder has no files.*Maildir"):
        read_mail(tmp_path / "empty")


def test_a_named_pipe_that_is_given_is_read_as_standard_input_is(tmp_path):
    from threading import Thread

    os.mkfifo(tmp_path / "pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=(ONE,))
    writer.start()
    assert [message.raw for message in read_mail(tmp_path / "pipe")] == [ONE]
    writer.join()


def test_the_order_is_the_same_every_time(tmp_path):
    put(tmp_path / "a", **{f"{number}.eml": ONE for number in (3, 1, 2, 11)})
    names = [message.name for message in read_mail(tmp_path / "a")]
    assert names == sorted(names) == [message.name for message in read_mail(tmp_path / "a")]


def test_a_message_is_known_again_wherever_it_lies(tmp_path):
    raw = b"Subject: one\r\nMessage-ID: <1@x.org>\r\n\r\nHello.\r\n\r\nFrom here on: more.\r\n"
    mailbox.mbox(tmp_path / "box").add(raw)
    mailbox.Maildir(tmp_path / "maildir").add(raw)
    mailbox.MH(tmp_path / "mh").add(raw)
    put(tmp_path / "folder", **{"a.eml": raw, "a.eml.gz": gzip.compress(raw)})
    places = [tmp_path / place for place in ("box", "maildir", "mh", "folder", "folder/a.eml", "folder/a.eml.gz")]
    digests = [compute_digest(found.raw) for place in places for found in read_mail(place)]
    assert digests == [compute_digest(raw)] * 7
