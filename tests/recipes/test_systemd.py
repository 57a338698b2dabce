"""Units for systemd, by the files that the document prints: checked by systemd, and their commands run."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from contextlib import contextmanager

import pytest

from deciban.mail.store.store import Store
from tests.mail.spamds import ABSENT, make_message
from tests.recipes.document import DOCUMENT, FILES, printed
from tests.recipes.homes import PROGRAM, STORE, environment, label, messages, wait_until

ANALYZE = shutil.which("systemd-analyze")
UNITS = [name for name in FILES if name.endswith(".service")]
OURS, SYSTEMS = "~/.config/systemd/user/", "/etc/systemd/system/deciban-spamd.service"
checked = pytest.mark.skipif(not ANALYZE, reason="needs systemd-analyze")


def analyze(*arguments, **more):
    env = {**os.environ, "SYSTEMD_LOG_LEVEL": "warning", **more}
    return subprocess.run(
        [ANALYZE, *arguments], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, check=False
    )


@checked
@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_nothing_wrong_with_a_unit(name, own):
    changes = {} if name.startswith("~") else {"/usr/local/bin/deciban": own / PROGRAM, "User=deciban": "User=nobody"}
    unit = own / os.path.basename(name)
    unit.write_text(printed(name, changes))
    whose = "--user" if name.startswith("~") else "--system"
    done = analyze("verify", whose, "--man=no", unit, HOME=str(own), XDG_RUNTIME_DIR=str(own))
    about_it = [line for line in done.stderr.splitlines() if unit.name in line or str(unit) in line]
    assert (done.returncode, about_it) == (0, []), done.stderr
    unit.write_text(unit.read_text().replace("Restart=", "Restrat="))
    assert "Restrat" in analyze("verify", whose, "--man=no", unit, HOME=str(own), XDG_RUNTIME_DIR=str(own)).stderr


@checked
def test_the_systems_unit_is_exposed_little(tmp_path):
    unit = tmp_path / "deciban-spamd.service"
    unit.write_text(printed(SYSTEMS))
    done = analyze("security", "--offline=yes", "--threshold=20", "--no-pager", unit)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze judges no unit offline")
    assert done.returncode == 0, done.stdout


@contextmanager
def running(name, home):
    """Run the command of a unit as its manager does: specifiers replaced, no shell, an end by SIGTERM."""
    (line,) = re.findall("^ExecStart=(.*)$", printed(name), flags=re.MULTILINE)
    command = shlex.split(line.replace("%h", str(home)).replace("%t", str(home)))
    process = subprocess.Popen(command, env=environment(home), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors


@pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT))
def test_the_server_answers_at_the_users_own_socket_and_nobody_elses(own):
    with running(f"{OURS}deciban-spamd.service", own):
        wait_until((own / "deciban.sock").exists)
        assert (own / "deciban.sock").stat().st_mode & 0o777 == 0o600
        result = subprocess.run(
            ["spamc", "-U", own / "deciban.sock"], input=make_message("spam", 100), capture_output=True, check=True
        )
    assert result.stdout.startswith(b"X-Deciban: spam; p=")
    assert result.stdout.endswith(b"\n" + make_message("spam", 100))


@pytest.mark.skipif(ABSENT is not None or not shutil.which("procmail"), reason="needs spamc and procmail")
def test_procmail_may_ask_the_server_instead(own):
    asking = f"spamc -U {own}/deciban.sock"
    assert re.search(r"`\| spamc -U \S+/deciban\.sock` in place of `\| deciban mail filter`", DOCUMENT.read_text())
    (own / ".procmailrc").write_text(printed("~/.procmailrc", {"deciban mail filter": asking}))
    command = ["procmail", f"HOME={own}", own / ".procmailrc"]
    with running(f"{OURS}deciban-spamd.service", own):
        wait_until((own / "deciban.sock").exists)
        subprocess.run(command, input=make_message("spam", 100), env=environment(own), check=True)
    (found,) = messages(own / "Maildir/.Junk")
    assert found.startswith(b"X-Deciban: spam; p=")
    assert found.endswith(b"\n" + make_message("spam", 100))


def test_watching_learns_what_is_moved_to_junk(own):
    message = own / "Maildir/new/1.host"
    message.write_bytes(make_message("spam", 100))

    def seen():
        with Store(own / STORE, create=False) as store:
            return store.setting("watched") is not None

    unit = f"{OURS}deciban-watch.service"
    with running(unit, own):
        wait_until(seen)
    message.rename(own / "Maildir/.Junk/new/1.host")
    with running(unit, own):
        wait_until(lambda: label(own, make_message("spam", 100)) == "spam")
