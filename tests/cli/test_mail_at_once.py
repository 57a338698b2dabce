"""The quick way of `deciban mail`, which loads nothing that reads options, says and does what the long way does."""

import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.mailroom import mail, maildir, mbox, program, started, taught
from tests.mail.spamds import letter

from deciban.cli.mail import classify, learn
from deciban.cli.mail import classify_many as many
from deciban.cli.mail import classify_one as one
from deciban.cli.mail import filter as filtering
from deciban.cli.mail import filter_message as passing
from deciban.cli.mail import learn_messages as learning
from deciban.cli.mail.at_once import at_once
from deciban.mail.store.store import Store

UNWANTED = ("typer", "click", "pydantic", "rich", "numba", "asyncio")
"""Libraries that take long to load; scipy does too, and is for those who fit."""

LONG = "--"
"""Ends the options, where there are no more: nothing but a call that the quick way leaves to the long one."""

GIVEN = {
    "learn": ["--ham a", "--ham a b", "--spam=a -", "--label w=a b", "--label=w=a", "--label=ham=a", "--no-fit"],
    "classify": ["a", "-", "a b", "--model m", "--model=n", "--top 3", "--top=0", "--json"],
    "filter": ["--model m", "--model=n"],
}
"""What each command may be given."""

EVERY = ["--store s", "--store=t", "--json", "--subfolders", "--trashed"]
WRONG = [
    "", "--", "a", "-x", "-1", "=", "PATH=a", "--ham", "--ham=", "--ham=-x", "--ham -x", "--ham --json", "--label w",
    "--label=", "--store", "--store=", "--store -x", "--json=1", "--top x", "--top -1", "--top ٣", "--top=",
    "--debug", "--help", "--jso", "--top 99999999999",
]  # fmt: skip
"""What is wrong, or looks so: in parts, as an empty one is a word too."""


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A store, and mail that is new to it; some of it cannot be read."""
    folder = tmp_path_factory.mktemp("mail")
    taught(folder)
    mbox(folder / "new.mbox", "spam", range(50, 53))
    maildir(folder / "New", "ham", range(60, 64))
    (folder / "a.eml").write_bytes(letter("ham", 70))
    (folder / "b\x1b[2J.eml").write_bytes(letter("ham", 71))
    (folder / "bad.db").write_bytes((folder / "mail.db").read_bytes()[:4096] + os.urandom(40_000))
    (folder / "odd").mkdir()
    (folder / "odd" / "c.eml").write_bytes(letter("ham", 72))
    os.mkfifo(folder / "odd" / "pipe")
    (folder / "cut.mbox.gz").write_bytes(b"\x1f\x8b\x08\0" + bytes(20))
    return folder


def outcome(room, place, command, *arguments):
    """All that a call says, and what a store of its own holds after it."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(room, place, copy_function=os.link, ignore=shutil.ignore_patterns("*.db*", "pipe"))
    os.mkfifo(place / "odd" / "pipe")
    for name in ("mail.db", "bad.db"):
        shutil.copy(room / name, place / name)
    at = [argument.replace("HERE", str(place)) for argument in arguments]
    done = program(command, *at, stdin=letter("spam", 3))
    out = done.stdout
    if command == "learn" and out:
        told = json.loads(out)
        out = {name: told[name] for name in told if name != "seconds"}
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


@pytest.mark.parametrize("call", CALLS)
def test_the_quick_way_and_the_long_way_say_and_do_the_same(room, tmp_path, call):
    quick = outcome(room, tmp_path / "mail", *call.split(" "))
    long = outcome(room, tmp_path / "mail", *call.split(" "), LONG)
    assert quick == long
    assert quick[1] or quick[2]
    assert b"Traceback" not in quick[2]


def recorded(monkeypatch):
    """What the commands would do, instead of doing it."""
    done = []

    def record(what):
        bound = inspect.signature(what)

        def instead(*arguments, **options):
            asked = bound.bind(*arguments, **options)
            asked.apply_defaults()
            done.append((what.__name__, asked.arguments))
            return 0

        return instead

    for what, places in {
        learning.learn: (learning, learn), many.judge_all: (many, classify), one.judge: (one, classify),
        passing.pass_judged: (passing, filtering),
    }.items():  # fmt: skip
        instead = record(what)
        for place in places:
            monkeypatch.setattr(place, what.__name__, instead)
    return done


@pytest.mark.parametrize("call", CALLS)
def test_usual_calls_go_the_quick_way(monkeypatch, call):
    done = recorded(monkeypatch)
    assert at_once(call.split(" ")) == 0
    assert len(done) == 1
    assert at_once([*call.split(" "), LONG]) is None


right = st.sampled_from(sorted(GIVEN)).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(st.sampled_from([*GIVEN[name], *EVERY]), min_size=1, max_size=5))
)


def assert_read_the_same(command, *parts):
    """Unless the quick way leaves it to the long one."""
    words = [word for part in parts for word in part.split(" ")]
    with pytest.MonkeyPatch.context() as patched:
        done = recorded(patched)
        if at_once([command, *words]) is None:
            assert done == []
            return
        assert mail(command, *words).exit_code == 0, words
    quick, long = done
    assert quick == long


@given(right)
def test_whatever_the_quick_way_takes_upon_itself_the_long_way_would_read_the_same(call):
    command, parts = call
    assert_read_the_same(command, *parts)


@pytest.mark.parametrize("command", GIVEN)
def test_the_quick_way_takes_nothing_upon_itself_that_the_long_way_would_refuse(command):
    for wrong, right in product(WRONG, GIVEN[command]):
        assert_read_the_same(command, right, wrong)
        assert_read_the_same(command, wrong, right)


@pytest.mark.parametrize(
    "call",
    [
        "learn", "learn --json", "learn --ham", "learn --ham --json", "learn --label work", "learn --label =a",
        "learn a --ham b", "learn --ham a --json b", "learn --ham a --", "learn --ham -x", "learn --ham=",
        "learn --ham a --debug", "learn --ham a --help", "learn --ham a --model bayes", "learn --ham a --store",
        "classify --top -1 a", "classify --top x a", "classify -x", "classify -- a", "classify --json=1 a",
        "classify --debug a", "classify --help", "filter a", "filter --json", "status", "unlearn a", "",
    ],
)  # fmt: skip
def test_what_is_not_quite_right_is_left_to_who_can_say_what_is_wrong(monkeypatch, call):
    done = recorded(monkeypatch)
    assert at_once(call.split()) is None
    assert done == []


def test_paths_are_left_to_who_knows_patterns_where_shells_do_not(monkeypatch):
    done = recorded(monkeypatch)
    monkeypatch.setattr("deciban.cli.mail.at_once.os.name", "nt")
    assert at_once(["learn", "--ham", "*.eml"]) is at_once(["classify", "*.eml"]) is None
    assert done == []


@pytest.mark.parametrize(
    "call",
    [
        "classify --store HERE/mail.db", "classify HERE/New HERE/a.eml --store HERE/mail.db",
        "classify HERE/New --json --store HERE/mail.db", "classify HERE/none --store HERE/mail.db",
        "classify HERE/New --store HERE/none.db", "learn --ham HERE/ham.mbox --store HERE/mail.db",
        "learn --spam HERE/Junk --store HERE/mail.db --json", "learn --ham HERE/none --store HERE/mail.db",
        "learn --ham HERE/ham.mbox --spam HERE/Junk --store HERE/fitted-STAMP.db",
    ],
)  # fmt: skip
def test_the_quick_way_loads_no_library_that_reads_options(room, tmp_path, call):
    words = call.replace("HERE", str(room)).replace("STAMP", tmp_path.name).split()
    code = (
        "import os, sys\nfrom deciban.cli.main import main\n"
        f"sys.argv, os._exit = ['deciban', 'mail', *{words!r}], sys.exit\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {(*UNWANTED, *(() if 'fitted' in call else ('scipy',)))!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], input=letter("ham", 5), capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


@pytest.mark.parametrize("more", [[], [LONG]], ids=["quick", "long"])
@pytest.mark.parametrize("call", ["learn --spam - --store HERE/own.db", "classify - --store HERE/mail.db"])
def test_ctrl_c_ends_both_ways_alike(room, call, more):
    process = started(*call.replace("HERE", str(room)).split(), *more)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    left = "nothing was changed" if "classify" in call else learning.KEPT
    assert (process.returncode, out, err.decode()) == (130, b"", f"interrupted: {left}\n")


@pytest.mark.parametrize("more", [[], [LONG]], ids=["quick", "long"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize(
    "call", ["learn --ham HERE/New --store HERE/own.db", "classify HERE/New --store HERE/mail.db"]
)
def test_a_reader_who_leaves_early_ends_both_ways_alike(room, call, stream, more):
    words = [*call.replace("HERE", str(room)).split(), *more]
    if stream == "stdout" and "learn" in call:
        words.insert(1, "--json")
    process = started(*words)
    getattr(process, stream).close()
    setattr(process, stream, None)
    out, err = process.communicate(timeout=60)
    heard = stream == "stderr" and "classify" in call  # which has nothing to say there
    assert (process.returncode, bool(out), err or b"") == (0 if heard else 141, heard, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "call", ["learn --json --ham HERE/New --store HERE/own.db", "classify HERE/New --store HERE/mail.db"]
)
def test_a_full_disk_ends_both_ways_alike(room, call):
    ends = []
    for more in ([], [LONG]):
        with open("/dev/full", "wb") as full:
            process = started(*call.replace("HERE", str(room)).split(), *more, stdout=full)
            ends.append((process.communicate(timeout=60)[1], process.returncode))
    assert ends[0] == ends[1]
    assert b"No space left on device" in ends[0][0]
