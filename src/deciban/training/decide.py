"""Numbers as bells or in bins: settled column by column, by leave-one-out evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deciban.families.leave_one_out import gaussian_or_binned
from deciban.ledger import Grid, Ledger, Moments
from deciban.model.columns import Column, Layout, Role
from deciban.model.options import Options
from deciban.scores import DECIBAN


def decide(columns: Sequence[Column], ledger: Ledger, options: Options) -> tuple[list[Column], list[list[int]]]:
    """The columns with every role settled, and which features of each block are kept.

    An undecided number has been counted both ways. It becomes the one that, alone, tells the class of a row
    left out with less surprise.
    """
    layout = Layout(tuple(columns))
    roles = _settled(layout, ledger, options)
    final = [replace(c, **roles[c.name]) if c.name in roles else c for c in columns]  # type: ignore[arg-type]
    role = {column.name: column.role for column in final}
    kept = []
    for kind, features in layout.blocks.items():
        dropped: Role | None = {"moments": "binned", "grid": "number"}.get(kind)  # type: ignore[assignment]
        kept.append([j for j, feature in enumerate(features) if role[feature.column] != dropped])
    return final, kept


def _settled(layout: Layout, ledger: Ledger, options: Options) -> dict[str, dict[str, str]]:
    """Role and reason of each undecided column."""
    open_columns = [column.name for column in layout.columns if column.role == "undecided"]
    if not open_columns:
        return {}
    moments, grid = (_part(layout, ledger, kind, open_columns) for kind in ("moments", "grid"))
    assert isinstance(moments, Moments)
    assert isinstance(grid, Grid)
    bell, bins = gaussian_or_binned(moments, grid, options.alpha, options.parameter_prior)
    return {name: _choice(float(bell[j]), float(bins[j])) for j, name in enumerate(open_columns)}


def _choice(bell: float, bins: float) -> dict[str, str]:
    gain = abs(bell - bins) * DECIBAN
    if bins < bell:
        return {"role": "binned", "reason": f"numbers; bins tell more than a bell, {gain:.2g} dB a row"}
    return {
        "role": "number",
        "reason": f"numbers; a bell tells more than bins, {gain:.2g} dB a row",
    }


def _part(layout: Layout, ledger: Ledger, kind: str, names: Sequence[str]) -> object:
    import numpy as np

    block = list(layout.blocks).index(kind)  # type: ignore[arg-type]
    place = {feature.column: j for j, feature in enumerate(layout.blocks[kind])}  # type: ignore[index]
    return ledger.parts[block].reorder(np.array([place[name] for name in names], dtype=np.intp))
