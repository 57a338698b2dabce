"""Rows of several requests that are scored together: arrays of sixteen rows take little longer than those of one.

One row of 30 numbers takes 40 to 90 µs, half of the time of a request, and most of that are calls of NumPy, whose
number does not depend on that of the rows. Rows that arrive in the same turn of the event loop are scored in one call
(16 clients: 150 µs of CPU a request instead of 350); a single one waits for nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.model.row_reader import Row
from deciban.server.operations import collect_warnings
from deciban.server.served_model import Snapshot

Scores = NDArray[np.float64]


class RowBatches:
    """The rows that wait for their scores, by the snapshot of the model that scores them."""

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[Snapshot, list[tuple[list[Any], asyncio.Future[Scores | None]]]]] = {}

    async def score(self, snapshot: Snapshot, rows: Sequence[Row]) -> Scores | None:
        """Return ln p(k|x) of each row, scored with other requests; None where the rows must be scored as a table.

        That is where the model takes long, a row cannot be read alone, or a row of the batch is refused or warned of.
        """
        parts = snapshot.reader.read(rows) if snapshot.is_light else None
        if parts is None:
            return None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Scores | None] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._score_waiting)
        self._waiting.setdefault(id(snapshot), (snapshot, []))[1].append((parts, future))
        return await future

    def _score_waiting(self) -> None:
        """Score the rows of all requests that wait, and let these continue."""
        waiting, self._waiting = self._waiting, {}
        for snapshot, requests in waiting.values():
            scores = score_parts(snapshot, [parts for parts, _ in requests])
            for (_, future), found in zip(requests, scores):
                if not future.done():  # the client may be gone
                    future.set_result(found)


def score_parts(snapshot: Snapshot, requests: Sequence[Sequence[Any]]) -> list[Scores | None]:
    """Return the scores of each request's matrices; None for all of them where one fails or is warned of."""
    with suppress(Exception), collect_warnings() as warned:  # the table path reports it; no request waits for ever
        sizes = [parts[0].shape[0] for parts in requests]
        parts = requests[0] if len(requests) == 1 else [_stack(part) for part in zip(*requests)]
        scores = snapshot.model._score(parts, "log_posterior", 1)
        if not warned:
            return [scores] if len(requests) == 1 else np.split(scores, np.cumsum(sizes)[:-1])
    return [None] * len(requests)


def _stack(parts: Sequence[Any]) -> Any:
    """Concatenate the rows of matrices, dense or sparse."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from scipy.sparse import csr_array, vstack

    return csr_array(vstack(parts, format="csr"))
