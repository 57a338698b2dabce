"""Reasons for single rows: computed, and shown so that the strongest is seen first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deciban.cli.format_probability import probability
from deciban.cli.render import console, heading, line, one_line, short
from deciban.cli.word_reasons import Passages, passages, show_passages
from deciban.plain_json import plain
from deciban.scores.explanation import decibans, odds

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.model.model import Model
    from deciban.sources.source import Source

BAR = 12
"""Characters of the longest bar to either side."""

WIDE = 9
"""Characters of a number of decibans."""


@dataclass(frozen=True)
class Reasons:
    """Why one row is predicted as it is."""

    row: int
    prediction: Any
    probability: float
    truth: Any
    favoured: Any
    against: Any
    entries: list[tuple[str, float]]
    total: float
    called: str | None = None
    passages: Passages | None = None

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
        told |= {} if self.called is None else {"file": self.called}
        told |= {} if self.passages is None else {"words": plain(self.passages.to_list())}
        return told


def reasons(
    model: Model,
    source: Source,
    start: int,
    count: int,
    pair: tuple[str, str] | None,
    allow: bool,
    naming: str | None = None,
) -> list[Reasons]:
    """The reasons for some rows, called by the column `naming`; none where the table is shorter."""
    from deciban.cli.row_views import Carrying, Part
    from deciban.model.table_explanations import explain_rows

    part = Part(source, start, count)
    view = Carrying(part, [name for name in (model.target, naming) if name is not None and name in source.columns])
    carried: dict[str, list[Any]] = {name: [] for name in view.carried}
    p: list[Any] = []
    for batches, parts in model.blocks(view, allow):
        p += model.scores(parts, "posterior").tolist()
        for name, values in zip(view.carried, view.carried_by(batches)):
            carried[name] += values.to_pylist()
    if not p:
        return []
    told = explain_rows(model, part, pair, count, allow)
    truths, names = (carried.get(name or "", [None] * len(p)) for name in (model.target, naming))
    found = []
    for i, (posterior, truth, called) in enumerate(zip(p, truths, names)):
        k = max(range(len(posterior)), key=posterior.__getitem__)
        winner, other = told.winner[i : i + 1].tolist()[0], told.runner_up[i : i + 1].tolist()[0]
        reason = Reasons(
            start + i + 1, model.classes[k], posterior[k], truth, winner, other, told.entries(i),
            float(told.total[i]), called, passages(told, i),
        )  # fmt: skip
        found.append(reason)
    return found


def show(told: list[Reasons], most: int) -> None:
    """All of them, one under the other."""
    out = console()
    for reason in told:
        _one(out, reason, most)
    out.print()
    line(out, "dB is decibans: +10 is ten to one for, +3 two to one, −10 ten to one against.")


def _one(out: Console, reason: Reasons, most: int) -> None:
    room = 20 if reason.called is None else 30
    truth = "" if reason.truth is None else f"; in truth {short(str(reason.truth), room)}"
    sure = probability(reason.probability, math.isfinite(reason.total))
    chance = f"{short(str(reason.prediction), room)}, probability {sure}{truth}"
    heading(out, f"Row {reason.row}", chance if reason.called is None else short(reason.called, out.width - 20))
    if reason.called is not None:
        line(out, chance)
    line(out, f"why {short(str(reason.favoured), 30)} rather than {short(str(reason.against), 30)}:")
    if reason.passages is None:
        _columns(out, reason, most)
    else:
        show_passages(out, reason.passages, reason.total, most)


def _columns(out: Console, reason: Reasons, most: int) -> None:
    from rich.cells import cell_len

    shown, rest = reason.entries[:most], reason.entries[most:]
    if rest:
        shown = [*shown, (f"{len(rest)} more", sum(value for _, value in rest))]
    largest = max([abs(v) for _, v in shown if math.isfinite(v)] + [1e-9])
    width = min(max(cell_len(one_line(name)) for name, _ in [*shown, ("total", 0.0)]), out.width - 2 * BAR - 19)
    for name, value in shown:
        out.print(f"  {padded(name, width)}  {decibans(value, WIDE)}  {bar(value, largest)}".rstrip(), soft_wrap=True)
    out.print(f"  {'total':<{width}}  {decibans(reason.total, WIDE)}  {odds(reason.total)}".rstrip(), soft_wrap=True)


def padded(text: str, width: int) -> str:
    """The text in exactly so many characters."""
    from rich.cells import set_cell_size

    return set_cell_size(short(text, width), width)


def bar(value: float, largest: float) -> str:
    """Evidence as a length: to the right for, to the left against."""
    if math.isnan(value):
        return ""
    length = BAR if math.isinf(value) else round(BAR * min(1.0, abs(value) / largest))
    return " " * BAR + "│" + "█" * length if value >= 0 else " " * (BAR - length) + "█" * length + "│"
