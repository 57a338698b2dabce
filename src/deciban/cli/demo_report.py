"""The demo's report, for a terminal of 80 columns or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from deciban import __version__
from deciban.cli.demo_results import Forgetting, Lesson, Reason, Result
from deciban.formatting import signed

ABOUT = {
    "boundary.png": "three assumptions about irises, three shapes of boundary",
    "report.json": "the figures above",
}


def report(out: Console, diagnosis: Lesson, digits: Lesson, forgetting: Sequence[Forgetting]) -> None:
    """All sections in order."""
    out.print(Text(f"deciban {__version__}: classify by weighing evidence"), style="bold")
    section(
        out, "Tumours", f"benign or malignant? FittedModel from {diagnosis.learned}, held out {diagnosis.held_out}."
    )
    out.print(table(diagnosis.results))
    out.print("  Log-loss: lower is more honest about doubt; 0.693 is tossing a coin.", soft_wrap=True)
    if diagnosis.reason is not None:
        why(out, diagnosis.reason)
    section(out, "Digits", f"which of ten? FittedModel from {digits.learned}, held out {digits.held_out}.")
    out.print(table(digits.results))
    section(out, "Forgetting", "learn everything, forget a part: as if it had never been learned.")
    for line in forgetting:
        out.print(Text(f"  {line.model}: {line.learned} − {line.forgotten} rows, {verdict(line)}"), soft_wrap=True)


def section(out: Console, title: str, what: str) -> None:
    """A heading and, on its line, what it is about."""
    out.print()
    out.print(Text.assemble((title, "bold"), "  ", what), soft_wrap=True)


def table(results: Sequence[Result]) -> Table:
    """One line a model."""
    shown = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    shown.add_column("  model", no_wrap=True)
    for heading in ("accuracy", "wrong", "log-loss"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for r in results:
        shown.add_row(Text(f"  {r.model}"), f"{r.accuracy:.1%}", str(r.wrong), f"{r.log_loss:.3f}")
    return shown


def why(out: Console, reason: Reason) -> None:
    """The evidence for one answer, and that it adds up."""
    section(out, "Why?", f"the closest call of the held-out tumours (in truth {reason.truth}), by GaussianNB:")
    out.print(Text("\n".join(f"  {line}" for line in reason.text.splitlines())), soft_wrap=True)
    out.print(
        Text(
            f"  The prior and {len(reason.evidence) - 1} features add up to {signed(reason.added_up)} dB, "
            f"which is p({reason.winner}) = {reason.probability:.3f}.\n"
            "  dB is decibans: +10 is ten to one for, −10 ten to one against."
        ),
        soft_wrap=True,
    )


def verdict(line: Forgetting) -> str:
    """How alike the two models are."""
    if line.same_ledger:
        return "the very same ledger."
    return f"posteriors equal to {line.largest_difference:.0e}."


def closing(out: Console, files: Sequence[Path]) -> None:
    """What was written, and where to go from here."""
    out.print()
    out.print(Text("Written", "bold"))
    width = max(len(str(path)) for path in files)
    for path in files:
        out.print(Text(f"  {path!s:<{width}}  {ABOUT[path.name]}"), soft_wrap=True)
    out.print(Text("Next", "bold"))
    out.print("  read README.md, or see what else a model can do:", soft_wrap=True)
    out.print(Text(f'  {python()} -c "import deciban; help(deciban.GaussianBayes)"'), soft_wrap=True)


def python() -> str:
    """How to call the interpreter that has deciban, from here."""
    here = Path(sys.executable)
    return str(here.relative_to(Path.cwd())) if here.is_relative_to(Path.cwd()) else "python"
