"""The store as it is used, with kill -9 at random: whatever was acknowledged is there, and nothing is damaged.

A server with eight clients that TELL and a process of its own that fits (its maintenance), and `mail learn`, `mail
watch` and `mail fit` beside it. `make test` runs 3 rounds, `make thorough` 10, and `make soak` as many as
DECIBAN_SOAK_ROUNDS says.
"""

import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pytest

from deciban.mail.message.message import compute_digest
from deciban.mail.store.store import Store
from tests.cli.mail_commands import command, mbox
from tests.mail.spamds import Running, learn_messages, make_message, request
from tests.mail.stores import deleted_files

CLIENTS = 8
LOAD_SECONDS = 0.8
MAINTENANCE_LOAD_SECONDS = 3.0
"""Seconds of load until which the server's maintenance has begun: it waits a second after learning."""

ROUNDS_PER_STORE = 10
DEADLINE_SECONDS = 120
ASKED = os.environ.get("DECIBAN_SOAK_ROUNDS")
ROUNDS = (
    [int(ASKED)]
    if ASKED
    else [3, pytest.param(10, marks=pytest.mark.thorough(reason="kills a server and waits for it, round by round"))]
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's list of open files")


class MailSystem:
    """A store, those who use it, and the messages that each of them has acknowledged."""

    def __init__(self, folder: Path, chance: random.Random, numbers) -> None:
        self.folder, self.chance, self.numbers = folder, chance, numbers
        self.store, self.socket = folder / "mail.db", folder / "s.sock"
        self.acknowledged: dict[bytes, str] = {}
        self.moved: dict[bytes, str] = {}
        """Messages that were put into Junk; the watcher says how many of them it has learned."""
        self.watched = 0
        self.maintenance_kills = 0
        self.processes: dict[str, subprocess.Popen] = {}
        self._readers: list[threading.Thread] = []
        learn_messages(self.store, 20)
        for box in ("Inbox", "Junk"):
            for part in ("new", "cur", "tmp"):
                (folder / box / part).mkdir(parents=True)

    def start_long_lived(self) -> None:
        """Start the server and the watcher, where they do not run."""
        if not self.runs("server"):
            server = self._start("server", "serve", "--spamd", f"unix:{self.socket}")
            assert "listening" in server.stderr.readline()
            self._drain(server, lambda line: None)
        if not self.runs("watch"):
            folders = ("--ham", self.folder / "Inbox", "--junk", self.folder / "Junk")
            watch = self._start("watch", "watch", *folders, "--every", "0.1", "--no-fit")
            self._drain(watch, self._count_watched)

    def _start(self, role: str, *arguments: object) -> subprocess.Popen:
        process = subprocess.Popen(
            command(*arguments, "--store", self.store), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.processes[role] = process
        return process

    def _drain(self, process: subprocess.Popen, heed) -> None:
        def read() -> None:
            for line in process.stderr:
                heed(line)

        self._readers.append(threading.Thread(target=read, daemon=True))
        self._readers[-1].start()

    def _count_watched(self, line: str) -> None:
        self.watched += int(line.split()[3]) if " learned " in line else 0

    def runs(self, role: str) -> bool:
        return role in self.processes and self.processes[role].poll() is None

    def new_message(self) -> tuple[bytes, str]:
        label = self.chance.choice(["ham", "spam"])
        return make_message(label, next(self.numbers)), label

    def tell(self, until: float) -> None:
        """One client: it TELLs until the server is gone or the time is over, and keeps what was confirmed."""
        while time.monotonic() < until:
            raw, label = self.new_message()
            with suppress(OSError):
                if b"DidSet: local" in Running(f"unix:{self.socket}").ask(
                    request("TELL", raw, f"Message-class: {label}", "Set: local")
                ):
                    self.acknowledged[compute_digest(raw)] = label

    def move_to_junk(self, n: int) -> None:
        """Deliver messages into Junk as a mail reader moves them there."""
        for number in [next(self.numbers) for _ in range(n)]:
            raw = make_message("spam", number)
            self.moved[compute_digest(raw)] = "spam"
            place = self.folder / "Junk" / "tmp" / f"{number}.host"
            place.write_bytes(raw)
            place.rename(self.folder / "Junk" / "new" / place.name)

    def run_round(self, victims: list[str]) -> None:
        self.start_long_lived()
        known = [next(self.numbers) for _ in range(20)]
        box = mbox(self.folder / f"{known[0]}.mbox", "ham", known)
        self._start("learn", "learn", "--ham", box, "--no-fit")
        maintained = "maintenance" in victims
        if not maintained:  # after another fit the server's own would not be due
            self._start("fit", "fit")
        until = time.monotonic() + (MAINTENANCE_LOAD_SECONDS if maintained else LOAD_SECONDS)
        clients = [threading.Thread(target=self.tell, args=(until,)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        self.move_to_junk(3)
        for victim in victims:
            time.sleep(self.chance.uniform(0, LOAD_SECONDS / len(victims)))
            if victim == "maintenance":
                self.kill_maintenance(until)
            else:
                self.kill(victim)
        for client in clients:
            client.join(DEADLINE_SECONDS)
        survivors = [self.processes[role].pid for role in ("server", "watch") if self.runs(role)]
        assert [deleted_files(process) for process in survivors] == [[]] * len(survivors)
        self._end_short_lived(["learn"] if maintained else ["learn", "fit"], known)

    def _end_short_lived(self, roles: list[str], known: list[int]) -> None:
        for role in roles:
            _, output = self.processes[role].communicate(timeout=DEADLINE_SECONDS)
            assert self.processes[role].returncode in (0, -signal.SIGKILL), (role, output)
        if self.processes["learn"].returncode == 0:
            self.acknowledged.update({compute_digest(make_message("ham", number)): "ham" for number in known})

    def kill(self, role: str) -> None:
        """Kill a process; a server's own process that fits goes on alone, as after a real kill."""
        if self.runs(role):
            os.kill(self.processes[role].pid, signal.SIGKILL)
            self.processes[role].wait(DEADLINE_SECONDS)

    def kill_maintenance(self, until: float) -> None:
        """Kill the process in which the server fits, as soon as there is one; the server goes on."""
        while not (children := running_children(self.processes["server"].pid)) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(self.chance.uniform(0, LOAD_SECONDS) if children else 0)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
                self.maintenance_kills += 1

    def check(self) -> None:
        with closing(sqlite3.connect(self.store)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            rows = db.execute("SELECT digest, name FROM message JOIN label ON label.id = message.label")
            held = dict(rows.fetchall())
        lost = {digest.hex() for digest, label in self.acknowledged.items() if held.get(digest) != label}
        assert not lost, f"{len(lost)} of {len(self.acknowledged)} acknowledged messages are lost"
        assert sum(held.get(digest) == "spam" for digest in self.moved) >= self.watched
        with Store(self.store, create=False, read_only=True) as store:
            assert store.check() == []

    def kill_all(self) -> None:
        for role in self.processes:
            self.kill(role)
        for reader in self._readers:
            reader.join(DEADLINE_SECONDS)

    def check_by_command(self) -> None:
        done = subprocess.run(command("check", "--store", self.store), capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.check()


def running_children(process: int) -> list[int]:
    """Return the ids of the processes that a process has started and that still run."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # ended meanwhile
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == process and state != "Z":
                found.append(int(status.parent.name))
    return found


def victims_of(i: int, chance: random.Random) -> list[str]:
    """Return the processes to kill: the server or its maintenance in turn, and one or two of the others at random."""
    role, others = ("maintenance", ["learn", "watch"]) if i % 2 else ("server", ["learn", "watch", "fit"])
    chosen = [role, *chance.sample(others, chance.choice([1, 2]))]
    return chance.sample(chosen, len(chosen))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_whatever_was_acknowledged_survives_kills_at_random(tmp_path, rounds):
    chance, numbers, reported, maintenance_kills = random.Random(rounds), count(10_000), 0, 0
    for first in range(0, rounds, ROUNDS_PER_STORE):
        folder = tmp_path / f"{first}"
        folder.mkdir()
        system = MailSystem(folder, chance, numbers)
        try:
            for i in range(first, min(rounds, first + ROUNDS_PER_STORE)):
                system.run_round(victims_of(i, chance))
                system.check()
        finally:
            system.kill_all()
        system.check_by_command()
        reported += len(system.acknowledged) + system.watched
        maintenance_kills += system.maintenance_kills
    assert reported > 5 * rounds
    assert maintenance_kills > 0
