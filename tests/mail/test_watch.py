"""Watching folders: a move states a label, however it is made; deliveries, flags and deletions state none."""

import json
import os
import time

import pytest

from deciban.errors import InputError
from deciban.mail import watch as watch_module
from deciban.mail.message.message import compute_digest
from deciban.mail.sources.imap_connection import RefusedError
from deciban.mail.watch import Watcher
from tests.mail import dovecot
from tests.mail.mail_readers import ImapReader, MaildirReader

real = pytest.mark.skipif(dovecot.ABSENT is not None, reason=str(dovecot.ABSENT))


@pytest.fixture(scope="module")
def server():
    with dovecot.running() as running:
        yield running


@pytest.fixture(params=["maildir", pytest.param("imap", marks=real)])
def reader(request, tmp_path, monkeypatch):
    if request.param == "maildir":
        yield MaildirReader(tmp_path)
        return
    from imaplib import Commands

    monkeypatch.setitem(Commands, "MOVE", ("SELECTED",))
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    running = request.getfixturevalue("server")
    with running.reader() as line:
        yield ImapReader(running, line, time.time_ns())


class Notes:
    """A store for tests: the messages it learned, and their labels."""

    def __init__(self, reader):
        self.folders, self.learned, self.labels, self.kept = reader.folders, [], {}, None

    def learn(self, raw, label):
        self.learned.append((raw.split()[1].decode(), label))
        self.labels[compute_digest(raw)] = label

    def save(self, state):
        self.kept = json.dumps(state)

    def load(self):
        return json.loads(self.kept) if self.kept else None

    def watcher(self, **options):
        return Watcher(self.folders, self.learn, known=self.labels.get, load=self.load, save=self.save, **options)

    def news(self, watcher):
        watcher.look()
        learned, self.learned = self.learned, []
        return learned


@pytest.fixture
def notes(reader):
    return Notes(reader)


@pytest.fixture
def watcher(notes, reader):
    for about in ("old-ham", "old-ham-2"):
        reader.deliver(about)
    reader.deliver("old-spam", "Junk")
    with notes.watcher() as watcher:
        assert notes.news(watcher) == []
        yield watcher


def test_a_message_moved_to_junk_is_spam_and_moved_back_is_ham(reader, notes, watcher):
    reader.move("old-ham", "INBOX", "Junk")
    assert notes.news(watcher) == [("old-ham", "spam")]
    assert notes.news(watcher) == []
    reader.move("old-ham", "Junk", "INBOX")
    assert notes.news(watcher) == [("old-ham", "ham")]
    reader.move("old-ham", "INBOX", "Junk")
    assert notes.news(watcher) == [("old-ham", "spam")]
    assert notes.news(watcher) == []


def test_a_delivery_says_nothing_and_what_appears_in_junk_is_spam(reader, notes, watcher):
    reader.deliver("fresh")
    reader.deliver("filed", "Junk")
    assert notes.news(watcher) == [("filed", "spam")]
    reader.move("fresh", "INBOX", "Junk")
    reader.move("filed", "Junk", "INBOX")
    assert sorted(notes.news(watcher)) == [("filed", "ham"), ("fresh", "spam")]


def test_what_lay_in_junk_from_the_beginning_is_ham_when_it_is_moved_out(reader, notes, watcher):
    reader.move("old-spam", "Junk", "INBOX")
    assert notes.news(watcher) == [("old-spam", "ham")]


def test_deleting_and_throwing_away_say_nothing(reader, notes, watcher):
    reader.delete("old-spam", "Junk")
    reader.delete("old-ham", "INBOX")
    reader.trash("old-ham-2", "INBOX")
    assert notes.news(watcher) == []
    reader.deliver("brief", "Junk")
    reader.trash("brief", "Junk")
    assert notes.news(watcher) == []


def test_flags_say_nothing(reader, notes, watcher):
    for about, folder in (("old-ham", "INBOX"), ("old-spam", "Junk")):
        reader.flag(about, folder)
    assert notes.news(watcher) == []


def test_a_copy_is_a_statement_once(reader, notes, watcher):
    reader.copy("old-ham", "INBOX", "Junk")
    assert notes.news(watcher) == [("old-ham", "spam")]
    reader.copy("old-ham", "Junk", "Junk")
    assert notes.news(watcher) == []
    reader.delete("old-ham", "INBOX")
    assert notes.news(watcher) == []


def test_moves_while_nobody_watched_are_noticed_afterwards(reader, notes, watcher):
    watcher.close()
    reader.move("old-ham", "INBOX", "Junk")
    reader.move("old-spam", "Junk", "INBOX")
    reader.deliver("fresh")
    with notes.watcher() as again:
        assert sorted(notes.news(again)) == [("old-ham", "spam"), ("old-spam", "ham")]
    with notes.watcher() as once_more:
        assert notes.news(once_more) == []


def test_a_statement_that_could_not_be_learned_is_tried_again(reader, notes, watcher, monkeypatch):
    reported, learn = [], notes.learn

    def full(raw, label):
        if b"old-ham-2" in raw:
            raise InputError("the disk is full")
        learn(raw, label)

    watcher._on_move, watcher._problems = full, reported.append
    reader.move("old-ham-2", "INBOX", "Junk")
    reader.move("old-ham", "INBOX", "Junk")
    assert notes.news(watcher) == [("old-ham", "spam")]
    assert "the disk is full (it will be tried again)" in str(reported[0])
    watcher._on_move = learn
    assert notes.news(watcher) == [("old-ham-2", "spam")]
    assert notes.news(watcher) == []


def test_killed_between_learning_and_keeping_its_state_it_learns_nothing_twice(reader, notes, watcher):
    before = notes.kept
    reader.move("old-ham", "INBOX", "Junk")
    assert notes.news(watcher) == [("old-ham", "spam")]
    notes.kept = before
    with notes.watcher() as again:
        assert notes.news(again) == []


def test_what_the_filter_filed_itself_says_nothing_until_it_is_moved(reader, notes, watcher):
    watcher._filed = lambda raw: b"by-filter" in raw
    reader.deliver("by-filter-1", "Junk")
    assert notes.news(watcher) == []
    reader.move("by-filter-1", "Junk", "INBOX")
    assert notes.news(watcher) == [("by-filter-1", "ham")]


def test_nothing_is_marked_or_deleted(reader, notes, watcher):
    reader.deliver("fresh")
    reader.deliver("filed", "Junk")
    before = reader.marks()
    assert notes.news(watcher) == [("filed", "spam")]
    assert reader.marks() == before


def test_state_that_makes_no_sense_is_a_first_look(reader, notes):
    reader.deliver("old", "Junk")
    odd = {str(name): {"keys": 3, "unreadable": {"a": 1}} for name in reader.folders}
    for kept in ([], {"folders": [], "labels": 3}, {"folders": {"x": 1}, "labels": {"ab": 1}}, {"folders": odd}):
        notes.kept = json.dumps(kept)
        with notes.watcher() as watcher:
            assert notes.news(watcher) == []


@pytest.fixture
def maildir(tmp_path):
    return MaildirReader(tmp_path)


def test_a_file_renamed_within_a_maildir_is_the_same_message(maildir):
    notes = Notes(maildir)
    maildir.deliver("old", "Junk")
    with notes.watcher() as watcher:
        notes.news(watcher)
        (file,) = (maildir.junk / "new").iterdir()
        os.rename(file, maildir.junk / "cur" / f"{file.name},S=64:2,RS")
        assert notes.news(watcher) == []
        assert len(json.loads(notes.kept)["folders"][str(maildir.junk)]["keys"]) == 1


def test_a_quiet_maildir_is_not_listed_again(maildir, monkeypatch):
    notes = Notes(maildir)
    listed = []
    monkeypatch.setattr(watch_module, "MTIME_RESOLUTION_SECONDS", 0.05)
    with notes.watcher() as watcher:
        notes.news(watcher)
        time.sleep(0.1)
        notes.news(watcher)
        entries = watch_module.list_maildir
        monkeypatch.setattr(watch_module, "list_maildir", lambda path: listed.append(path) or entries(path))
        notes.news(watcher)
        assert listed == []
        maildir.deliver("filed", "Junk")
        assert notes.news(watcher) == [("filed", "spam")]
        assert listed == [maildir.junk]


def test_a_maildir_that_is_away_for_a_while_is_reported_and_looked_at_again(maildir):
    notes, reported = Notes(maildir), []
    with notes.watcher(problems=reported.append) as watcher:
        notes.news(watcher)
        maildir.junk.rename(maildir.junk.with_name("away"))
        assert notes.news(watcher) == []
        assert "cannot be read" in str(reported[0])
        maildir.junk.with_name("away").rename(maildir.junk)
        maildir.deliver("filed", "Junk")
        assert notes.news(watcher) == [("filed", "spam")]


def keep_unreadable_files(junk):
    """Keep a pipe, a folder and a link that leads nowhere in the place of messages; return their paths."""
    pipe, folder, link = (junk / "cur" / f"170000000{i}.M1.host:2,S" for i in range(3))
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to("nowhere")
    return pipe, folder, link


def test_files_that_cannot_be_read_are_reported_once_and_tried_again(maildir):
    notes, reported = Notes(maildir), []
    with notes.watcher(problems=reported.append) as watcher:
        notes.news(watcher)
        pipe, _, link = keep_unreadable_files(maildir.junk)
        maildir.deliver("filed", "Junk")
        assert notes.news(watcher) == [("filed", "spam")]
        assert notes.news(watcher) == []
        (problem,) = reported
        assert problem.messages == 3
        first = f"The first: {pipe}: is a folder, a pipe or a device, not a file with a message"
        assert str(problem) == f"{maildir.junk}: 3 messages cannot be read; each look tries again. {first}"
        link.unlink()
        link.write_bytes(b"Subject: mended\n\n")
        assert notes.news(watcher) == [("mended", "spam")]
    assert len(reported) == 1


def test_files_that_cannot_be_read_are_not_reported_again_by_the_next_run(maildir):
    notes, reported = Notes(maildir), []
    pipe, _, _ = keep_unreadable_files(maildir.junk)
    for run in range(4):
        if run == 2:
            pipe.unlink()
            (maildir.junk / "new/1700000003.M1.host").symlink_to("nowhere")
        with notes.watcher(problems=reported.append) as watcher:
            notes.news(watcher)
    first, second = map(str, reported)
    assert "3 messages cannot be read. The first" in first
    assert second.endswith("The first: " + f"{maildir.junk}/new/1700000003.M1.host: No such file or directory")
    kept = json.loads(notes.kept)["folders"][str(maildir.junk)]
    assert kept == {"keys": [f"170000000{i}.M1.host" for i in (1, 2)], "unreadable": ["1700000003.M1.host"]}


def test_a_file_that_could_not_be_read_at_the_first_look_states_nothing(maildir):
    notes = Notes(maildir)
    _, _, link = keep_unreadable_files(maildir.junk)
    with notes.watcher(problems=[].append) as watcher:
        notes.news(watcher)
        link.unlink()
        link.write_bytes(b"Subject: mended\n\n")
        assert notes.news(watcher) == []


def test_memory_is_bounded(maildir, monkeypatch):
    monkeypatch.setattr(watch_module, "MAX_REMEMBERED_LABELS", 3)
    notes = Notes(maildir)
    with notes.watcher() as watcher:
        notes.news(watcher)
        for number in range(6):
            maildir.deliver(number)
        notes.news(watcher)
        assert len(json.loads(notes.kept)["labels"]) == 3


def test_any_labels_may_be_watched(maildir):
    reported = []
    folders = {maildir.inbox: "misc", maildir.junk: "lists"}
    with Watcher(folders, lambda raw, label: reported.append(label), arriving=["misc"]) as watcher:
        watcher.look()
        maildir.deliver("a")
        maildir.deliver("b", "Junk")
        watcher.look()
        maildir.move("b", "Junk", "INBOX")
        watcher.look()
    assert reported == ["lists", "misc"]


def test_what_cannot_be_watched_is_refused(tmp_path):
    (tmp_path / "box").write_bytes(b"From joe Thu Jan  1 00:01:40 1970\nA: b\n")
    with pytest.raises(InputError, match=r"a source of kind mbox cannot be watched. Hint: Maildirs and IMAP"):
        Watcher({tmp_path / "box": "spam"}, print)
    with pytest.raises(InputError, match="nothing to watch"):
        Watcher({}, print)
    with pytest.raises(InputError, match="no such file"):
        Watcher({tmp_path / "nowhere": "spam"}, print)


@real
def test_a_wrong_password_ends_the_watch_at_once(server, monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "wrong")
    with Watcher({server.address(): "spam"}, print) as watcher, pytest.raises(RefusedError):
        watcher.look()


@real
def test_a_line_that_breaks_is_reported_and_taken_up_again(server, monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    reported = []
    with server.reader() as line:
        imap = ImapReader(server, line, time.time_ns())
        notes = Notes(imap)
        with notes.watcher(problems=reported.append) as watcher:
            notes.news(watcher)
            for place, _ in watcher._folders:
                place._folder._connection.sock.close()
                place._folder._connection.file.close()
            imap.deliver("filed", "Junk")
            assert notes.news(watcher) == []
            assert len(reported) == 2
            assert notes.news(watcher) == [("filed", "spam")]


@real
def test_a_folder_with_new_uids_is_looked_at_as_for_the_first_time(server, monkeypatch):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    with server.reader() as line:
        imap = ImapReader(server, line, time.time_ns())
        notes = Notes(imap)
        imap.deliver("old", "Junk")
        with notes.watcher() as watcher:
            notes.news(watcher)
            time.sleep(1.1)  # UIDVALIDITY is a time
            line.select("INBOX")
            line.delete(imap.names["Junk"])
            line.create(imap.names["Junk"])
            imap.deliver("restored", "Junk")
            watcher.close()
            assert notes.news(watcher) == []
            imap.move("restored", "Junk", "INBOX")
            assert notes.news(watcher) == [("restored", "ham")]
            imap.deliver("later", "Junk")
            assert notes.news(watcher) == [("later", "spam")]
