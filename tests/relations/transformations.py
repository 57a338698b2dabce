"""What may be done to the rows of training and of prediction, and what must follow: a line each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet

from deciban.engines.threads import limit_threads
from tests.relations.cases import EQUAL, ROUNDED, Case, Follows, NotApplicable, Outcome, not_worse, same_bins
from tests.relations.settings import FITTED
from tests.relations.tables import TARGET, Task

Change = Callable[[Task, np.random.Generator], Task | tuple[Task, Task]]
Frame = pd.DataFrame


@dataclass(frozen=True)
class Transformation:
    """A change of a task, or two tasks made of it, and the comparison of the answers."""

    name: str
    change: Change
    follows: Follows

    def check(self, case: Case, rng: np.random.Generator) -> str | None:
        """Return what is wrong, or None."""
        changed = self.change(case.task, rng)
        # a fit ends within its tolerance, which the order of classes and levels reaches by another way
        follows = ROUNDED if self.follows is EQUAL and case.setting in FITTED else self.follows
        if isinstance(changed, tuple):
            return follows(case.learn(changed[0]), case.learn(changed[1]))
        return follows(case.base, case.learn(changed))


def is_real(column: pd.Series) -> bool:
    """Whether a column has numbers with decimals, which have a unit; whole numbers are counts, or codes."""
    return bool(column.dtype.kind == "f" and (column.dropna() % 1 != 0).any())


def is_whole(column: pd.Series) -> bool:
    return bool(column.dtype.kind in "iu")


def is_text(column: pd.Series) -> bool:
    return bool(pd.api.types.is_string_dtype(column.dtype) and not column.astype(str).str.contains(" .* ").any())


def of_columns(is_wanted: Callable[[pd.Series], bool], function: Callable[..., pd.Series]) -> Change:
    """Change cells by a function of a column, of that column of the rows to learn, and of a generator."""

    def change(task: Task, rng: np.random.Generator) -> Task:
        names = task.columns(is_wanted)
        names = [name for name in names if name != task.options.get("weights")]
        if not names:
            raise NotApplicable
        seeds = {name: rng.integers(2**32) for name in names}

        def convert(frame: Frame) -> Frame:
            make = lambda name: function(frame[name], task.train[name], np.random.default_rng(seeds[name]))  # noqa: E731
            return frame.assign(**{name: make(name) for name in names})

        return task.change(convert)

    return change


def shift(cells: pd.Series, learned: pd.Series, rng: np.random.Generator) -> pd.Series:
    deviations = 10 ** rng.uniform(0, 6) * rng.choice([-1, 1])
    return cells + float(np.round(deviations)) * float(learned.std())


def scale(cells: pd.Series, learned: pd.Series, rng: np.random.Generator) -> pd.Series:
    return cells * 10.0 ** rng.integers(-9, 10)


def scale_by_two(cells: pd.Series, learned: pd.Series, rng: np.random.Generator) -> pd.Series:
    return cells * 2.0 ** rng.integers(-30, 31)


def permute_rows(task: Task, rng: np.random.Generator) -> Task:
    return replace(task, train=task.train.iloc[rng.permutation(len(task.train))].reset_index(drop=True))


def permute_columns(task: Task, rng: np.random.Generator) -> Task:
    order = rng.permutation(len(task.train.columns))
    return task.change(lambda frame: frame[frame.columns[order]])


def rename_classes(make: Callable[[int, int], Any]) -> Change:
    """Rename the i-th of n classes."""

    def change(task: Task, rng: np.random.Generator) -> Task:
        labels = sorted(task.train[TARGET].unique())
        names = {label: make(i, len(labels)) for i, label in enumerate(labels)}
        back = {name: label for label, name in names.items()}
        return task.change(lambda frame: frame.assign(target=frame[TARGET].map(names)), class_names=back)

    return change


def swap_labels(task: Task, rng: np.random.Generator) -> Task:
    labels = sorted(task.train[TARGET].unique())
    if len(labels) != 2:
        raise NotApplicable
    swapped = dict(zip(labels, labels[::-1]))
    return task.change(lambda frame: frame.assign(target=frame[TARGET].map(swapped)), class_names=swapped)


def rename_columns(task: Task, rng: np.random.Generator) -> Task:
    others = [name for name in task.train.columns if name not in (TARGET, task.options.get("weights"))]
    names = {name: f"v{rng.integers(10**9)}" for name in others}
    roles = {names.get(name, name): role for name, role in task.options.get("roles", {}).items()}
    options = {**task.options, "roles": roles} if roles else task.options
    return task.change(lambda frame: frame.rename(columns=names), options=options)


def rename_levels(cells: pd.Series, learned: pd.Series, rng: np.random.Generator) -> pd.Series:
    """Name levels so that their order reverses; the rows to learn decide, and unseen levels stay unseen."""
    levels = sorted(learned.dropna().unique())
    names = {level: f"level {len(levels) - i:03}" for i, level in enumerate(levels)}
    return cells.map(lambda cell: names.get(cell, f"new {cell}") if isinstance(cell, str) else None)


def with_column(name: str, make: Callable[[Frame, np.random.Generator], Any]) -> Change:
    def change(task: Task, rng: np.random.Generator) -> Task:
        return task.change(lambda frame: frame.assign(**{name: make(frame, rng)}))

    return change


def add_empty_class(task: Task, rng: np.random.Generator) -> Task:
    labels = sorted(task.train[TARGET].unique())
    return replace(task, options={**task.options, "classes": [*labels, "zz without rows"]})


def same_but_empty_class(before: Outcome, after: Outcome) -> str | None:
    """Expect 0 for the class without rows, and the same for the others."""
    p = after.p.drop(columns="zz without rows")
    return (
        EQUAL(before, replace(after, p=p)) if after.p["zz without rows"].max() <= 1e-9 else "p of an empty class > 0"
    )


def as_weights(task: Task, rng: np.random.Generator) -> tuple[Task, Task]:
    """Make the rows repeated up to three times, and the same rows with that number as a weight."""
    if "weights" in task.options:
        raise NotApplicable
    times = rng.integers(1, 4, len(task.train))
    repeated = task.train.loc[np.repeat(np.arange(len(task.train)), times)].reset_index(drop=True)
    weighted = replace(task, train=task.train.assign(w=times), options={**task.options, "weights": "w"})
    return replace(task, train=repeated), weighted


def with_absent_rows(task: Task, rng: np.random.Generator) -> tuple[Task, Task]:
    """Make rows of weight 1, and the same among others of weight 0."""
    if "weights" in task.options:
        raise NotApplicable
    options = {**task.options, "weights": "w"}
    ones = task.train.assign(w=1)
    other = task.train.sample(len(ones) // 3, random_state=int(rng.integers(2**31))).assign(w=0)
    other[TARGET] = rng.permutation(other[TARGET].to_numpy())
    both = pd.concat([ones, other]).reset_index(drop=True)
    kept = rng.permutation(len(both))
    place = np.sort(kept[kept < len(ones)].argsort())  # the rows of weight 1 keep their order
    order = np.empty(len(both), int)
    is_one = np.isin(kept, np.arange(len(ones)))
    order[is_one], order[~is_one] = place, np.arange(len(ones), len(both))
    return replace(task, train=ones, options=options), replace(
        task, train=both.iloc[order].reset_index(drop=True), options=options
    )


def survey_weights_in_units(task: Task, rng: np.random.Generator) -> tuple[Task, Task]:
    """Make survey weights, and the same in another unit."""
    if "weights" in task.options:
        raise NotApplicable
    options = {**task.options, "survey_weights": "w"}
    w, unit = rng.gamma(4, 1, len(task.train)), 10 ** rng.uniform(-6, 6)
    tasks = [replace(task, train=task.train.assign(w=w * c), options=options) for c in (1.0, unit)]
    return tasks[0], tasks[1]


def equal_survey_weights(task: Task, rng: np.random.Generator) -> tuple[Task, Task]:
    """Make rows without weights, and the same with survey weights of a thousand."""
    if "weights" in task.options:
        raise NotApplicable
    options = {**task.options, "survey_weights": "w"}
    return task, replace(task, train=task.train.assign(w=1000.0), options=options)


def without_label(task: Task, rng: np.random.Generator) -> Task:
    """Add rows whose class is missing, at the end."""
    other = task.train.sample(10, random_state=int(rng.integers(2**31))).assign(target=None)
    return replace(task, train=pd.concat([task.train, other]).reset_index(drop=True))


def double_rows(task: Task, rng: np.random.Generator) -> Task:
    return replace(task, train=pd.concat([task.train, task.train]).reset_index(drop=True))


def evaluated(task: Task, rng: np.random.Generator) -> tuple[Task, Task]:
    """Switch the evaluation off and on, without the map that it would bring."""
    options = {"calibrate": "none", **task.options}
    off, on = ({**options, "judge": judge} for judge in (False, True))
    return replace(task, options=off), replace(task, options=on)


def read_as(convert: Callable[[Frame], Any]) -> Change:
    """Give the rows in another container."""
    return lambda task, rng: replace(task, as_read=convert)


def file_of(suffix: str, write: Callable[[Frame, Path], Any]) -> Change:
    """Give the rows in a file, which lives as long as this process."""

    def convert(frame: Frame) -> str:
        path = Path(tempfile.mkstemp(suffix=suffix, dir=FOLDER.name)[1])
        write(frame, path)
        return str(path)

    return read_as(convert)


FOLDER = tempfile.TemporaryDirectory(prefix="relations")


def arrow(frame: Frame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def as_dictionary(cells: pd.Series, learned: pd.Series, rng: np.random.Generator) -> pd.Series:
    """Make a categorical of the levels of the rows to learn and some declared without a row, in any order."""
    levels = [*learned.dropna().unique(), "declared, never seen", *sorted(set(cells.dropna()) - set(learned))]
    return cells.astype(pd.CategoricalDtype([levels[i] for i in rng.permutation(len(levels))]))


def check_threads(case: Case, rng: np.random.Generator) -> str | None:
    """Learn and predict with one thread and with two."""
    outcomes = []
    for threads in (1, 2):
        with limit_threads(threads):
            outcomes.append(case.learn(case.task))
    return None if outcomes[0].p.equals(outcomes[1].p) else EQUAL(*outcomes) or "bits differ"


is_flag = lambda cells: cells.dtype.kind == "b"  # noqa: E731
is_date = lambda cells: cells.dtype.kind == "M"  # noqa: E731

TRANSFORMATIONS = [
    Transformation(*line)
    for line in (
        ("numbers shifted", of_columns(is_real, shift), same_bins),
        ("numbers in other units", of_columns(is_real, scale), same_bins),
        ("numbers times powers of two", of_columns(is_real, scale_by_two), EQUAL),
        ("°C in °F", of_columns(is_real, lambda cells, *_: cells * 1.8 + 32), same_bins),
        ("°C in K", of_columns(is_real, lambda cells, *_: cells + 273.15), same_bins),
        ("Pa in hPa", of_columns(is_real, lambda cells, *_: cells / 100), same_bins),
        ("numbers negated", of_columns(is_real, lambda cells, *_: -cells), same_bins),
        ("rows permuted", permute_rows, EQUAL),
        ("columns permuted", permute_columns, EQUAL),
        ("classes in reverse order", rename_classes(lambda i, n: f"class {n - i:03}"), EQUAL),
        ("classes numbered", rename_classes(lambda i, n: n - i), EQUAL),
        ("classes of Booleans", rename_classes(lambda i, n: [True, False][i] if n == 2 else f"{i}"), EQUAL),
        ("two labels swapped", swap_labels, EQUAL),
        ("a class without rows", add_empty_class, same_but_empty_class),
        ("columns renamed", rename_columns, EQUAL),
        ("levels renamed", of_columns(is_text, rename_levels), EQUAL),
        ("whole numbers as floats", of_columns(is_whole, lambda cells, *_: cells.astype(float)), EQUAL),
        ("whole numbers of 32 bits", of_columns(is_whole, lambda cells, *_: cells.astype("int32")), EQUAL),
        ("texts as categoricals", of_columns(is_text, as_dictionary), EQUAL),
        ("texts as objects", of_columns(is_text, lambda cells, *_: cells.astype(object)), EQUAL),
        ("flags as 0 and 1", of_columns(is_flag, lambda cells, *_: cells.astype(int)), EQUAL),
        ("flags as words", of_columns(is_flag, lambda cells, *_: cells.map({True: "yes", False: "no"})), EQUAL),
        ("dates as texts", of_columns(is_date, lambda cells, *_: cells.dt.strftime("%Y-%m-%d %H:%M:%S")), EQUAL),
        ("dates in nanoseconds", of_columns(is_date, lambda cells, *_: cells.astype("datetime64[ns]")), EQUAL),
        ("a constant column", with_column("constant", lambda frame, rng: 7.5), EQUAL),
        ("a constant word", with_column("constant", lambda frame, rng: "same"), EQUAL),
        ("a constant or missing column",
         with_column("partly", lambda frame, rng: np.where(rng.random(len(frame)) < 0.5, "same", None)), EQUAL),
        ("an empty column", with_column("empty", lambda frame, rng: None), EQUAL),
        ("an empty column of floats", with_column("empty", lambda frame, rng: np.nan), EQUAL),
        ("weights for repeated rows", as_weights, ROUNDED),
        ("rows of weight 0", with_absent_rows, EQUAL),
        ("survey weights in another unit", survey_weights_in_units, ROUNDED),
        ("survey weights that are all alike", equal_survey_weights, ROUNDED),
        ("rows without a class", without_label, EQUAL),
        ("rows doubled", double_rows, not_worse(0.25)),
        ("evaluation off and on", evaluated, EQUAL),
        ("Arrow", read_as(arrow), EQUAL),
        ("polars", read_as(pl.from_pandas), EQUAL),
        ("Parquet", file_of(".parquet", lambda frame, path: pa.parquet.write_table(arrow(frame), path)), EQUAL),
        ("CSV", file_of(".csv", lambda frame, path: frame.to_csv(path, index=False)), EQUAL),
        ("JSON lines", file_of(".jsonl", lambda frame, path: frame.to_json(
            path, orient="records", lines=True, date_format="iso", double_precision=15)), ROUNDED),
    )
]  # fmt: skip
