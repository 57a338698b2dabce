"""Numbers as bells, in bins or as rates: settled column by column, by leave-one-out evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.families.column_losses import binned_loss, gaussian_loss, poisson_loss
from deciban.ledger import Ledger
from deciban.ledger.grid import middles
from deciban.ledger.schema import Kind
from deciban.ledger.statistic import divide
from deciban.model.columns import OPEN, Column, Layout, Role
from deciban.model.model_options import Options
from deciban.scores import DECIBAN

SERVED: Mapping[Kind, Role] = {"moments": "number", "grid": "binned", "counts": "count"}
"""The role that each kind of statistic is kept for."""

BEYOND_DOUBT = 100.0
"""Nats by which all rows together must prefer one way, so that no tenth of them could turn the scale,"""

MOST_SQUARES, MOST_SHARE = 36.0, 0.1
"""if no row is far out: further than six standard deviations from its class's mean, or with more than a tenth of the
class's squares. A bell that one such row had blown up may be the best way without it."""

WORDS: Mapping[Role, str] = {"number": "a bell tells", "binned": "bins tell", "count": "a rate tells"}


class Decision(NamedTuple):
    """Columns with every role decided, the features of each block that are kept, and the certain columns.

    Of a block of words, or of numbers that are joined, all are kept: None.
    """

    columns: list[Column]
    kept: list[list[int] | None]
    certain: dict[str, Column]
    """Columns whose role no fold could change, if every fold is like the others."""

    def is_certain(self, columns: Sequence[Column]) -> bool:
        """Return whether no row could change the role of any of these columns."""
        return all(column.name in self.certain for column in columns if column.role in OPEN)


def decide(layout: Layout, ledger: Ledger, options: Options, sure: Mapping[str, Column] | None = None) -> Decision:
    """Settle every open column of a layout.

    It has been counted in all the ways it may be taken, and becomes the one that, alone, tells the class of a row
    left out with the least surprise. Columns that are `sure` already are taken as they are.
    """
    columns, known = layout.columns, dict(sure or {})
    losses = {
        name: loss
        for role in OPEN
        for name, loss in _losses(layout, ledger, options, [c.name for c in columns if c.role == role], known)
    }
    settled = {c.name: _settled(c, losses[c.name]) for c in columns if c.name in losses}
    final = [known.get(c.name) or settled.get(c.name) or c for c in columns]
    role = {column.name: column.role for column in final}
    kept = [
        None
        if kind in ("bags", "scatter")
        else [j for j, feature in enumerate(features) if kind == "levels" or role[feature.column] == SERVED[kind]]
        for kind, features in layout.blocks
    ]
    n = ledger.n_rows
    clear = [name for name, loss in losses.items() if _gain(loss) * n >= BEYOND_DOUBT]
    return Decision(final, kept, {**known, **{name: settled[name] for name in _tame(layout, ledger, clear)}})


def _tame(layout: Layout, ledger: Ledger, names: Sequence[str]) -> list[str]:
    """Those of these open columns in which no row is far out."""
    if not names:
        return []
    moments, grid = _part(layout, ledger, "moments", names), _part(layout, ledger, "grid", names)
    n = np.broadcast_to(moments.weight, moments.mean.shape)
    bound = np.minimum(MOST_SQUARES, MOST_SHARE * n) * divide(moments.m2, n)
    owner = grid.owner
    squares = (middles(grid.cell) - moments.mean[:, owner]) ** 2
    far = ((squares > bound[:, owner]) & (grid.table > 0)).any(axis=0)
    wild = np.bincount(owner, weights=far, minlength=len(names)) > 0
    return [name for name, out in zip(names, wild.tolist()) if not out]


def _losses(
    layout: Layout, ledger: Ledger, options: Options, names: Sequence[str], known: Mapping[str, Column]
) -> list[tuple[str, dict[Role, float]]]:
    """For each of these columns that is not known, its mean loss in every way that it may be taken."""
    names = [name for name in names if name not in known]
    if not names:
        return []
    moments, grid = _part(layout, ledger, "moments", names), _part(layout, ledger, "grid", names)
    loss: dict[Role, Array] = {
        "number": gaussian_loss(moments, grid, options.parameter_prior),
        "binned": binned_loss(grid, options.pseudo_count, priced=True),
    }
    if next(column.role for column in layout.columns if column.name == names[0]) == "countable":
        counts = poisson_loss(_part(layout, ledger, "counts", names), grid, options.pseudo_count)
        negative = np.bincount(grid.owner, weights=grid.cell < 0, minlength=len(names)) > 0
        loss["count"] = np.where(negative, np.inf, counts)
    return [(name, dict(zip(loss, each))) for name, each in zip(names, np.array(list(loss.values())).T.tolist())]


def _gain(losses: Mapping[Role, float]) -> float:
    """How much less the best way loses than the second, in nats a row."""
    best, second = sorted(losses.values())[:2]
    return second - best


def _settled(column: Column, losses: Mapping[Role, float]) -> Column:
    best, second = sorted(losses, key=losses.__getitem__)[:2]
    than = WORDS[second].rsplit(" ", 1)[0]
    words = f"{WORDS[best]} more than {than}, {(losses[second] - losses[best]) * DECIBAN:.2g} dB a row"
    return Column(column.name, best, words, column.parts, column.block)


def _part(layout: Layout, ledger: Ledger, kind: Kind, names: Sequence[str]) -> Any:
    block = layout.block_index(kind)
    assert block is not None
    place = {feature.column: j for j, feature in enumerate(layout.blocks[block].features)}
    return ledger.parts[block].reorder(np.array([place[name] for name in names], dtype=np.intp))
