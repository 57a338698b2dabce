"""Lines for cron, by the file that the document prints: their form, and their commands as cron runs them."""

import re
import shutil
import subprocess

import pytest

from deciban.mail.store.store import Store
from tests.mail.spamds import make_message
from tests.recipes.document import printed
from tests.recipes.homes import STORE, environment, label, messages

LINES = [line for line in printed("crontab -e").splitlines() if not line.startswith("#")]
DEBIANS = (
    shutil.which("crontab") and "dry run" in subprocess.run(["crontab", "-h"], capture_output=True, text=True).stderr
)
"""There `-n` takes a file to look at; elsewhere it means other things."""

FIELD = r"(?:\*(?:/\d+)?|\d+)"
ENTRY = re.compile(rf"({FIELD} {FIELD} {FIELD} {FIELD} {FIELD}) (.*)")


def commands():
    """The command of each line. A % would be a new line to cron, so there must be none."""
    entries = [ENTRY.fullmatch(line) for line in LINES]
    assert all(entry and "%" not in entry[2] for entry in entries)
    return [entry[2] for entry in entries]


def run(command, home):
    """Run by the shell, in the home, with the small environment of cron; return what it would mail to the user."""
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=home, env={**environment(home), "PATH": "/usr/bin:/bin"}, timeout=120,
        check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.skipif(not DEBIANS, reason="needs Debian's cron")
def test_cron_takes_the_file(tmp_path):
    file = tmp_path / "crontab"
    for text, taken in ((printed("crontab -e"), True), (printed("crontab -e", {"40 3 ": "40 24 "}), False)):
        file.write_text(text)
        done = subprocess.run(["crontab", "-n", file], capture_output=True, check=False)
        assert (done.returncode == 0) is taken, done.stderr


def test_what_is_moved_to_junk_is_learned_at_the_next_look(own):
    look = commands()[0]
    (own / "Maildir/new/1.host").write_bytes(make_message("spam", 100))
    assert run(look, own) == ""
    (own / "Maildir/new/1.host").rename(own / "Maildir/.Junk/new/1.host")
    assert "learned 1 as spam" in run(look, own)
    assert run(look, own) == ""
    assert label(own, make_message("spam", 100)) == "spam"
    assert messages(own / "Maildir/.Junk") == [make_message("spam", 100)]


@pytest.mark.thorough(reason="starts the programs of a system: seconds")
def test_in_the_night_the_store_is_kept_in_order_and_copied_in_silence(own):
    assert run(commands()[1], own) == ""
    with Store(own / "mail-copy.db", create=False) as copy:
        assert {label: n for label, (n, _) in copy.totals().items()} == {"ham": 20, "spam": 20}
    assert run(commands()[1], own) == ""


def test_a_failure_in_the_night_is_reported(own):
    (own / STORE).unlink()
    assert "there is no mail store" in run(commands()[1], own)
