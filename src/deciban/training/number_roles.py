"""The role of numbers: Gaussian, bins or Poisson rate, decided column by column by leave-one-out log-loss."""

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
from deciban.model.columns import OPEN_ROLES, Column, Layout, Role
from deciban.model.model_options import Options
from deciban.scores import DECIBAN

ROLE_OF_KIND: Mapping[Kind, Role] = {"moments": "number", "grid": "binned", "counts": "count"}
"""The role that each kind of statistic is kept for."""

CERTAIN_GAIN_NATS = 100.0
"""The gain in nats of all rows together from which a role is certain: no tenth of the rows could change it,"""

MAX_SQUARED_DEVIATION, MAX_SHARE_OF_SQUARES = 36.0, 0.1
"""if there is no outlier: a row more than six standard deviations from its class's mean, or with more than a tenth of
the class's squares. A Gaussian widened by one such row may be the best role without it."""

ROLE_WORDS: Mapping[Role, str] = {"number": "Gaussian", "binned": "bins", "count": "Poisson rate"}
"""The names of roles in the reason for a decision."""


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
        return all(column.name in self.certain for column in columns if column.role in OPEN_ROLES)


def decide(layout: Layout, ledger: Ledger, options: Options, decided: Mapping[str, Column] | None = None) -> Decision:
    """Decide the role of every open column of a layout.

    The column has been counted under all its possible roles, and gets the one that, alone, predicts the class of a
    row left out with the lowest log-loss. The roles of columns that are `decided` already stay.
    """
    columns, known = layout.columns, dict(decided or {})
    losses = {
        name: loss
        for role in OPEN_ROLES
        for name, loss in _losses(layout, ledger, options, [c.name for c in columns if c.role == role], known)
    }
    chosen = {c.name: _choose_role(c, losses[c.name]) for c in columns if c.name in losses}
    final = [known.get(c.name) or chosen.get(c.name) or c for c in columns]
    role = {column.name: column.role for column in final}
    kept = [
        None
        if kind in ("bags", "scatter")
        else [
            j for j, feature in enumerate(features) if kind == "levels" or role[feature.column] == ROLE_OF_KIND[kind]
        ]
        for kind, features in layout.blocks
    ]
    n = ledger.n_rows
    clear = [name for name, loss in losses.items() if _gain(loss) * n >= CERTAIN_GAIN_NATS]
    return Decision(
        final, kept, {**known, **{name: chosen[name] for name in _without_outliers(layout, ledger, clear)}}
    )


def _without_outliers(layout: Layout, ledger: Ledger, names: Sequence[str]) -> list[str]:
    """Return those of these open columns that have no outlier."""
    if not names:
        return []
    moments, grid = _select_part(layout, ledger, "moments", names), _select_part(layout, ledger, "grid", names)
    n = np.broadcast_to(moments.weight, moments.mean.shape)
    bound = np.minimum(MAX_SQUARED_DEVIATION, MAX_SHARE_OF_SQUARES * n) * divide(moments.m2, n)
    owner = grid.owner
    squares = (middles(grid.cell) - moments.mean[:, owner]) ** 2
    far = ((squares > bound[:, owner]) & (grid.table > 0)).any(axis=0)
    wild = np.bincount(owner, weights=far, minlength=len(names)) > 0
    return [name for name, out in zip(names, wild.tolist()) if not out]


def _losses(
    layout: Layout, ledger: Ledger, options: Options, names: Sequence[str], known: Mapping[str, Column]
) -> list[tuple[str, dict[Role, float]]]:
    """Return the mean loss under every possible role, for each of these columns that is not known."""
    names = [name for name in names if name not in known]
    if not names:
        return []
    moments, grid = _select_part(layout, ledger, "moments", names), _select_part(layout, ledger, "grid", names)
    loss: dict[Role, Array] = {
        "number": gaussian_loss(moments, grid, options.parameter_prior),
        "binned": binned_loss(grid, options.pseudo_count, priced=True),
    }
    if next(column.role for column in layout.columns if column.name == names[0]) == "countable":
        counts = poisson_loss(_select_part(layout, ledger, "counts", names), grid, options.pseudo_count)
        negative = np.bincount(grid.owner, weights=grid.cell < 0, minlength=len(names)) > 0
        loss["count"] = np.where(negative, np.inf, counts)
    return [(name, dict(zip(loss, each))) for name, each in zip(names, np.array(list(loss.values())).T.tolist())]


def _gain(losses: Mapping[Role, float]) -> float:
    """Return the difference in loss of the best role and the second, in nats per row."""
    best, second = sorted(losses.values())[:2]
    return second - best


def _choose_role(column: Column, losses: Mapping[Role, float]) -> Column:
    best, second = sorted(losses, key=losses.__getitem__)[:2]
    gain = (losses[second] - losses[best]) * DECIBAN
    reason = f"{ROLE_WORDS[best]} preferred to {ROLE_WORDS[second]} by {gain:.2g} dB per row"
    return Column(column.name, best, reason, column.parts, column.block)


def _select_part(layout: Layout, ledger: Ledger, kind: Kind, names: Sequence[str]) -> Any:
    block = layout.block_index(kind)
    assert block is not None
    place = {feature.column: j for j, feature in enumerate(layout.blocks[block].features)}
    return ledger.parts[block].take_features(np.array([place[name] for name in names], dtype=np.intp))
