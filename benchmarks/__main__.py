"""`python -m benchmarks`: a table, `docs/benchmarks.md` and its chart; exit code 1 if a target is missed."""

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from . import boosting, discriminative, evidence, judging, mail, memory, report, startup, tables, text, timing
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


def text_jobs(quick: bool) -> Iterator[Job]:
    """The same for text."""
    for group in report.TITLES:
        yield from text.jobs(group, QUICK if quick else 1.0)


def judging_jobs(quick: bool) -> Iterator[Job]:
    """The same for cross-validation."""
    for group in report.TITLES:
        yield from judging.jobs(group, QUICK if quick else 1.0)


def partner_jobs(quick: bool) -> Iterator[Job]:
    """The same for weights that are fitted: logistic and evidence regression, boosting."""
    for group in report.TITLES:
        for part in (discriminative, evidence, boosting):
            yield from part.jobs(group, QUICK if quick else 1.0)


def mail_jobs(quick: bool) -> Iterator[Job]:
    """The same for mail."""
    for group in report.TITLES:
        yield from mail.jobs(group, QUICK if quick else 1.0)


@dataclass(frozen=True, slots=True)
class Part:
    """A page of benchmarks: what is measured for it, its heading on the terminal, its name in `docs`."""

    jobs: Callable[[bool], Iterator[Job]]
    title: str
    page: str


MODELS = Part(jobs, "deciban against scikit-learn", "benchmarks")
TABLES = Part(table_jobs, "deciban on tables", "benchmarks-tables")
TEXT = Part(text_jobs, "deciban on text", "benchmarks-text")
JUDGING = Part(judging_jobs, "exact cross-validation", "benchmarks-judging")
PARTNER = Part(partner_jobs, "the discriminative partner", "benchmarks-partner")
MAIL = Part(mail_jobs, "deciban on mail", "benchmarks-mail")


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", metavar="PATTERN", help="measure what matches this regular expression; writes no files"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that everything runs; writes no files"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--tables",
        dest="part",
        action="store_const",
        const=TABLES,
        help="files, frames and model files; their own page",
    )
    which.add_argument("--text", dest="part", action="store_const", const=TEXT, help="text; its own page")
    which.add_argument(
        "--judging", dest="part", action="store_const", const=JUDGING, help="cross-validation; its own page"
    )
    which.add_argument(
        "--partner",
        dest="part",
        action="store_const",
        const=PARTNER,
        help="logistic and evidence regression, boosting; their own page",
    )
    which.add_argument("--mail", dest="part", action="store_const", const=MAIL, help="mail; its own page")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs", help="where the page and the chart go")
    parser.set_defaults(part=MODELS)
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
    part: Part = chosen.part
    lines = measure(part.jobs(chosen.quick), chosen.only, Console(stderr=True))
    title = part.title + (" (quick: at a fiftieth of the sizes named)" if chosen.quick else "")
    report.show(lines, Console(width=None if sys.stdout.isatty() else 140), title)
    if not chosen.quick and chosen.only is None:
        for path in report.write(lines, chosen.folder, part.page):
            print(f"wrote {path}", file=sys.stderr)
    return int(any(line.met is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
