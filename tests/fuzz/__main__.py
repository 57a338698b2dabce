"""`python -m tests.fuzz --seconds 600` fuzzes all targets; `python -m tests.fuzz replay FILE` checks one again."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path

from tests.fuzz import runner
from tests.fuzz.runner import TARGETS, Result

FOLDER = Path("build/fuzz")
NAMES = ("inputs", "accepted", "rejected", "findings")


def main() -> int:
    """Parse the arguments and run."""
    if sys.argv[1:2] == ["replay"]:
        return replay(Path(sys.argv[2]))
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="time for all targets together")
    parser.add_argument("--inputs", type=int, help="stop a target after so many inputs in each process")
    parser.add_argument("--seed", default="0", help="the inputs depend on it")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"some of {', '.join(TARGETS)}; all unless given"
    )
    given = parser.parse_args()
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(TARGETS)}")
    return run(given.targets or TARGETS, given.seconds, given.inputs, given.seed, given.processes)


def run(targets: list[str], seconds: float, inputs: int | None, seed: str, processes: int) -> int:
    """Fuzz targets, each for its share of the time in every process; print the counts and write the findings."""
    seeds = {target: runner.call_in_process(lambda target=target: runner.load(target).seeds()) for target in targets}
    share = seconds / len(targets)

    def check_seeds(process: int) -> None:
        for name in targets[process::processes]:
            runner.check_seeds(name, seeds[name])

    def fuzz_all(process: int) -> dict[str, Result]:
        start = process * len(targets) // processes
        order = targets[start:] + targets[:start]
        done = {}
        for name in order:
            done[name] = result = runner.fuzz(name, seeds[name], f"{seed} {process}", share, inputs)
            print(f"process {process}: {name}: {dict(result.counts)}", file=sys.stderr, flush=True)
            for (kind, _), finding in result.findings.items():  # kept at once, whatever becomes of this run
                write(name, kind, finding)
        return done

    runner.call_in_processes([lambda process=process: check_seeds(process) for process in range(processes)])
    results = {target: Result() for target in targets}
    for part in runner.call_in_processes([lambda process=process: fuzz_all(process) for process in range(processes)]):
        for target, result in part.items():
            results[target].merge(result)
    print(f"{'target':16}" + "".join(f"{name:>10}" for name in NAMES))
    for target, result in results.items():
        print(f"{target:16}" + "".join(f"{result.counts[name]:10}" for name in NAMES))
    for target, result in results.items():
        for (kind, cause), finding in result.findings.items():
            smaller = runner.minimise(target, finding, kind, cause, seeds[target])
            print(f"{target}: {kind}: {cause} ({finding.count} inputs): {write(target, kind, smaller)}")
    print(f"seed {seed}, {processes} processes, {share:.0f} s a target in each")
    return int(any(result.findings for result in results.values()))


def write(target: str, kind: str, finding: runner.Finding) -> Path:
    """Keep an input, and the traceback beside it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{target}.{kind}.{hashlib.sha256(finding.raw).hexdigest()[:8]}"
    path.write_bytes(finding.raw)
    path.with_name(f"{path.name}.txt").write_text(finding.detail, "utf-8", "replace")
    return path


def replay(path: Path) -> int:
    """Check a kept input again and print what comes of it; its file's name begins with the target."""
    target = path.name.split(".")[0]
    seeds = runner.call_in_process(lambda: runner.load(target).seeds()[:1])
    outcome = runner.check_once(target, path.read_bytes(), seeds)
    print(f"{outcome.kind}: {outcome.cause}\n{outcome.detail}" if outcome.cause else outcome.kind)
    return int(outcome.kind not in ("accepted", "rejected"))


if __name__ == "__main__":
    sys.exit(main())
