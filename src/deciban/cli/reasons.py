"""Reasons for single rows: computed, and shown so that the strongest is seen first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deciban.cli.sheet import console, heading, line, one_line, short
from deciban.files.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.engines.arrow.source import Source
    from deciban.model.model import Model

BAR = 12
"""Characters of the longest bar to either side."""


@dataclass(frozen=True)
class Reason:
    """Why one row is predicted as it is."""

    row: int
    prediction: Any
    probability: float
    truth: Any
    favoured: Any
    against: Any
    entries: list[tuple[str, float]]
    total: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it: evidence without bound is None."""
        told: dict[str, Any] = plain(
            {
                "row": self.row,
                "prediction": self.prediction,
                "probability": self.probability,
                "truth": self.truth,
                "for": self.favoured,
                "against": self.against,
                "evidence": [{"what": name, "decibans": value} for name, value in self.entries],
                "total": self.total,
            }
        )
        return told


def reasons(
    model: Model, source: Source, start: int, count: int, pair: tuple[str, str] | None, allow: bool
) -> list[Reason]:
    """The reasons for some rows; none where the table is shorter."""
    from deciban.cli.views import Carrying, Part
    from deciban.model.explaining import explained

    part = Part(source, start, count)
    view = Carrying(part, [model.target] if model.target in source.columns else [])
    truths: list[Any] = []
    p: list[Any] = []
    for batches, parts in model.blocks(view, allow):
        p += model.scores(parts, "posterior").tolist()
        truths += view.carried_by(batches)[0].to_pylist() if view.carried else [None] * (len(p) - len(truths))
    if not p:
        return []
    told = explained(model, part, pair, count, allow)
    found = []
    for i, (posterior, truth) in enumerate(zip(p, truths)):
        k = max(range(len(posterior)), key=posterior.__getitem__)
        winner, other = told.winner[i : i + 1].tolist()[0], told.runner_up[i : i + 1].tolist()[0]
        entries, total = told.entries(i), float(told.total[i])
        found.append(Reason(start + i + 1, model.classes[k], posterior[k], truth, winner, other, entries, total))
    return found


def show(told: list[Reason], most: int) -> None:
    """All of them, one under the other."""
    out = console()
    for reason in told:
        _one(out, reason, most)
    out.print()
    line(out, "dB is decibans: +10 is ten to one for, +3 two to one, −10 ten to one against.")


def _one(out: Console, reason: Reason, most: int) -> None:
    from rich.cells import cell_len

    truth = "" if reason.truth is None else f"; in truth {short(str(reason.truth), 20)}"
    chance = f"{short(str(reason.prediction), 20)}, probability {probability(reason.probability)}{truth}"
    heading(out, f"Row {reason.row}", chance)
    line(out, f"why {short(str(reason.favoured), 30)} rather than {short(str(reason.against), 30)}:")
    shown, rest = reason.entries[:most], reason.entries[most:]
    if rest:
        shown = [*shown, (f"{len(rest)} more", sum(value for _, value in rest))]
    largest = max([abs(v) for _, v in shown if math.isfinite(v)] + [1e-9])
    width = min(max(cell_len(one_line(name)) for name, _ in [*shown, ("total", 0.0)]), out.width - 2 * BAR - 19)
    for name, value in shown:
        out.print(f"  {padded(name, width)}  {decibans(value)}  {bar(value, largest)}".rstrip(), soft_wrap=True)
    out.print(f"  {'total':<{width}}  {decibans(reason.total)}  {odds(reason.total)}".rstrip(), soft_wrap=True)


def probability(p: float) -> str:
    """Four digits; nearly certain is not certain."""
    return "over 0.9999" if 0.9999 < p < 1 else f"{p:.4f}"


def padded(text: str, width: int) -> str:
    """The text in exactly so many characters."""
    from rich.cells import set_cell_size

    return set_cell_size(short(text, width), width)


def decibans(value: float) -> str:
    """Evidence with its sign."""
    if math.isnan(value):
        return "undefined   "
    if math.isinf(value):
        return f"{'+∞' if value > 0 else '−∞':>9} dB"
    return f"{value:>+9.2f} dB"


def bar(value: float, largest: float) -> str:
    """Evidence as a length: to the right for, to the left against."""
    if math.isnan(value):
        return ""
    length = BAR if math.isinf(value) else round(BAR * min(1.0, abs(value) / largest))
    return " " * BAR + "│" + "█" * length if value >= 0 else " " * (BAR - length) + "█" * length + "│"


def odds(total: float) -> str:
    """Decibans as people bet."""
    if math.isnan(total):
        return "impossible under both"
    if abs(total) > 60:
        return "over a million to 1" + ("" if total > 0 else " against")
    return f"{10 ** (abs(total) / 10):.3g} to 1" + ("" if total >= 0 else " against")
