"""`python -m benchmarks`: write `docs/benchmarks.md` and its chart; the exit code is 1 if a target is missed."""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from . import cross_validation, gpu, linear, mail, memory, report, scale, serve, startup, tables, text, timing
from .array_cases import CASES
from .case import Group, Job, Line
from .data import ROOT

QUICK_SCALE = 0.02
FIRST_FIT_SCALE = 0.2
"""The share of the full size at which a first fit is measured: large enough for kernels."""


def array_jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of estimators on arrays."""
    quick = scale < 1
    if group == "speed":
        for case in CASES:
            yield f"speed {case.name}", partial(timing.time_case, case, scale)
        yield "speed GaussianNB one row", partial(timing.time_one_row, quick)
    elif group == "memory":
        for case in CASES:
            yield f"memory {case.name}", partial(memory.memory_lines, case, scale)
    else:
        yield "start-up small", partial(startup.measure_first_prediction, quick)
        yield "start-up first large fit", partial(startup.measure_first_large_fit, FIRST_FIT_SCALE)
        yield "start-up read-only", partial(startup.check_read_only_installation, FIRST_FIT_SCALE)


@dataclass(frozen=True, slots=True)
class Part:
    """A page of benchmarks: its measurements by group, its heading on the terminal, its name in `docs`."""

    jobs: Callable[[Group, float], Iterator[Job]]
    title: str
    page: str
    help: str = ""


ARRAYS = Part(array_jobs, "deciban against scikit-learn", "benchmarks")
PARTS = {
    "--tables": Part(tables.jobs, "deciban on tables", "benchmarks-tables", "files, frames and model files"),
    "--text": Part(text.jobs, "deciban on text", "benchmarks-text", "text"),
    "--validation": Part(
        cross_validation.jobs, "exact cross-validation", "benchmarks-validation", "cross-validation"
    ),
    "--linear": Part(
        linear.jobs,
        "logistic and evidence regression, boosting",
        "benchmarks-linear",
        "logistic and evidence regression, boosting",
    ),
    "--mail": Part(mail.jobs, "deciban on mail", "benchmarks-mail", "mail"),
    "--serve": Part(serve.jobs, "deciban serve", "benchmarks-serve", "the REST service"),
    "--scale": Part(scale.jobs, "where the data is", "benchmarks-scale", "Spark, databases and exported models"),
}
"""The other pages, by the option that selects each."""


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", metavar="PATTERN", help="measure what matches this regular expression; writes no files"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to check that everything runs; writes no files"
    )
    which = parser.add_mutually_exclusive_group()
    for flag, part in PARTS.items():
        which.add_argument(flag, dest="part", action="store_const", const=part, help=f"{part.help}; a separate page")
    parser.add_argument("--gpu", action="store_true", help="rows on a GPU; as `python -m benchmarks.gpu`")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs", help="the folder for the page and the chart")
    parser.set_defaults(part=ARRAYS)
    return parser.parse_args()


def run_jobs(jobs: Iterator[Job], only: str | None, console: Console) -> list[Line]:
    """Run the jobs whose names match, showing their names."""
    lines: list[Line] = []
    for name, job in jobs:
        if only is None or re.search(only, name, re.IGNORECASE):
            with console.status(name):
                lines.extend(run_job(name, job))
    return lines


def run_job(name: str, job: Callable[[], Iterator[Line]]) -> list[Line]:
    """Return the lines of a job; one that fails is a missed target and does not stop the others."""
    try:
        return list(job())
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr)
        group = next(title for title in report.TITLES if name.startswith(title))
        return [
            Line(group, name.removeprefix(group).strip(), "failed", "–", None, "runs", False, type(error).__name__)
        ]


def main() -> int:
    """Measure, print and write; return 1 if a target was missed."""
    if "--gpu" in sys.argv:
        sys.argv.remove("--gpu")
        return gpu.main()
    arguments = parse_arguments()
    part: Part = arguments.part
    share = QUICK_SCALE if arguments.quick else 1.0
    jobs = (job for group in report.TITLES for job in part.jobs(group, share))
    lines = run_jobs(jobs, arguments.only, Console(stderr=True))
    title = part.title + (" (quick: a fiftieth of the stated sizes)" if arguments.quick else "")
    report.show(lines, Console(width=None if sys.stdout.isatty() else 140), title)
    if not arguments.quick and arguments.only is None:
        for path in report.write(lines, arguments.folder, part.page):
            print(f"wrote {path}", file=sys.stderr)
    return int(any(line.met is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
