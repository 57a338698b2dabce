"""Files that are not mail are refused, or left out of folders and counted; mail passes, whatever headers it has."""

import gzip
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
from benchmarks import data

import deciban.mail
from deciban.mail.sources.file_recognition import NotMailError, extract_emlx, is_message
from deciban.mail.sources.message_sources import list_messages, read_mail, source_kind
from tests.cli.mail_commands import mail
from tests.mail.spamds import make_message

OTHERS = {
    "photo.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "photo.jpg": b"\xff\xd8\xff\xe0" + bytes(100),
    "photo": b"GIF89a" + bytes(100),
    "photo.bmp": b"BM6\x00\x0c\x00" + bytes(100),
    "noise.bin": bytes(range(256)) * 20,
    "paper.pdf": b"%PDF-1.7\n",
    "letter.msg": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "outlook.pst": b"!BDN" + bytes(600),
    "table.csv": b"from,to,subject\nann,bob,tea\n",
    "table.tsv": b"date:\t1\nvalue:\t2\n",
    "data.json": b'{"from": "ann",\n "subject": "tea"}\n',
    "script.py": Path(deciban.mail.__file__).with_name("filter.py").read_bytes(),
    "script": b"#!/bin/sh\necho hello\n",
    "late.py": b"\n\nimport os\nx: int = 3\n",
    "else.py": b"else:\n    pass\n",
    "site.yml": b"name: ci\non: push\n\njobs:\n  x: 1\n",
    "front.md": b"---\ntitle: x\ndate: 2024-01-01\n---\n\nText.\n",
    "links": b"http://a.example/\nhttp://b.example/\n",
    "page.html": b"<!DOCTYPE html>\n<html></html>\n",
    "names.cpp": b"std::string name;\n\nint main() {}\n",
    "notes.txt": b"Dear diary,\n\ntoday: nothing.\n",
    "list.txt": b"milk\neggs\n",
}
MAIL = {
    "plain": b"From: a@b.example\nSubject: tea\n\nAt four?\n",
    "upper.txt": b"SUBJECT: TEA\n\nAT FOUR?\n",
    "no-subject": b"Message-ID: <1@b.example>\n\nAt four?\n",
    "received only": b"Received: from a by b;\n\tMon, 1 Jan 2024 10:00:00 +0000\n\nAt four?\n",
    "only unusual headers": b"X-Tea: green\nFoo-Bar: baz\n\nAt four?\n",
    "unknown headers": b"Betreff: Tee\nVon: Anna\n\nUm vier?\n",
    "headers alone": b"Betreff: Tee\nVon: Anna",
    "crlf": b"Betreff: Tee\r\nVon: Anna\r\n\r\nUm vier?\r\n",
    "spaces": b"Subject : tea\n\nAt four?\n",
    "empty lines first": b"\n\nSubject: tea\n\nAt four?\n",
    "a line before": b"mail of ann\nSubject: tea\nFrom: ann\n\nAt four?\n",
    "mark": b"\xef\xbb\xbfSubject: tea\n\nAt four?\n",
    "utf-16": "Subject: tea\n\nAt four?\n".encode("utf-16"),
    "mail.py": b"From: a@b.example\nSubject: tea\n\nimport os\n",
    "body.eml": b"Just a body, without any header.\n",
    "binary body": b"Subject: x\n\n" + bytes(range(256)),
    "latin": "Subject: café\n\nÀ quatre heures ?\n".encode("latin-1"),
    "envelope": b"From ann@b.example Mon Jan  1 10:00:00 2024\nSubject: tea\n\nAt four?\n",
}


def write(folder, files):
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_that_is_not_mail_is_refused_and_the_error_names_it(tmp_path, name):
    (tmp_path / name).write_bytes(OTHERS[name])
    with pytest.raises(NotMailError, match=r"is (?:not mail|an? )") as caught:
        source_kind(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert str(caught.value).isprintable()
    with pytest.raises(NotMailError):
        list(read_mail(tmp_path / name))


@pytest.mark.parametrize("name", MAIL)
def test_mail_without_the_usual_headers_is_mail(tmp_path, name):
    folder = write(tmp_path / "mail", {name: MAIL[name]})
    for path in (folder, folder / name):
        (found,) = read_mail(path)
        assert found.raw == MAIL[name].removeprefix(b"From ann@b.example Mon Jan  1 10:00:00 2024\n")


def test_files_that_are_not_mail_are_left_out_of_a_folder_each_with_its_reason(tmp_path):
    reported = []
    folder = write(tmp_path / "mail", {**OTHERS, **MAIL, "large.csv": b"a,b\n" * 200_000})
    found = {os.path.basename(message.name) for message in read_mail(folder, problems=reported.append)}
    assert found == set(MAIL)
    assert {os.path.basename(problem.name) for problem in reported} == {*OTHERS, "large.csv"}
    assert not any(problem.is_mail for problem in reported)


def test_files_of_a_maildir_are_mail_whatever_they_begin_with(tmp_path):
    for part in ("cur", "new", "tmp"):
        (tmp_path / "Maildir" / part).mkdir(parents=True)
    (tmp_path / "Maildir/new/1.host").write_bytes(b"no header at all\n")
    assert [found.raw for found in read_mail(tmp_path / "Maildir")] == [b"no header at all\n"]
    assert len(list(list_messages(tmp_path / "Maildir"))) == 1
    assert [found.raw for found in read_mail(tmp_path / "Maildir/new")] == [b"no header at all\n"]


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_within_gzip_is_looked_at_too(tmp_path, packed):
    for name, content in (("table.csv", OTHERS["table.csv"]), ("mail", MAIL["plain"])):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    with pytest.raises(NotMailError):
        source_kind(tmp_path / "table.csv.gz")
    assert source_kind(tmp_path / "mail.gz") == "message"


def test_archives_are_refused_with_a_way_out(tmp_path):
    with zipfile.ZipFile(tmp_path / "mail.zip", "w") as archive:
        archive.writestr("1.eml", MAIL["plain"])
    with tarfile.open(tmp_path / "mail.tar", "w") as archive:
        (tmp_path / "1.eml").write_bytes(MAIL["plain"])
        archive.add(tmp_path / "1.eml")
    for name in ("mail.zip", "mail.tar"):
        with pytest.raises(NotMailError, match="Hint: unpack it"):
            source_kind(tmp_path / name)
    (tmp_path / "mail.mbox.gz").write_bytes(gzip.compress(gzip.compress(MAIL["plain"])))
    with pytest.raises(NotMailError, match="is packed by gzip twice"):
        source_kind(tmp_path / "mail.mbox.gz")


def test_a_message_of_apple_mail_is_read_without_what_is_around_it(tmp_path):
    text = b"From: a@b.example\nSubject: tea\n\nAt four?\n"
    folder = write(
        tmp_path / "Messages", {"1.emlx": b"%d      \n" % len(text) + text + b"<?xml version='1.0'?><plist/>\n"}
    )
    assert [found.raw for found in read_mail(folder)] == [text]
    assert [found.raw for found in read_mail(folder / "1.emlx")] == [text]
    assert extract_emlx(b"no number") == b"no number"


@pytest.mark.parametrize("command", ["classify", "learn", "evaluate", "explain", "unlearn"])
@pytest.mark.parametrize("name", ["photo.png", "table.csv", "script.py"])
def test_commands_refuse_a_file_that_is_not_mail_and_change_nothing(tmp_path, command, name):
    (tmp_path / name).write_bytes(OTHERS[name])
    store = tmp_path / "mail.db"
    (tmp_path / "a.eml").write_bytes(make_message("ham", 1))
    assert mail("learn", "--ham", tmp_path / "a.eml", "--store", store).exit_code == 0
    before = store.read_bytes()
    paths = {"learn": ["--ham"], "evaluate": ["--spam", tmp_path / "a.eml", "--ham"]}.get(command, [])
    result = mail(command, *paths, tmp_path / name, *([] if command == "evaluate" else ["--store", store]))
    assert result.exit_code == (3 if command == "classify" else 1)
    assert result.stderr.startswith(f"error: {tmp_path / name}: is ")
    assert store.read_bytes() == before


def test_commands_count_the_files_of_a_folder_that_are_not_mail(tmp_path):
    folder = write(tmp_path / "mail", {"1": make_message("ham", 1), **OTHERS})
    result = mail("learn", "--ham", folder, "--store", tmp_path / "mail.db")
    assert result.exit_code == 0
    assert "ham: 1 new" in result.stderr
    assert f"warning: left out {len(OTHERS)} files that are not mail: " in result.stderr
    assert f"… and {len(OTHERS) - 3} more" in result.stderr
    assert result.stderr.count("not mail") == 1
    result = mail("classify", folder, "--store", tmp_path / "mail.db")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    assert f"left out {len(OTHERS)} files that are not mail" in result.stderr


def test_a_folder_without_any_mail_is_an_error(tmp_path):
    folder = write(tmp_path / "src", {"script.py": OTHERS["script.py"], "table.csv": OTHERS["table.csv"]})
    result = mail("learn", "--ham", folder, "--store", tmp_path / "mail.db")
    assert result.exit_code == 1
    assert "there are no messages, but 2 files that are not mail. The first: " in result.stderr


def test_a_mail_system_may_hand_over_anything(tmp_path):
    for raw in (b"no header at all\n", b"\x89PNG"[1:], b"a,b\n1,2\n"):
        assert mail("learn", "--ham", "-", "--store", tmp_path / "mail.db", stdin=raw).exit_code == 0


@pytest.mark.corpus
@pytest.mark.thorough(reason="needs a corpus, and minutes")
@pytest.mark.parametrize("name", ["spamassassin.tar.gz", "enron1.tar.gz", "enron2.tar.gz"])
def test_every_message_of_the_corpora_is_mail(name):
    try:
        path = data.find_file(name)
    except data.DataMissingError as absent:
        pytest.skip(str(absent))
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and not member.name.endswith(("cmds", "Summary.txt")):
                assert is_message(archive.extractfile(member).read(), member.name), member.name
