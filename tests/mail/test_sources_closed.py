"""Files that are left unread until a worker opens them: a folder gives the same mail as when all is read here."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from deciban.mail.bulk.read_batches import read_batches
from deciban.mail.bulk.reader_processes import MIN_MESSAGES_FOR_PROCESSES, read_chunk
from deciban.mail.filter import MailFilter
from deciban.mail.message.message import compute_digest
from deciban.mail.sources import message_files
from deciban.mail.sources.message_files import MessageFile, RawMessage
from deciban.mail.sources.message_sources import MAX_SMALL_FILE_BYTES, list_messages, read_mail
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS

STAMP = b"From joe@example.org Thu Jan  1 00:01:40 1970\n"
SUBJECTS = ["tea", "garden", "pills", "lottery", "meeting", "discount", "train"]
FEW, MANY = 25, MIN_MESSAGES_FOR_PROCESSES + 40  # of many, workers open files


def message(i: int) -> bytes:
    word = SUBJECTS[i % len(SUBJECTS)]
    return f"From: {word}@a.example\nSubject: {word} {i}\nMessage-ID: <{i}@a.example>\n\n{word} again w{i}\n".encode()


def maildir(root: Path, n: int) -> Path:
    for part in ("cur", "new", "tmp", ".Junk/cur", ".Junk/new", ".Junk/tmp"):
        (root / part).mkdir(parents=True)
    for i in range(n):
        part, flags = ("new", "") if i % 3 == 0 else ("cur", (":2,S", ":2,ST", ":2,FRS", ":2,")[i % 4])
        (root / part / f"{1_700_000_000 + i}.M{i}.host{flags}").write_bytes(message(i))
    (root / ".Junk/cur/1700009999.M1.host:2,S").write_bytes(message(-1))
    (root / "cur/1700009998.M2.host:2,S").write_bytes(b"")
    (root / "cur/1700009997.M3.host:2,S").write_bytes(STAMP + message(-2) + b"\n" + STAMP + message(-3))
    return root


def mh(root: Path, n: int) -> Path:
    root.mkdir()
    for i in range(n):
        (root / str(i + 1)).write_bytes(message(i))
    (root / ".mh_sequences").write_text(f"unseen: 3-9\nflagged: {n}\n")
    (root / str(n + 1)).write_bytes(b"")
    os.mkfifo(root / str(n + 2))
    return root


def make_nested(root: Path, n: int) -> Path:
    """Make a folder of all kinds of files: mboxes under other names, packed, trashed, large, broken ones, no mail."""
    for i in range(n):
        folder = root / f"folder {i % 3}" / ("deeper" if i % 2 else "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.{('eml', 'txt', '')[i % 3]}".rstrip(".")).write_bytes(message(i))
    moved = b"X-Mozilla-Status: 0009\n"
    for name, raw in {
        "a box of two": STAMP + message(-1) + b"\n" + STAMP + message(-2),
        "a box of one": STAMP + message(-3),
        "late.mbox": b"rubbish\n\n" + STAMP + message(-4),
        "all of a box is moved": STAMP + moved + message(-5),
        "some of a box is moved": STAMP + moved + message(-6) + b"\n" + STAMP + message(-7),
        "an.mbox": STAMP + message(-8) + b"\n" + STAMP + message(-9),
        "an empty one.eml": b"",
        "an empty one": b"",
        "eml of two.eml": STAMP + message(-10) + b"\n" + STAMP + message(-11),
        "packed.gz": gzip.compress(message(-12)),
        "packed too.eml": gzip.compress(message(-13)),
        "packed and cut.eml": gzip.compress(message(-14))[:-9],
        "large.eml": message(-15) + b"many words " * (MAX_SMALL_FILE_BYTES // 10),
        "just too large.eml": message(-16).ljust(MAX_SMALL_FILE_BYTES, b"x"),
        "just small.eml": message(-17).ljust(MAX_SMALL_FILE_BYTES - 1, b"x"),
        "no mail": b"\xff\0 bytes",
        "no header.eml": b"\xff\0 bytes",
        "blank line first": b"\n" + message(-18),
        "servers' ends.eml": message(-19).replace(b"\n", b"\r\n"),
        "dovecot.index": b"x",
    }.items():
        (root / name).write_bytes(raw)
    (root / os.fsdecode(b"caf\xe9.eml")).write_bytes(message(-20))
    (root / "forbidden.eml").write_bytes(message(-21))
    (root / "forbidden.eml").chmod(0)
    (root / "gone.eml").symlink_to(root / "nowhere")
    (root / "linked.eml").symlink_to(root / "a box of one")
    os.mkfifo(root / "pipe.eml")
    (root / "round").symlink_to(root)
    return root


FOLDERS = {"maildir": maildir, "mh": mh, "folder": make_nested}


@pytest.fixture(params=[(kind, n) for kind in FOLDERS for n in (FEW, MANY)], ids=lambda p: f"{p[0]} of {p[1]}")
def folder(request, tmp_path):
    kind, n = request.param
    made = FOLDERS[kind](tmp_path / "mail", n)
    for file in made.rglob("*"):
        if file.is_file() and not file.is_symlink():
            os.utime(file, (1_600_000_000, 1_600_000_000))
    return made


def left_out(reported):
    """The files that were not read, and why; trashed messages may be reported together or one by one."""
    trashed = sum(problem.messages for problem in reported if "trashed" in problem.reason)
    return trashed, sorted((problem.name, problem.reason) for problem in reported if "trashed" not in problem.reason)


def learn_folder(tmp_path, source, processes):
    """All that a store knows after a folder was learned, and what was omitted."""
    reported = []
    with MailFilter(tmp_path / f"{source.__name__}{processes}.db") as mail:
        came = mail.learn_all(source(tmp_path / "mail", problems=reported.append), "spam", processes)
        return came, [json.loads(line) for line in mail.store.export()][1:], left_out(reported)


def test_a_folder_is_learned_as_if_every_file_was_read_here(tmp_path, folder):
    here = learn_folder(tmp_path, read_mail, 1)
    assert len(here[1]) >= FEW * 3 // 4
    assert learn_folder(tmp_path, list_messages, 2) == here


@pytest.fixture
def trained(tmp_path):
    with MailFilter(tmp_path / "trained.db") as mail:
        for label, which in {"ham": (0, 1, 4, 6), "spam": (2, 3, 5)}.items():
            mail.learn_all(((str(i), message(1000 + 7 * i + k)) for i in range(10) for k in which), label)
        yield mail


def test_a_folder_is_recognised_as_if_every_file_was_read_here(folder, trained):
    reported_here, reported = [], []
    here = [(found.name, trained.classify(found.raw)) for found in read_mail(folder, problems=reported_here.append)]
    assert list(trained.classify_all(list_messages(folder, problems=reported.append), 2)) == here
    assert left_out(reported) == left_out(reported_here)
    assert len({verdict.probability for _, verdict in here}) > 2


def test_trash_and_subfolders_are_read_when_asked_for(tmp_path, trained):
    for kind, made in FOLDERS.items():
        place, options = made(tmp_path / kind, FEW), {"trashed": True, "subfolders": True, "problems": lambda _: None}
        here = [(found.name, trained.classify(found.raw)) for found in read_mail(place, **options)]
        assert list(trained.classify_all(list_messages(place, **options), 1)) == here
        assert len(here) > len(list(read_mail(place, problems=lambda _: None))) or kind == "mh"


def test_every_problem_is_reported_once(tmp_path, trained):
    reported = []
    place = make_nested(tmp_path / "mail", MANY)
    names = [name for name, _ in trained.classify_all(list_messages(place, problems=reported.append), 2)]
    assert len(set(names)) == len(names)
    assert sorted((Path(problem.name).name, problem.messages) for problem in reported) == [
        ("all of a box is moved", 1),
        *([] if os.access(place / "forbidden.eml", os.R_OK) else [("forbidden.eml", 1)]),  # root may read it
        ("gone.eml", 1),
        ("late.mbox", 0),
        ("no mail", 0),
        ("packed and cut.eml", 1),
        ("pipe.eml", 1),
        ("some of a box is moved", 1),
    ]


def test_small_files_stay_closed_and_others_do_not(tmp_path):
    place = make_nested(tmp_path / "mail", FEW)
    kinds = {Path(each.name.rpartition(":")[0] or each.name).name: type(each) for each in _mail(place)}
    assert {name for name, kind in kinds.items() if kind is RawMessage} == {
        "an.mbox", "late.mbox", "packed.gz", "an empty one.eml", "large.eml", "just too large.eml",
    }  # fmt: skip
    assert kinds["just small.eml"] is kinds["packed too.eml"] is kinds["a box of two"] is MessageFile


def _mail(place, **options):
    return list(list_messages(place, problems=lambda _: None, **options))


def while_it_is_read(given, changes):
    """The mail unchanged; before some of it is passed on, its file is changed."""
    for each in given:
        for subject, change in changes.items():
            if Path(each.name).name.startswith(subject):
                change(Path(each.name))
        yield each


@pytest.mark.parametrize(("n", "processes"), [(FEW, 1), (MANY, 2)])
def test_files_that_change_after_they_were_listed(tmp_path, trained, n, processes):
    place, reported = maildir(tmp_path / "mail", n), []
    changes = {
        "1700000000.": lambda file: file.rename(place / "cur" / f"{file.name}:2,S"),
        "1700000003.": lambda file: file.rename(place / "cur" / f"{file.name}:2,ST"),
        "1700000006.": lambda file: file.unlink(),
        "1700000009.": lambda file: file.write_bytes(b""),
        "1700000012.": lambda file: (file.unlink(), os.mkfifo(file)),
    }
    before = [found.name for found in read_mail(place, problems=lambda _: None)]
    given = while_it_is_read(list_messages(place, problems=reported.append), changes)
    names = [Path(name).name for name, _ in trained.classify_all(given, processes)]
    expected = [Path(name).name for name in before]
    expected[0] += ":2,S"
    assert names == [name for name in expected if not name.startswith(("1700000003.", "1700000006.", "1700000012."))]
    trashed, others = left_out(reported)
    assert trashed == 1 + sum(i % 3 != 0 and i % 4 == 1 for i in range(n))
    assert [(Path(name).name.partition(".")[0], reason) for name, reason in others] == [
        ("1700000006", "No such file or directory"),
        ("1700000012", "is a folder, a pipe or a device, not a file with a message"),
    ]


def test_a_worker_answers_for_files_and_messages_alike(tmp_path):
    box, gone = tmp_path / "box", tmp_path / "gone"
    box.write_bytes(STAMP + message(1) + b"\n" + STAMP + message(2))
    sent = [message(0), (str(box), False, None, False, False), (str(gone), False, 5.0, True, False), message(3)]
    found = read_chunk(sent, DEFAULT_OPTIONS, digests=True)
    assert found.digests == [compute_digest(message(i)) for i in range(4)]
    assert found.opened == {1: [(f"{box}:1", 100.0), (f"{box}:2", 100.0)], 2: []}
    assert found.problems == [(2, str(gone), "No such file or directory", 1, True)]


def test_labels_names_and_times_are_those_of_the_messages_that_files_turn_out_to_hold(tmp_path):
    (tmp_path / "one").write_bytes(message(1))
    (tmp_path / "two").write_bytes(STAMP + message(2) + b"\n" + STAMP + message(3))
    problems = []
    files = [MessageFile(str(tmp_path / name), False, 5.0, name != "two", False, 1, problems.append)
             for name in ("none", "one", "two")]  # fmt: skip
    given = [("ham", ("first", b"x")), *(("spam", each) for each in files), ("ham", RawMessage("last", b"y", 7.0))]
    [batch] = read_batches(given, 1)
    assert list(zip(batch.labels, batch.names, batch.times)) == [
        ("ham", "first", None), ("spam", str(tmp_path / "one"), 5.0), ("spam", f"{tmp_path / 'two'}:1", 100.0),
        ("spam", f"{tmp_path / 'two'}:2", 100.0), ("ham", "last", 7.0),
    ]  # fmt: skip
    assert [problem.name for problem in problems] == [str(tmp_path / "none")]


@pytest.mark.parametrize("gone", [1, 100])
def test_labels_stay_with_their_messages_when_the_last_files_of_a_chunk_hold_none(tmp_path, gone):
    """A chunk is a hundred files; were those still awaited that are gone, the next ones would have their labels."""
    files = {label: [tmp_path / label / f"{i:03}.eml" for i in range(100)] for label in ("ham", "spam")}
    for k, (label, paths) in enumerate(files.items()):
        (tmp_path / label).mkdir()
        for i, path in enumerate(paths):
            path.write_bytes(message(100 * k + i))
    given = [(label, each) for label in files for each in _mail(tmp_path / label)]
    for path in files["ham"][-gone:]:
        path.unlink()
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn_each(given, 1)
        assert {label: n for label, (n, _) in mail.store.totals().items() if n} == (
            {"ham": 99, "spam": 100} if gone == 1 else {"spam": 100}
        )


def test_a_maildir_whose_files_were_all_renamed_is_listed_once(tmp_path, trained, monkeypatch):
    place, listed, entries = maildir(tmp_path / "mail", FEW), [], message_files.list_maildir
    given = _mail(place)
    for file in list((place / "new").iterdir()):
        file.rename(place / "cur" / f"{file.name}:2,S")
    monkeypatch.setattr(message_files, "list_maildir", lambda folder: listed.append(folder) or entries(folder))
    names = [name for name, _ in trained.classify_all(given, 1)]
    assert sum(name.endswith("host:2,S") for name in names) > FEW // 3
    assert len(listed) == 1
