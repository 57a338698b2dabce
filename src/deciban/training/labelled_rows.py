"""Rows whose classes are known, read from a table to be judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from deciban.errors import InputError, did_you_mean
from deciban.ledger import Schema
from deciban.model.matrices import Matrices, check_columns, make_level_encoders, row_blocks
from deciban.model.summarise_table import Progress, Rows, row_weights
from deciban.scorer import vocabularies
from deciban.sources.arrow_cells import Names
from deciban.sources.source import Reading, Source
from deciban.training.task import Task, plan


@dataclass(frozen=True)
class Question:
    """A table, and the columns that say which class each row has and how much it counts."""

    source: Source
    target: str
    classes: Sequence[str]
    weights: str | None = None
    allow_missing: bool = False

    @classmethod
    def again(cls, task: Task, schema: Schema) -> Question:
        """The table that was learned from, once more."""
        return cls(task.source, task.target, [str(label) for label in schema.classes], task.weights)

    def rows(self, matrices: Matrices, progress: Progress | None) -> Iterator[tuple[list[Any], Rows]]:
        """The rows that have a class, with the batches they come from; a class that is not known has the code −1."""
        known = Names(self.classes)
        read = 0
        for batches in row_blocks(self.source, self._wanted(matrices), matrices.layout):
            codes = np.concatenate([known.encode(batch.column(self.target)) for batch in batches])
            number = np.arange(read, read + len(codes))
            weight = None if self.weights is None else row_weights(batches, self.weights, read)
            told = codes >= 0
            codes[codes == len(known)] = -1
            read += len(codes)
            if progress is not None:
                progress(read)
            yield batches, Rows(matrices.columns(batches), codes.astype(np.int32), weight, number)[told]

    def _wanted(self, matrices: Matrices) -> dict[str, Reading]:
        for name in filter(None, (self.target, self.weights)):
            if name not in self.source.columns:
                raise InputError(
                    f"{self.source.name} has no column {name!r}{did_you_mean(name, self.source.columns)}"
                )
        columns = check_columns(self.source, matrices.layout.readings(), self.allow_missing)
        return {**columns, self.target: "text", **({self.weights: "number"} if self.weights else {})}


def known_settings(asker: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings themselves, if all of them are some of `train` that say what is learned."""
    known = set(signature(plan).parameters) - {"aside"}
    for name in settings:
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(f"{asker}() takes no {name!r}{near or '.'} Hint: its own arguments, or those of train()")
    return settings


def judged_settings(asker: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of `train` that say what is learned; those that say what else becomes of a model are refused."""
    if settings.get("calibrate") is not None:
        raise InputError(
            "models are judged here as they learned, without a calibration. "
            "Hint: evaluate(…, calibrate='auto') judges model and calibration, both without the fold"
        )
    return known_settings(asker, {name: value for name, value in settings.items() if name != "calibrate"})


def matrices_of(task: Task, schema: Schema) -> Matrices:
    """How rows are read by the names that ledgers of this schema have."""
    levels = next((block.levels for block in schema.blocks if block.kind == "levels"), None)
    return Matrices(
        task.layout, make_level_encoders(task.layout, levels or ()), words=task.options.words,
        vocabularies=vocabularies(schema),
    )  # fmt: skip
