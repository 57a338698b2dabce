"""`deciban mail` reads its arguments in every form, refuses wrong ones, and loads no heavy library to do so."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from deciban.cli.mail.learn_mail import KEPT
from deciban.cli.mail.mail_inputs import load
from deciban.mail.store.store import Store
from tests.cli.mail_commands import mail, maildir, make_store, mbox, program, start_program
from tests.mail.spamds import make_message
from tests.thorough import thorough_beyond

UNWANTED = ("typer", "click", "pydantic", "rich", "numba", "asyncio")
"""Libraries that take long to load; scipy does too, and is for those who fit."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store, and mail that is new to it; some of it cannot be read."""
    folder = tmp_path_factory.mktemp("mail")
    make_store(folder)
    mbox(folder / "new.mbox", "spam", range(50, 53))
    maildir(folder / "New", "ham", range(60, 64))
    (folder / "a.eml").write_bytes(make_message("ham", 70))
    (folder / "b\x1b[2J.eml").write_bytes(make_message("ham", 71))
    (folder / "bad.db").write_bytes((folder / "mail.db").read_bytes()[:4096] + os.urandom(40_000))
    (folder / "odd").mkdir()
    (folder / "odd" / "c.eml").write_bytes(make_message("ham", 72))
    os.mkfifo(folder / "odd" / "pipe")
    (folder / "cut.mbox.gz").write_bytes(b"\x1f\x8b\x08\0" + bytes(20))
    return folder


def outcome(folder, place, command, *arguments):
    """The exit code and output of a call, and the content of a store of its own after it."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, copy_function=os.link, ignore=shutil.ignore_patterns("*.db*", "pipe"))
    os.mkfifo(place / "odd" / "pipe")
    for name in ("mail.db", "bad.db"):
        shutil.copy(folder / name, place / name)
    at = [argument.replace("HERE", str(place)) for argument in arguments]
    done = program(command, *at, stdin=make_message("spam", 3))
    out = done.stdout
    if command == "learn" and out:
        figures = json.loads(out)
        out = {name: figures[name] for name in figures if name != "seconds"}
    with Store(place / "mail.db", create=False) as held:
        return done.returncode, out, done.stderr, held.totals()


CALLS = [
    "learn --ham HERE/New --spam HERE/new.mbox --store HERE/mail.db",
    "learn --ham HERE/New HERE/a.eml --store=HERE/mail.db --json --no-fit",
    "learn --label work=HERE/New HERE/a.eml --label=home=HERE/new.mbox --store HERE/mail.db --subfolders --trashed",
    "learn --spam HERE/a.eml HERE/a.eml --ham HERE/a.eml --store HERE/mail.db",
    "learn --ham - --store HERE/mail.db",
    "learn --ham HERE/odd HERE/b\x1b[2J.eml --store HERE/mail.db",
    "learn --ham HERE/New HERE/none --store HERE/mail.db",
    "learn --ham HERE/cut.mbox.gz HERE/New --store HERE/mail.db",
    "learn --ham HERE/New --store HERE/bad.db",
    "learn --ham HERE/New --store HERE/a.eml",
    "learn --label unsure=HERE/New --store HERE/mail.db",
    "learn --ham imaps://joe:secret@example.org/A --store HERE/mail.db",
    "classify --store HERE/mail.db",
    "classify --store HERE/mail.db --json --top 3",
    "classify HERE/New HERE/a.eml HERE/a.eml --store HERE/mail.db",
    "classify --json HERE/new.mbox HERE/b\x1b[2J.eml HERE/odd --store HERE/mail.db --model bayes --top=2",
    "classify HERE/b\x1b[2J.eml - --store HERE/mail.db",
    "classify HERE/a.eml --store HERE/mail.db --model none",
    "classify HERE/a.eml HERE/none\x1b[2J --store HERE/mail.db",
    "classify HERE/cut.mbox.gz HERE/a.eml --store HERE/mail.db --json",
    "classify HERE/a.eml --store HERE/none.db",
    "classify HERE/a.eml --store HERE/bad.db",
]


@pytest.mark.parametrize("call", thorough_beyond(8, CALLS, "starts processes: two thirds of a second each"))
def test_each_call_has_an_outcome_in_words_and_options_may_be_ended_by_dashes(folder, tmp_path, call):
    plain = outcome(folder, tmp_path / "mail", *call.split(" "))
    assert plain == outcome(folder, tmp_path / "mail", *call.split(" "), "--")
    assert plain[1] or plain[2]
    assert b"Traceback" not in plain[2]


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("learn --ham a b --spam=c -", {"ham": ["a", "b"], "spam": ["c", "-"]}),
        ("learn --ham a --ham=b --store=s --json", {"ham": ["a", "b"], "store": "s", "json": True}),
        ("learn --label w=a b --label=v=c d", {"label": [["w=a", "b"], ["v=c", "d"]]}),
        ("classify a --json b --top=3", {"paths": ["a", "b"], "json": True, "top": 3}),
        ("classify --store s -", {"paths": ["-"], "store": "s"}),
        ("classify -- -a", {"paths": ["-a"]}),
        ("classify --model m --model=n", {"paths": [], "model": "n", "top": 5, "debug": False}),
        ("relabel a --to ham b", {"paths": ["a", "b"], "to": "ham"}),
        ("watch --ham a --ham b --junk c", {"ham": ["a", "b"], "junk": ["c"], "every": 30.0}),
        ("export", {"file": "-"}),
        ("set --half-life none --spam-at 0.9", {"half_life": "none", "spam_at": 0.9}),
    ],
)
def test_options_are_read_in_every_form(call, values):
    name, *words = call.split(" ")
    read = load(name, words).keywords
    assert {key: read[key] for key in values} == values


@pytest.mark.parametrize(
    "call",
    [
        "nothing", "--nothing", "learn", "learn --json", "learn --ham", "learn --ham --json", "learn --label work",
        "learn --label =a", "learn a --ham b", "learn --ham a --json b", "learn --ham -x", "learn --jso --ham a",
        "learn --ham a --model bayes", "learn --ham a --store", "classify --top -1 a", "classify --top x a",
        "classify -x", "classify --json=1 a", "classify --top a", "status a", "relabel a", "backup", "merge",
        "backup a b", "evaluate --model oracle", "evaluate --folds 1 --ham a --spam b", "evaluate --ham a",
        "evaluate --split 1/2 --ham a --spam b", "set", "set --half-life long", "set --spam-at x",
        "serve --spamd a --seconds nan", "watch --ham a", "watch --ham a --junk b --every 0",
    ],
)  # fmt: skip
def test_wrong_usage_is_refused_with_the_usage_and_the_reason(call, tmp_path, monkeypatch):
    monkeypatch.setenv("DECIBAN_MAIL", str(tmp_path / "mail.db"))
    result = mail(*call.split())
    assert result.exit_code == (3 if call.startswith("classify") else 2)
    assert result.stderr.startswith("Usage: deciban mail ")
    assert "\nError: " in result.stderr
    assert not (tmp_path / "mail.db").exists()


def test_patterns_become_files_where_shells_leave_them(monkeypatch, tmp_path):
    for name in ("a.eml", "b.eml"):
        (tmp_path / name).touch()
    monkeypatch.setattr("sys.platform", "win32")
    assert sorted(load("classify", [str(tmp_path / "*.eml")]).keywords["paths"]) == [
        str(tmp_path / "a.eml"),
        str(tmp_path / "b.eml"),
    ]


@pytest.mark.parametrize(
    "call",
    [
        "classify --store HERE/mail.db", "classify HERE/New HERE/a.eml --store HERE/mail.db",
        "classify HERE/New --json --store HERE/mail.db", "classify HERE/none --store HERE/mail.db",
        "classify HERE/New --store HERE/none.db", "learn --ham HERE/ham.mbox --store HERE/mail.db",
        "learn --spam HERE/Junk --store HERE/mail.db --json", "learn --ham HERE/none --store HERE/mail.db",
        "learn --ham HERE/ham.mbox --spam HERE/Junk --store HERE/fitted-STAMP.db", "classify --top x",
    ],
)  # fmt: skip
def test_no_heavy_library_is_loaded_for_a_few_messages(folder, tmp_path, call):
    words = call.replace("HERE", str(folder)).replace("STAMP", tmp_path.name).split()
    code = (
        "import os, sys\nfrom deciban.cli.main import main\n"
        f"sys.argv, os._exit = ['deciban', 'mail', *{words!r}], sys.exit\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {(*UNWANTED, *(() if 'fitted' in call else ('scipy',)))!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], input=make_message("ham", 5), capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


@pytest.mark.parametrize("call", ["learn --spam - --store HERE/own.db", "classify - --store HERE/mail.db"])
def test_ctrl_c_ends_a_command_with_a_message(folder, call):
    process = start_program(*call.replace("HERE", str(folder)).split())
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    left = "nothing was changed" if "classify" in call else KEPT
    assert (process.returncode, out, err.decode()) == (130, b"", f"interrupted: {left}\n")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize(
    "call", ["learn --ham HERE/New --store HERE/own.db", "classify HERE/New --store HERE/mail.db"]
)
def test_a_reader_who_leaves_early_has_an_exit_code(folder, call, stream):
    words = call.replace("HERE", str(folder)).split()
    if stream == "stdout" and "learn" in call:
        words.insert(1, "--json")
    process = start_program(*words)
    getattr(process, stream).close()
    setattr(process, stream, None)
    out, err = process.communicate(timeout=60)
    printed = stream == "stderr" and "classify" in call  # verdicts, then the summary for which there is no reader
    assert (process.returncode, bool(out), err or b"") == (141, printed, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("learn --json --ham HERE/New --store HERE/own.db", 1),
        ("classify HERE/New --store HERE/mail.db", 3),
        ("status --json --store HERE/mail.db", 1),
    ],
)
def test_a_full_disk_is_an_error(folder, call, code):
    with open("/dev/full", "wb") as full:
        process = start_program(*call.replace("HERE", str(folder)).split(), stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"No space left on device" in err
