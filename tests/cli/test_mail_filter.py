"""`deciban mail filter`: a message passes whatever happens, byte for byte."""

import fcntl
import io
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from deciban.cli.mail.classify_mail import IsolatedError, run_isolated
from deciban.cli.mail.commands import run
from tests.cli.mail_commands import command, has_verdict_header, make_store, program, start_program
from tests.mail.spamds import make_message

NEW = make_message("spam", 1000)
HEADER = re.compile(rb"X-Deciban: (\w+); p=0\.\d{4,10}; evidence=[+-]\d+\.\ddB; top=\S+\r?\n")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("mail"))


def passed(raw, store, *more):
    """Return the output; the exit code must be 0."""
    result = program("filter", "--store", store, *more, stdin=raw)
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr.decode()


@pytest.mark.parametrize("label", ["ham", "spam"])
def test_the_header_says_what_the_message_is_and_all_else_is_as_it_was(store, label):
    raw = make_message(label, 1001)
    out, err = passed(raw, store)
    found = HEADER.match(out)
    assert found
    assert found[1] == label.encode()
    assert out[found.end() :] == raw
    assert err == ""


def test_lines_that_end_in_crlf_stay_so_and_the_header_ends_in_one(store):
    raw = make_message("spam", 1002, newline="\r\n")
    out, _ = passed(raw, store)
    assert HEADER.match(out)[0].endswith(b"\r\n")
    assert has_verdict_header(raw, out)


def test_a_header_that_came_with_the_message_is_replaced(store):
    out, _ = passed(b"X-Deciban: ham; p=0.0000\nx-deciban-more: a\n\tb\n" + NEW, store)
    assert has_verdict_header(NEW, out)


def test_the_line_that_mailboxes_begin_messages_with_stays_first(store):
    envelope = b"From joe@example.org Mon Jan  1 10:00:00 2024\n"
    out, _ = passed(envelope + NEW, store)
    assert out.startswith(envelope + b"X-Deciban: spam")
    assert has_verdict_header(NEW, out.removeprefix(envelope))


def corrupt(store, tmp_path):
    bad = tmp_path / "bad.db"
    bad.write_bytes(store.read_bytes()[:4096] + os.urandom(store.stat().st_size - 4096))
    return bad


def no_database(store, tmp_path):
    bad = tmp_path / "bad.db"
    bad.write_bytes(b"not a database at all" * 100)
    return bad


def truncated(store, tmp_path):
    bad = tmp_path / "bad.db"
    bad.write_bytes(store.read_bytes()[:5000])
    return bad


def later_schema(store, tmp_path):
    bad = shutil.copy(store, tmp_path / "bad.db")
    with sqlite3.connect(bad) as db:
        db.execute("PRAGMA user_version = 99")
    return bad


def another_reading(store, tmp_path):
    bad = shutil.copy(store, tmp_path / "bad.db")
    with sqlite3.connect(bad) as db:
        db.execute("UPDATE setting SET value = '\"another\"' WHERE key = 'reading'")
    return bad


def another_program(store, tmp_path):
    bad = tmp_path / "bad.db"
    with sqlite3.connect(bad) as db:
        db.execute("CREATE TABLE a (b)")
    return bad


def absent(store, tmp_path):
    return tmp_path / "none" / "mail.db"


def folder(store, tmp_path):
    return tmp_path


BAD = [absent, folder, corrupt, no_database, truncated, later_schema, another_reading, another_program]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_a_store_that_cannot_be_used_leaves_the_message_as_it_came(store, tmp_path, bad):
    out, err = passed(NEW, bad(store, tmp_path))
    assert out == NEW
    assert err.startswith("error: ")
    assert err.endswith("The message was passed on as it came.\n")
    assert "Traceback" not in err


def test_an_absent_store_is_not_made_by_classifying(tmp_path):
    passed(NEW, tmp_path / "mail.db")
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_may_only_be_read_classifies_all_the_same(store, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    shutil.copy(store, kept / "mail.db")
    (kept / "mail.db").chmod(0o400)
    kept.chmod(0o500)
    try:
        out, err = passed(NEW, kept / "mail.db")
    finally:
        kept.chmod(0o700)
    assert has_verdict_header(NEW, out), err


def test_a_full_disk_lets_the_message_pass(store):
    """No file may grow: what judging would like to write beside the store cannot be."""
    resource = pytest.importorskip("resource")
    process = subprocess.run(
        command("filter", "--store", store), input=NEW, capture_output=True, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )  # fmt: skip
    assert process.returncode == 0
    assert process.stdout == NEW or has_verdict_header(NEW, process.stdout)


@pytest.mark.parametrize("size", [25, 35, 60, 90, 110, 120, 130, 140, 150, 160])
def test_however_little_memory_there_is_the_message_passes_once(store, size):
    """Python runs; what judging loads may not fit, wherever the memory ends."""
    process = with_little_memory(size, "filter", "--store", store)
    assert process.returncode == 0, process.stderr
    assert process.stdout == NEW or has_verdict_header(NEW, process.stdout)
    assert process.stdout != NEW or b"The message was passed on as it came." in process.stderr


@pytest.mark.parametrize("size", [25, 60, 90, 110, 130, 160])
def test_however_little_memory_there_is_no_verdict_is_made_up(store, size):
    """A library that gives up ends its process with 1, which would mean ham."""
    process = with_little_memory(size, "classify", "--store", store)
    assert process.returncode == (0 if process.stdout else 3)


def with_little_memory(megabytes, *arguments):
    resource = pytest.importorskip("resource")
    return subprocess.run(
        command(*arguments), input=NEW, capture_output=True, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20)),
    )  # fmt: skip


def test_a_filter_that_cannot_even_be_loaded_passes_the_message(capfdbinary, monkeypatch, tmp_path):
    (tmp_path / "message").write_bytes(NEW * 100)
    monkeypatch.setitem(sys.modules, "deciban.cli.mail.classify_mail", None)
    before = os.dup(0)
    with (tmp_path / "message").open("rb") as message:
        os.dup2(message.fileno(), 0)
        try:
            assert run(["filter", "--store", "none.db"]) == 0
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert capfdbinary.readouterr().out == NEW * 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_who_classifies_does_nothing_else_whatever_happens_to_it(monkeypatch, tmp_path):
    """Not even where an error cannot be put into words: it must not go on as the one who asked."""
    monkeypatch.setattr("deciban.cli.mail.classify_mail.describe_error", None)

    def ask():
        try:
            run_isolated(lambda: 1 / 0)
        finally:
            (tmp_path / str(os.getpid())).touch()

    with pytest.raises(IsolatedError, match="classifying was cut short"):
        ask()
    assert [path.name for path in tmp_path.iterdir()] == [str(os.getpid())]


def test_a_store_that_somebody_is_writing_classifies_all_the_same(store, tmp_path):
    busy = shutil.copy(store, tmp_path / "busy.db")
    with sqlite3.connect(busy, isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM token")
        out, err = passed(NEW, busy)
    assert has_verdict_header(NEW, out), err


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
def test_a_store_that_is_held_by_somebody_alone_is_waited_for_and_then_the_message_passes(store, tmp_path):
    held = shutil.copy(store, tmp_path / "held.db")
    db = sqlite3.connect(held, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN EXCLUSIVE")
    begun = time.monotonic()
    out, err = passed(NEW, held)
    assert time.monotonic() - begun < 60
    assert out == NEW
    assert "being written by another program" in err


@pytest.mark.parametrize(
    "raw",
    [
        os.urandom(50_000),
        b"\0" * 1000,
        bytes(range(256)),
        b"\r" * 5000,
        b"\n",
        b"no header at all",
        b"Subject: \xff\xfe\xfd\n\n\x80",
        b"From ",
        b":" * 3000 + b"\n\n",
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" * 300,
    ],
    ids=["noise", "zeros", "all bytes", "returns", "a line", "no header", "8 bit", "From", "colons", "parts"],
)
def test_any_bytes_pass_and_have_a_header(store, raw):
    out, err = passed(raw, store)
    assert has_verdict_header(raw, out) or out.startswith(b"From "), err
    assert len(out) > len(raw)


def test_nothing_passes_as_nothing(store):
    assert passed(b"", store) == (b"", "")


def test_a_message_of_20_megabytes_passes_whole(store):
    raw = b"Subject: large\n\n" + os.urandom(20_000_000)
    out, _ = passed(raw, store)
    assert has_verdict_header(raw, out)


def test_wrong_usage_passes_the_message_too(store):
    out, err = passed(NEW, store, "--no-such-option")
    assert out == NEW
    assert re.fullmatch(r"error: .*--no-such-option.*\nThe message was passed on as it came\.\n", err)


def test_a_model_that_does_not_exist_passes_the_message_too(store):
    out, err = passed(NEW, store, "--model", "oracle")
    assert out == NEW
    assert "oracle" in err


def test_an_error_escapes_the_characters_that_a_terminal_would_obey(store, tmp_path, monkeypatch, capsys):
    assert b"\x1b" not in program("filter", "--store", store, "a\x1b[2J", stdin=NEW).stderr

    def fail(*_, **__):
        raise FileNotFoundError(2, "No such file", "a\x1b[2J")

    monkeypatch.setattr("deciban.cli.mail.classify_mail.insert_verdict", fail)
    monkeypatch.setattr("deciban.cli.mail.classify_mail.classify_stdin", fail)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(NEW)))
    assert run(["filter", "--store", str(store)]) == 0
    with pytest.raises(SystemExit, match="3"):
        run(["classify", "--store", str(store)])
    monkeypatch.setattr("deciban.cli.mail.mail_inputs.load", fail)  # as if there were no memory to load anything
    assert run(["classify", "--store", str(store)]) == 3
    text = capsys.readouterr().err
    assert text.count("No such file") == 3
    assert "\x1b" not in text


def test_with_debug_the_error_is_shown_where_it_happened_and_the_message_passes(tmp_path):
    out, err = passed(NEW, tmp_path / "none.db", "--debug")
    assert out == NEW
    assert "Traceback" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_while_classifying_lets_the_message_pass_as_it_came(store, tmp_path, number):
    """The store is held, so that judging goes on while the signal comes."""
    held = shutil.copy(store, tmp_path / "held.db")
    db = sqlite3.connect(held, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN EXCLUSIVE")
    process = start_program("filter", "--store", held)
    process.stdin.write(NEW)
    process.stdin.close()
    process.stdin = None
    time.sleep(1)
    process.send_signal(number)
    sent = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < 3.5  # the lock is waited for 5 s
    assert (process.returncode, out) == (0, NEW)
    assert f"error: ended by {number.name}".encode() in err


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's list of children")
def test_classifying_that_is_killed_lets_the_message_pass_as_it_came(store, tmp_path):
    held = shutil.copy(store, tmp_path / "held.db")
    db = sqlite3.connect(held, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN EXCLUSIVE")
    process = start_program("filter", "--store", held)
    process.stdin.write(NEW)
    process.stdin.close()
    process.stdin = None
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (child := children.read_text().split()):
        time.sleep(0.01)
    os.kill(int(child[0]), signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, NEW)
    assert err.startswith(b"error: classifying was cut short")


def test_signals_to_all_processes_at_any_moment_pass_the_message_once_or_ask_to_try_again(store):
    """As a terminal or a supervisor sends them: to the one who judges and to the one who waits."""
    for wait in (0.03, 0.06, 0.09, 0.12, 0.15, 0.2):
        process = start_program("filter", "--store", store, start_new_session=True)
        process.stdin.write(NEW)
        process.stdin.close()
        process.stdin = None
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        assert out == NEW or has_verdict_header(NEW, out) or (out == b"" and process.returncode != 0)


def test_a_signal_before_the_message_has_come_gives_nothing_and_asks_to_try_again(store):
    process = start_program("filter", "--store", store)
    process.stdin.write(NEW[:20])
    process.stdin.flush()
    while fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) != bytes(4):  # until it has read what there is
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (75, b"")
    assert b"could not be read: ended by SIGTERM" in err


def test_a_killed_filter_has_passed_nothing_or_all(store):
    """Whoever sees the exit code keeps the message."""
    for wait in (0.02, 0.1, 0.2):
        process = start_program("filter", "--store", store)
        process.stdin.write(NEW)
        process.stdin.close()
        process.stdin = None
        time.sleep(wait)
        process.kill()
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0 or out == b"" or has_verdict_header(NEW, out)


def test_an_output_that_cannot_be_written_asks_to_try_again(store):
    with open("/dev/full", "wb") as full:
        process = start_program("filter", "--store", store, stdout=full)
        _, err = process.communicate(NEW * 500, timeout=60)
    assert process.returncode == 75
    assert b"could not be passed on" in err


def test_a_reader_who_left_is_stated_by_the_exit_code(store):
    process = start_program("filter", "--store", store)
    process.stdout.close()
    process.stdout = None
    process.communicate(NEW * 500, timeout=60)
    assert process.returncode == 75


CLOSED = {"output": (1,), "output and errors": (1, 2), "input": (0,), "input and output": (0, 1), "all": (0, 1, 2)}


def with_closed(descriptors, *arguments, full=False):
    """The exit code and the words of a command that is started with some of its standard streams closed."""

    def prepare():
        if full:
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        for descriptor in descriptors:
            os.close(descriptor)

    done = subprocess.run(
        command(*arguments), input=NEW, capture_output=True, timeout=60, check=False, preexec_fn=prepare
    )
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("more", [[], ["--no-such-option"], ["--model", "oracle"]], ids=["right", "wrong", "odd"])
@pytest.mark.parametrize("closed", CLOSED)
def test_a_closed_stream_asks_to_try_again(store, closed, more):
    code, out, err = with_closed(CLOSED[closed], "filter", "--store", store, *more)
    assert (code, out) == (75, b"")
    assert ("could not be" in err and "Traceback" not in err) or 2 in CLOSED[closed]


def test_a_closed_output_asks_to_try_again_though_the_filter_cannot_even_be_loaded(monkeypatch, tmp_path):
    """The plainest way of passing a message on has no other stream to write to either."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['deciban.cli.mail.classify_mail'] = None")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    assert with_closed((1,), "filter", "--store", "none.db") == (75, b"", "")


@pytest.mark.parametrize("closed", ["output", "input", "all"])
def test_a_verdict_that_cannot_be_written_is_none(store, closed):
    code, out, err = with_closed(CLOSED[closed], "classify", "--store", store)
    assert (code, out) == (3, b"")
    assert err.startswith("error: standard input or standard output is closed") or closed == "all"
    assert "Traceback" not in err
    assert "Exception ignored" not in err
