"""Running targets: inputs are checked in forked child processes that are replaced when they die or hang."""

from __future__ import annotations

import faulthandler
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from deciban.errors import DecibanError
from tests.fuzz.mutation import memory_folder

os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # mimalloc reserves a GiB of address space at a time
TARGETS = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if "\ndef seeds(" in path.read_text("utf-8")
)
MAX_CPU_SECONDS = 2.0
MAX_WALL_SECONDS = 60.0
"""An input that takes longer waits for an event that does not occur; the machine may be busy."""

MAX_MEMORY_BYTES = 1 << 30
"""Address space that a check may take beyond what the process has before."""

MAX_COMPILING_SECONDS = 120.0
"""CPU time for an input that has kernels compiled; it is checked again afterwards."""

MAX_MINIMISE_SECONDS = 5.0
MAX_CHECKED_SEEDS = 100
_limits = {"cpu": MAX_CPU_SECONDS}
"""The limits of an operation of this process."""


class Outcome(NamedTuple):
    """The outcome of an input: "accepted", "rejected", or the kind of a finding, its cause and its traceback."""

    kind: str
    cause: str = ""
    detail: str = ""


@dataclass
class Finding:
    """Inputs with one cause: how many there were, the shortest of them, and the traceback of that one."""

    raw: bytes
    detail: str
    count: int = 1


@dataclass
class Result:
    """The counts of a target's inputs by outcome, and its findings by kind and cause."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)

    def add(self, outcome: Outcome, raw: Callable[[], bytes]) -> None:
        """Count an outcome; the input is made again only where it is kept."""
        self.counts["inputs"] += 1
        if outcome.kind in ("accepted", "rejected"):
            self.counts[outcome.kind] += 1
        else:
            self.counts["findings"] += 1
            self.merge_finding(outcome.kind, outcome.cause, Finding(raw(), outcome.detail))

    def merge_finding(self, kind: str, cause: str, finding: Finding) -> None:
        """Join findings of one cause."""
        known = self.findings.setdefault((kind, cause), finding)
        if known is not finding:
            total = known.count + finding.count
            shorter = finding if len(finding.raw) < len(known.raw) else known
            self.findings[kind, cause] = Finding(shorter.raw, shorter.detail, total)

    def merge(self, other: Result) -> None:
        """Add the counts and findings of another process."""
        self.counts += other.counts
        for (kind, cause), finding in other.findings.items():
            self.merge_finding(kind, cause, finding)


def begin_operation(n_columns: int = 0) -> None:
    """Begin another operation on the same input: it has all of the CPU time, and 1 ms a column of a table."""
    if signal.getitimer(signal.ITIMER_PROF)[0]:
        signal.setitimer(signal.ITIMER_PROF, _limits["cpu"] + n_columns / 1000)


def load(target: str) -> ModuleType:
    """Return the module of a target."""
    return import_module(f"tests.fuzz.{target}")


def call_in_processes(functions: list[Callable[[], Any]]) -> list[Any]:
    """Return the values of functions run in forked processes, so that no thread they start is left in this one."""
    running = []
    for function in functions:
        receiving, sending = Pipe(duplex=False)
        child = os.fork()
        if not child:
            try:
                sending.send(function())
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        sending.close()
        running.append((child, receiving))
    values = []
    for child, receiving in running:
        try:
            values.append(receiving.recv())
        except EOFError:
            raise SystemExit("a process that makes inputs failed; its error is above") from None
        finally:
            os.waitpid(child, 0)
    return values


def call_in_process(function: Callable[[], Any]) -> Any:
    """Return the value of a function that runs in a forked process."""
    return call_in_processes([function])[0]


def fuzz(target: str, seeds: list[bytes], seed: str, seconds: float, inputs: int | None) -> Result:
    """Check mutated inputs until the time is over or there were `inputs`; input i depends on `seed` and i alone."""
    module = load(target)

    def make(i: int) -> bytes:
        rng = random.Random(f"{seed} {target} {i}")
        return module.mutate(rng.choice(seeds), rng)

    make(0)  # what `mutate` caches is cached before processes are forked
    return drive(module, make, seeds[0], time.monotonic() + seconds, inputs)


def check_seeds(target: str, seeds: list[bytes]) -> None:
    """Refuse seeds that are not accepted; what is compiled on first use is compiled here, without a limit."""
    outcomes: list[Outcome] = []
    until, some = time.monotonic() + 600, seeds[:MAX_CHECKED_SEEDS]
    drive(load(target), lambda i: some[i], seeds[0], until, len(some), outcomes.append, MAX_COMPILING_SECONDS)
    for i, outcome in enumerate(outcomes):
        if outcome.kind != "accepted":
            raise SystemExit(f"{target}: seed {i} is not accepted: {outcome.kind} {outcome.cause}\n{outcome.detail}")


def check_once(target: str, raw: bytes, seeds: list[bytes]) -> Outcome:
    """Check one input in a process of its own."""
    outcomes: list[Outcome] = []
    drive(load(target), lambda i: raw, seeds[0], time.monotonic() + MAX_WALL_SECONDS, 1, outcomes.append)
    return outcomes[0]


def minimise(target: str, finding: Finding, kind: str, cause: str, seeds: list[bytes]) -> Finding:
    """Return a shorter input with the same outcome, if one is found soon by leaving out pieces."""
    raw, until, size = finding.raw, time.monotonic() + MAX_MINIMISE_SECONDS, len(finding.raw) // 2
    while size and time.monotonic() < until:
        at = 0
        while at < len(raw) and time.monotonic() < until:
            shorter = raw[:at] + raw[at + size :]
            outcome = check_once(target, shorter, seeds)
            if (outcome.kind, outcome.cause) == (kind, cause):
                raw = shorter
            else:
                at += size
        size //= 2
    return Finding(raw, finding.detail, finding.count)


def drive(
    module: ModuleType, make: Callable[[int], bytes], warm: bytes, until: float, inputs: int | None,
    report: Callable[[Outcome], None] = lambda outcome: None, max_cpu: float = MAX_CPU_SECONDS,
) -> Result:  # fmt: skip
    """Check the inputs `make(0)`, `make(1)`, … in child processes; each checks `warm` first, without limits."""
    result, i = Result(), 0
    while time.monotonic() < until and (inputs is None or i < inputs):
        with tempfile.TemporaryDirectory(dir=memory_folder(), prefix="deciban-fuzz-") as folder:
            receiving, sending = Pipe(duplex=False)
            child = os.fork()
            if not child:
                _run_child(module, make, warm, until, inputs, i, sending, Path(folder), max_cpu)
            sending.close()
            try:
                alive = True
                while alive:
                    outcome = _receive(receiving, child, Path(folder))
                    alive = outcome is not None and outcome.kind in ("accepted", "rejected")
                    if outcome is not None and outcome.kind == "hang" and "/numba/core/" in outcome.detail:
                        outcome = _check_compiled(module, make(i), warm, max_cpu, outcome)
                    if outcome is not None:
                        result.add(outcome, lambda i=i: make(i))  # type: ignore[misc]
                        report(outcome)
                        i += 1
            finally:
                _end(child)
                receiving.close()
    return result


def _check_compiled(module: ModuleType, raw: bytes, warm: bytes, max_cpu: float, outcome: Outcome) -> Outcome:
    """Check an input once more after its kernels were compiled, which may take longer than a check may."""
    if max_cpu > MAX_CPU_SECONDS:
        return outcome
    outcomes = [outcome]
    until = time.monotonic() + 3 * MAX_WALL_SECONDS
    drive(module, lambda i: raw, warm, until, 1, outcomes.append, MAX_COMPILING_SECONDS)
    drive(module, lambda i: raw, warm, until, 1, outcomes.append, MAX_CPU_SECONDS + 0.001)
    return outcomes[-1]


def _receive(receiving: Connection, child: int, folder: Path) -> Outcome | None:
    """Return the next outcome; None when all inputs were checked."""
    if not receiving.poll(MAX_WALL_SECONDS):
        return Outcome("hang", f"no answer within {MAX_WALL_SECONDS:g} s", _trace(folder))
    try:
        return receiving.recv()
    except EOFError:
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            if status == 0:
                return None
            return Outcome("crash", f"exit status {os.waitstatus_to_exitcode(status)}", _trace(folder))
        trace = _trace(folder)
        lines = [line.strip() for line in trace.splitlines() if line.startswith("  File ")]
        place = next((line for line in lines if "/src/deciban/" in line), lines[0] if lines else "")
        if os.WTERMSIG(status) == signal.SIGPROF:
            return Outcome("hang", f"more than {MAX_CPU_SECONDS:g} s of CPU time {place}", trace)
        return Outcome("crash", f"{signal.Signals(os.WTERMSIG(status)).name} {place}", trace)


def _trace(folder: Path) -> str:
    return (folder / "stderr").read_text("utf-8", "replace")


def _end(child: int) -> None:
    """End a child process and all processes that it started."""
    try:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def _run_child(
    module: ModuleType, make: Callable[[int], bytes], warm: bytes, until: float, inputs: int | None, start: int,
    sending: Connection, folder: Path, max_cpu: float,
) -> None:  # fmt: skip
    """Check inputs from `start` on and send each outcome; never returns."""
    try:
        os.setpgid(0, 0)
        errors = os.open(folder / "stderr", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        tempfile.tempdir = str(folder)
        warnings.simplefilter("ignore")
        sys.unraisablehook = lambda unraisable: None
        faulthandler.enable(errors)
        faulthandler.register(signal.SIGPROF, errors, chain=True)  # type: ignore[attr-defined,unused-ignore]
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        module.check(warm)
        _limits["cpu"] = max_cpu
        i = start
        while time.monotonic() < until and (inputs is None or i < inputs):
            raw = make(i)
            os.ftruncate(errors, 0)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MAX_MEMORY_BYTES, resource.RLIM_INFINITY))
            signal.setitimer(signal.ITIMER_PROF, max_cpu)
            outcome = _outcome(module, raw)
            signal.setitimer(signal.ITIMER_PROF, 0)
            sending.send(outcome)
            if outcome.kind not in ("accepted", "rejected"):
                break
            i += 1
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def _outcome(module: ModuleType, raw: bytes) -> Outcome:
    try:
        module.check(raw)
    except DecibanError:
        return Outcome("rejected")
    except AssertionError as error:
        return Outcome("difference", f"{str(error)[:100]} {_place(error)}", traceback.format_exc())
    except BaseException as error:
        return Outcome("untidy", f"{type(error).__name__} {_place(error)}", traceback.format_exc())
    return Outcome("accepted")


def _place(error: BaseException) -> str:
    """Return the innermost function of deciban in the traceback, or else of the target."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/src/deciban/" in frame.filename] or frames[-1:]
    return f"{'/'.join(Path(ours[-1].filename).parts[-2:])}:{ours[-1].lineno} {ours[-1].name}"
