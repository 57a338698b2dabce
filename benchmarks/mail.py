"""Mail: learning and classifying many messages against bogofilter, one message in a fresh process, and by spamd.

SpamAssassin's corpus, a file for each message. Where the corpus or bogofilter is absent, the line tells so.
"""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from deciban.mail.filter import MailFilter
from deciban.mail.sources.message_sources import list_messages

from . import mail_data, mail_peers, mail_served
from .case import Group, Job, Line, format_seconds
from .text import run_if_available
from .timing import alternate

ROUNDS, N_PROCESSES = 5, 15
MIN_LEARN_RATIO, MIN_CLASSIFY_RATIO = 0.5, 1.0
"""The least ratios of our rates to those of bogofilter."""
MAX_START_SECONDS = 0.35
"""The most seconds for a message in a fresh process."""

DECIBAN = [sys.executable, "-c", "from deciban.cli.main import main; main()", "mail"]
"""The command `deciban mail`."""


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of one group."""
    work: dict[str, Callable[[float], Iterator[Line]]] = {}
    if group == "speed":
        work = {"learn": measure_learning, "judge": measure_classifying, "spamd": measure_server}
    elif group == "start-up":
        work = {"one message": measure_one_message}
    for name, measure in work.items():
        yield f"{group} mail {name}", partial(run_if_available, group, f"mail {name}", partial(measure, scale))


@contextmanager
def write_files(scale: float) -> Iterator[tuple[Path, list[Path], np.ndarray]]:
    """Write folders `ham` and `spam` of messages into a scratch folder; give the messages, and which are spam."""
    mail = mail_data.spamassassin()
    step = max(1, round(1 / scale))
    with tempfile.TemporaryDirectory(prefix="deciban-mail-") as folder:
        place, paths = Path(folder), []
        for kind in ("ham", "spam"):
            (place / kind).mkdir()
        for source, raw in list(zip(mail.files(), mail.raws))[::step]:
            paths.append(place / source.parent.name / source.name)
            paths[-1].write_bytes(raw)
        yield place, paths, mail.codes[::step]


def rate_line(name: str, times: tuple[list[float], list[float]], n: int, target: float | None, note: str) -> Line:
    """Format messages per second, ours and bogofilter's."""
    ours, peer = (n / statistics.median(side) for side in times)
    shown = "no target" if target is None else f"≥ {target:g}×"
    met = None if target is None else ours / peer >= target
    notes = f"median of {len(times[0])}; {n} messages; {note}"
    return Line("speed", name, f"{ours:.0f}/s", f"{peer:.0f}/s", ours / peer, shown, met, notes, goal=target)


def run(*arguments: object, stdin: bytes = b"") -> bytes:
    """Run `deciban mail` with these arguments; its verdict is its exit code."""
    done = subprocess.run([*DECIBAN, *map(str, arguments)], input=stdin, capture_output=True, check=False)
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(f"deciban mail {arguments[0]} failed: {done.stderr[-500:].decode()}")
    return done.stdout


def measure_learning(scale: float) -> Iterator[Line]:
    """Learn files into a store, and into a wordlist."""
    mail_peers.find_program("bogofilter", "bogofilter")
    with write_files(scale) as (place, paths, codes):

        def by_library() -> None:
            with tempfile.TemporaryDirectory() as folder, MailFilter(Path(folder, "mail.db")) as mail:
                mail.learn_each((label, found) for label in ("ham", "spam") for found in list_messages(place / label))

        def by_command(*options: str) -> None:
            with tempfile.TemporaryDirectory() as folder:
                where = "--ham", place / "ham", "--spam", place / "spam", "--store", Path(folder, "mail.db")
                run("learn", *where, *options)

        def by_bogofilter() -> None:
            with mail_peers.fresh(mail_peers.Bogofilter) as peer:
                peer.learn(paths, codes)

        for name, ours, target in (
            ("learn many, `MailFilter.learn_each`", by_library, MIN_LEARN_RATIO),
            ("learn many, `deciban mail learn --no-fit`", partial(by_command, "--no-fit"), MIN_LEARN_RATIO),
            ("learn many, `deciban mail learn`", by_command, None),
        ):
            ours()
            times = alternate(ours, by_bogofilter, ROUNDS)
            yield rate_line(name, times, len(paths), target, "against bogofilter -n -b and -s -b")


def measure_classifying(scale: float) -> Iterator[Line]:
    """Classify the files of a corpus, most of which were learned."""
    mail_peers.find_program("bogofilter", "bogofilter")
    with write_files(scale) as (place, paths, codes), mail_peers.fresh(mail_peers.Bogofilter) as peer:
        learned = np.random.default_rng(0).permutation(len(paths))[: round(0.7 * len(paths))]
        store = train_store(place, [paths[i] for i in learned])
        peer.learn([paths[i] for i in learned], codes[learned])

        def by_library() -> None:
            with MailFilter(store, read_only=True) as mail:
                for _ in mail.classify_all(chain(list_messages(place / "ham"), list_messages(place / "spam"))):
                    pass

        def by_command() -> None:
            run("classify", place / "ham", place / "spam", "--json", "--store", store)

        for name, ours in (
            ("judge many, `MailFilter.classify_all`", by_library),
            ("judge many, `deciban mail classify --json`", by_command),
        ):
            ours()
            times = alternate(ours, lambda: peer.scores(paths), ROUNDS)
            yield rate_line(name, times, len(paths), MIN_CLASSIFY_RATIO, "against bogofilter -TT -b")


def train_store(place: Path, paths: Sequence[Path]) -> Path:
    """Return a fitted store that learned these messages."""
    store = place / "mail.db"
    with MailFilter(store) as mail:
        for label in ("ham", "spam"):
            mail.learn_all(((str(p), p.read_bytes()) for p in paths if p.parent.name == label), label)
        mail.refit(force=True)
    return store


def measure_one_message(scale: float) -> Iterator[Line]:
    """Measure one message in a fresh process, as a mail system starts it for every message."""
    program = mail_peers.find_program("bogofilter", "bogofilter")
    with write_files(scale) as (place, paths, codes), mail_peers.fresh(mail_peers.Bogofilter) as peer:
        store = train_store(place, paths)
        peer.learn(paths, codes)
        some = random.Random(0).sample(paths, min(N_PROCESSES, len(paths)))
        took: tuple[list[float], list[float]] = ([], [])
        for path in some:
            raw = path.read_bytes()
            for side, command in enumerate(
                ([*DECIBAN, "classify", "--store", str(store)], [program, "-d", str(peer.folder)])
            ):
                started = time.perf_counter()
                subprocess.run(command, input=raw, capture_output=True, check=False)
                took[side].append(time.perf_counter() - started)
    ours, theirs = (statistics.median(side) for side in took)
    note = f"median of {len(some)} processes, slowest {format_seconds(max(took[0]))}; {len(paths)} messages learned"
    name = "one message, `deciban mail classify`"
    limit = f"≤ {MAX_START_SECONDS:g} s"
    yield Line(
        "start-up",
        name,
        format_seconds(ours),
        format_seconds(theirs),
        theirs / ours,
        limit,
        ours <= MAX_START_SECONDS,
        note,
    )


def measure_server(scale: float) -> Iterator[Line]:
    """Measure messages through the server."""
    with write_files(scale) as (place, paths, _):
        store = train_store(place, paths[::2])
        yield from mail_served.measure_server(DECIBAN, store, [path.read_bytes() for path in paths[1::2]], scale)
