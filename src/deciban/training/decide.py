"""Numbers as bells, in bins or as rates: settled column by column, by leave-one-out evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deciban.families.leave_one_out import binned_loss, gaussian_loss, poisson_loss
from deciban.ledger import Ledger
from deciban.ledger.needs import Kind
from deciban.ledger.statistic import Array
from deciban.model.columns import Column, Layout, Role
from deciban.model.options import Options
from deciban.scores import DECIBAN

SERVED: Mapping[Kind, Role] = {"moments": "number", "grid": "binned", "counts": "count"}
"""The role that each kind of statistic is kept for."""

WORDS: Mapping[Role, str] = {"number": "a bell tells", "binned": "bins tell", "count": "a rate tells"}


def decide(columns: Sequence[Column], ledger: Ledger, options: Options) -> tuple[list[Column], list[list[int]]]:
    """The columns with every role settled, and which features of each block are kept.

    An open column has been counted in all the ways it may be taken. It becomes the one that, alone, tells the
    class of a row left out with the least surprise.
    """
    layout = Layout(tuple(columns))
    losses = {
        name: loss for role in ("undecided", "countable") for name, loss in _losses(layout, ledger, options, role)
    }
    final = [_settled(column, losses[column.name]) if column.name in losses else column for column in columns]
    role = {column.name: column.role for column in final}
    kept = [
        [j for j, feature in enumerate(features) if kind == "levels" or role[feature.column] == SERVED[kind]]
        for kind, features in layout.blocks.items()
    ]
    return final, kept


def _losses(layout: Layout, ledger: Ledger, options: Options, role: str) -> list[tuple[str, dict[Role, float]]]:
    """For each column of an open role, its mean loss in every way that it may be taken."""
    names = [column.name for column in layout.columns if column.role == role]
    if not names:
        return []
    moments, grid = _part(layout, ledger, "moments", names), _part(layout, ledger, "grid", names)
    loss: dict[Role, Array] = {
        "number": gaussian_loss(moments, grid, options.parameter_prior),
        "binned": binned_loss(grid, options.alpha, priced=True),
    }
    if role == "countable":
        counts = poisson_loss(_part(layout, ledger, "counts", names), grid, options.alpha)
        negative = [bool((grid.feature(j)[0] < 0).any()) for j in range(len(names))]
        loss["count"] = np.where(negative, np.inf, counts)
    return [(name, {way: float(each[j]) for way, each in loss.items()}) for j, name in enumerate(names)]


def _settled(column: Column, losses: Mapping[Role, float]) -> Column:
    best, second = sorted(losses, key=lambda role: losses[role])[:2]
    gain = (losses[second] - losses[best]) * DECIBAN
    than = WORDS[second].rsplit(" ", 1)[0]
    return replace(column, role=best, reason=f"{WORDS[best]} more than {than}, {gain:.2g} dB a row")


def _part(layout: Layout, ledger: Ledger, kind: Kind, names: Sequence[str]) -> Any:
    block = list(layout.blocks).index(kind)
    place = {feature.column: j for j, feature in enumerate(layout.blocks[kind])}
    return ledger.parts[block].reorder(np.array([place[name] for name in names], dtype=np.intp))
