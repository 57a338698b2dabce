"""`deciban demo`: training, explanation, forgetting and a picture on scikit-learn's bundled data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from deciban import __version__
from deciban.cli.files import check_folder, print_json, write_folder
from deciban.cli.parser import DEBUG, JSON, command, option
from deciban.cli.render import Screen
from deciban.formatting import format_probability, format_signed
from deciban.plain_json import to_json

if TYPE_CHECKING:
    from deciban.cli.demo_results import ExplainedPrediction, Forgetting, ModelQuality, SplitResults

PICTURE, REPORT = "boundary.png", "report.json"
CONTENTS = {PICTURE: "three assumptions about irises, three shapes of boundary", REPORT: "the figures above"}
"""The content of each file."""


@command(
    option("--folder", "FOLDER", "Where to write the picture and the report.", type=Path, default=Path("demo")),
    JSON, DEBUG, examples=["deciban demo --folder demo"],
)  # fmt: skip
def demo(folder: Path, json: bool) -> None:
    """See deciban at work on data that needs no download: train, evaluate, explain, forget, draw."""
    check_folder(folder)  # nothing is written before all is computed
    stderr = Screen(stderr=True)
    with stderr.status("reading, training, evaluating …"):
        from deciban.cli import demo_results

        tumours, digits = demo_results.evaluate_tumours(), demo_results.evaluate_digits()
        forgetting = demo_results.compare_forgetting()
    with stderr.status("drawing …"):
        picture = _draw_picture(stderr)
    figures: dict[str, Any] = {
        "version": __version__,
        "breast_cancer": asdict(tumours),
        "digits": asdict(digits),
        "forgetting": [asdict(line) for line in forgetting],
    }
    report = to_json(figures, indent=2).encode() + b"\n"
    files = write_folder(folder, {**({PICTURE: picture} if picture else {}), REPORT: report})
    if json:
        print_json({**figures, "files": [str(path) for path in files]})
        show_files(stderr, files)
        return
    out = Screen()
    show_results(out, tumours, digits, forgetting)
    show_files(out, files)


def _draw_picture(stderr: Screen) -> bytes | None:
    """Return the picture; without matplotlib, print how to install it and return None."""
    from deciban.cli.demo_results import draw_boundaries
    from deciban.errors import MissingExtraError

    try:
        return draw_boundaries()
    except MissingExtraError as missing:
        stderr.print(f"no picture: {missing}", markup=False, soft_wrap=True)
        return None


def show_results(out: Screen, tumours: SplitResults, digits: SplitResults, forgetting: Sequence[Forgetting]) -> None:
    """Print the results."""
    out.print(Text(f"deciban {__version__}: classify by weighing evidence"), style="bold")
    out.print_heading("Tumours", f"benign or malignant? Learned from {tumours.learned}, held out {tumours.held_out}.")
    out.print(make_table(tumours.results))
    out.print("  Log-loss: lower is better; 0.693 is tossing a coin.", soft_wrap=True)
    if tumours.reason is not None:
        show_reason(out, tumours.reason)
    out.print_heading("Digits", f"which of ten? Learned from {digits.learned}, held out {digits.held_out}.")
    out.print(make_table(digits.results))
    out.print_heading("Forgetting", "learn everything, forget a part: equal to never having learned it.")
    for line in forgetting:
        equal = "equal ledgers" if line.same_ledger else f"posteriors equal to {line.largest_difference:.0e}"
        out.print(Text(f"  {line.model}: {line.learned} − {line.forgotten} rows, {equal}."), soft_wrap=True)


def make_table(results: Sequence[ModelQuality]) -> Table:
    """Return a table with the accuracy, errors and log-loss of each model."""
    shown = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    shown.add_column("  model", no_wrap=True)
    for name in ("accuracy", "wrong", "log-loss"):
        shown.add_column(name, justify="right", no_wrap=True)
    for r in results:
        shown.add_row(Text(f"  {r.model}"), f"{r.accuracy:.1%}", str(r.wrong), f"{r.log_loss:.3f}")
    return shown


def show_reason(out: Screen, reason: ExplainedPrediction) -> None:
    """Print the evidence for one prediction, its sum, and the probability that follows from it."""
    out.print_heading("Why?", f"the least certain tumour held out ({reason.truth}), by GaussianNB:")
    out.print(Text("\n".join(f"  {line}" for line in reason.text.splitlines())), soft_wrap=True)
    out.print(
        f"  The prior and {len(reason.evidence) - 1} features add up to {format_signed(reason.added_up)} dB, "
        f"which is p({reason.winner}) = {format_probability(reason.probability)}.\n"
        "  dB is decibans: +10 is ten to one for, −10 ten to one against.",
        soft_wrap=True,
    )


def show_files(out: Screen, files: Sequence[Path]) -> None:
    """Print which files were written with their contents, and what to do next."""
    out.print_heading("Written")
    width = max(len(str(path)) for path in files)
    for path in files:
        out.print(Text(f"  {path!s:<{width}}  {CONTENTS[path.name]}"), soft_wrap=True)
    programs = Path(sys.executable).parent
    here = programs.relative_to(Path.cwd()) if programs.is_relative_to(Path.cwd()) else Path()
    out.print(Text("Next", "bold"))
    out.print("  read README.md, see what else a model can do:", soft_wrap=True)
    out.print(Text(f'  {here / "python"} -c "import deciban; help(deciban.GaussianBayes)"'), soft_wrap=True)
    out.print("  or try it in a browser, on your own table or an example:", soft_wrap=True)
    out.print(Text(f"  {here / 'deciban'} studio"), soft_wrap=True)
