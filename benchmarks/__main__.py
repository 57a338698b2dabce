"""`python -m benchmarks`: a table, `docs/benchmarks.md` and its chart; exit code 1 if a target is missed."""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rich.console import Console

from . import memory, report, startup, tables, timing
from .case import Line
from .cases import CASES
from .data import ROOT

QUICK = 0.02
LARGE = 0.2
"""The share of the full size at which a first fit is measured: large enough for kernels."""

Job = tuple[str, Callable[[], Iterator[Line]]]


def jobs(quick: bool) -> Iterator[Job]:
    """Every measurement with a name that --only is matched against."""
    scale = QUICK if quick else 1.0
    for case in CASES:
        yield f"speed {case.name}", partial(timing.time_case, case, scale)
    yield "speed GaussianNB one row", partial(timing.time_one_row, quick)
    for case in CASES:
        yield f"memory {case.name}", partial(memory.memory_lines, case, scale)
    yield "start-up small", partial(startup.first_prediction, quick)
    yield "start-up first large fit", partial(startup.first_large_fit, LARGE)
    yield "start-up read-only", partial(startup.read_only, LARGE)


def table_jobs(quick: bool) -> Iterator[Job]:
    """The same for files and frames, which have a page of their own."""
    for group in report.TITLES:
        yield from tables.jobs(group, quick, QUICK if quick else 1.0)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", metavar="PATTERN", help="measure what matches this regular expression; writes no files"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that everything runs; writes no files"
    )
    parser.add_argument("--tables", action="store_true", help="files, frames and model files; their own page")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs", help="where the page and the chart go")
    return parser.parse_args()


def measure(todo: Iterator[Job], only: str | None, talk: Console) -> list[Line]:
    """Run the jobs, telling their names."""
    lines: list[Line] = []
    for name, job in todo:
        if only is None or re.search(only, name, re.IGNORECASE):
            with talk.status(name):
                lines.extend(attempt(name, job))
    return lines


def attempt(name: str, job: Callable[[], Iterator[Line]]) -> list[Line]:
    """The job's lines; one that breaks is a missed target and does not stop the others."""
    try:
        return list(job())
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr)
        group = next(title for title in report.TITLES if name.startswith(title))
        return [
            Line(group, name.removeprefix(group).strip(), "failed", "–", None, "runs", False, type(error).__name__)
        ]


def main() -> int:
    """Measure, show, write; 1 if a target was missed."""
    chosen = options()
    todo = (table_jobs if chosen.tables else jobs)(chosen.quick)
    lines = measure(todo, chosen.only, Console(stderr=True))
    title = ("deciban on tables" if chosen.tables else "deciban against scikit-learn") + (
        " (quick: at a fiftieth of the sizes named)" if chosen.quick else ""
    )
    report.show(lines, Console(width=None if sys.stdout.isatty() else 140), title)
    if not chosen.quick and chosen.only is None:
        for path in report.write(lines, chosen.folder, "benchmarks-tables" if chosen.tables else "benchmarks"):
            print(f"wrote {path}", file=sys.stderr)
    return int(any(line.met is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
