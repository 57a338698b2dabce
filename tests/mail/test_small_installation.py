"""The mail filter needs little: NumPy, and rich for the terminal; the large libraries may be absent."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.mail_commands import mbox
from tests.mail.spamds import make_message

ROOT = Path(__file__).parents[2]
LARGE = (
    "numba",
    "llvmlite",
    "pyarrow",
    "duckdb",
    "sklearn",
    "scipy",
    "pandas",
    "matplotlib",
    "safetensors",
    "joblib",
)
BLOCKED = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {LARGE!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
from deciban.cli.main import main
sys.argv[:] = ["deciban", *sys.argv[1:]]
main()
"""
MAX_MEGABYTES = 200


def run(*words, stdin=b"", code=0):
    command = [sys.executable, "-c", BLOCKED, *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A store of 700 messages, which reader processes read and whose fit is large enough for kernels."""
    folder = tmp_path_factory.mktemp("small")
    boxes = [mbox(folder / f"{label}.mbox", label, range(350)) for label in ("ham", "spam")]
    done = run("mail", "learn", "--ham", boxes[0], "--spam", boxes[1], "--store", folder / "mail.db")
    assert b"evidence: refitted on 700 messages" in done.stderr
    return folder


@pytest.mark.parametrize("model", ["evidence", "bayes", "logistic", "fisher"])
def test_every_model_is_fitted_and_classifies(learned, model, tmp_path):
    store = tmp_path / "mail.db"
    store.write_bytes((learned / "mail.db").read_bytes())
    run("mail", "set", "--model", model, "--store", store)
    done = run("mail", "classify", "--store", store, stdin=make_message("spam", 2000))
    assert done.stdout.startswith(b"spam; p=")


def test_commands_run_without_the_large_libraries(learned):
    store = ["--store", learned / "mail.db"]
    spam = make_message("spam", 2000)
    assert run("mail", "filter", *store, stdin=spam).stdout.startswith(b"X-Deciban: spam; p=")
    lines = run("mail", "classify", learned / "spam.mbox", *store).stdout.splitlines()
    assert len(lines) == 350
    assert b"together" in run("mail", "explain", *store, stdin=spam).stdout
    assert b"ready" in run("mail", "status", *store).stdout
    run("mail", "check", *store)
    done = run("mail", "evaluate", "--ham", learned / "ham.mbox", "--spam", learned / "spam.mbox", "--folds", "3")
    assert b"Verdicts" in done.stdout


def test_the_server_runs_without_the_large_libraries(learned):
    address = f"unix:{learned}/s"
    command = [sys.executable, "-c", BLOCKED, "mail", "serve", "--spamd", address, "--store", learned / "mail.db"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        assert process.stderr.readline().startswith(b"listening at unix:")
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(f"{learned}/s")
            raw = make_message("spam", 2000)
            line.sendall(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(raw) + raw)
            line.shutdown(socket.SHUT_WR)
            assert b"Spam: True" in line.makefile("rb").read()
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_command_that_needs_more_says_what_is_missing(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    done = run("train", tmp_path / "t.csv", "--target", "b", code=1)
    assert re.match(rb"error: \w+ is not installed, and this needs it\. Hint: pip install deciban", done.stderr)
    assert b"Traceback" not in done.stderr


def test_a_store_is_the_same_with_and_without_the_large_libraries(learned, tmp_path):
    from deciban.mail.filter import MailFilter
    from tests.cli.mail_commands import mail

    assert mail("learn", "--ham", learned / "ham.mbox", "--spam", learned / "spam.mbox", "--store", tmp_path / "m.db")
    with MailFilter(tmp_path / "m.db") as here, MailFilter(learned / "mail.db") as there:
        for label in ("ham", "spam"):
            verdicts = [mail.classify(make_message(label, 3000)) for mail in (here, there)]
            assert verdicts[0].decibans == pytest.approx(verdicts[1].decibans, rel=1e-6)


def documented_commands():
    """The commands of the guide that install as little as possible."""
    (block,) = re.findall(
        r"## A small installation\n.*?```sh\n(.*?)```", (ROOT / "docs/guides/mail-care.md").read_text(), re.DOTALL
    )
    return block.splitlines()


def test_the_documented_installation_names_what_mail_needs():
    commands = documented_commands()
    assert any("--no-deps" in command for command in commands)
    assert not any(name in " ".join(commands) for name in LARGE)


@pytest.mark.thorough(reason="makes an environment and installs into it")
def test_the_small_installation_works_in_a_fresh_environment_and_is_small(tmp_path):
    """Install as documented, from this checkout, and learn and classify the example; needs a package index."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    before = megabytes(home)
    for command in documented_commands():
        words = shlex.split(command.replace("deciban", str(ROOT)))
        done = subprocess.run([home / "bin" / words[0], *words[1:]], capture_output=True, text=True, check=False)
        if done.returncode and "No matching distribution" in done.stderr:
            pytest.skip("needs a package index")
        assert done.returncode == 0, done.stderr
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def deciban(*words, **more):
        command = [home / "bin" / "deciban", *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, **more)

    deciban("example", "mailbox", "--folder", "Maildir")
    deciban("mail", "learn", "--ham", "Maildir/cur", "--spam", "Maildir/.Junk", "--store", "mail.db")
    start = time.monotonic()
    assert len(deciban("mail", "classify", "Maildir/new", "--store", "mail.db").stdout.splitlines()) == 10
    assert time.monotonic() - start < 30
    deciban("mail", "setup", "--mail", "Maildir", "--service", "none", "--yes", "--store", "other.db")
    assert megabytes(home) - before < MAX_MEGABYTES / 2
    assert megabytes(home) < MAX_MEGABYTES


def megabytes(folder):
    return sum(path.lstat().st_size for path in folder.rglob("*")) / 1e6
