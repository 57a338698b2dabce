"""Diagnostics of a table: `learning_curve`, and `dependence` of its columns given the class.

A learning curve is the quality of a model with fewer rows, or with wrong labels, from nested parts of one table. Rows
are put in a fixed random order, by a hash of their numbers. The first fifth is held out; the others are learned in
nested prefixes, whose ledgers are sums: each size is one addition, not another reading. Dependence is how far a table
violates the naive assumption, from one pass over it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.docstrings import document
from deciban.errors import InputError
from deciban.formatting import format_count
from deciban.ledger.hashing import hash_row_numbers
from deciban.ledger.schema import sort_classes
from deciban.metrics.dependence import Dependence
from deciban.metrics.learning_curves import LearningCurve
from deciban.metrics.mutual_information import Feature
from deciban.metrics.pair_dependence import Sample
from deciban.metrics.report import Report
from deciban.metrics.scorecard import Scorecard
from deciban.model.summarise_table import Progress
from deciban.sources.arrow_cells import LevelEncoder
from deciban.sources.source import READING_PARAMETERS, ColumnReading, SourceView, role_hint
from deciban.training.column_roles import decide_date_parts
from deciban.training.table_folds import learn_up_to
from deciban.training.table_rows import Reservoir, read_labelled_batches, to_effective_rows
from deciban.training.task import TABLE_PARAMETERS, Task, check_fold_settings, plan
from deciban.training.train import train_task

HELD_OUT_SHARE = 0.2
"""The share of the rows that are held out, and that every model is evaluated on."""

MAX_SIZE_HALVINGS = 12
"""The number of halvings of the default sizes: all rows that are not held out, half of them, a quarter, …"""

MIN_CURVE_ROWS = 10
"""The least of the default sizes, in rows."""

NO_HASHES = np.zeros(0, dtype=np.uint64)

NUMBER_TYPES = (int, float, np.integer, np.floating)

MAX_COUNTED_PAIRS = 1 << 29
"""The number of rows times pairs that are counted: 300 features in 12 000 rows."""

MAX_DEPENDENCE_FEATURES = 1000
"""The number of features whose pairs are measured."""


@document(TABLE_PARAMETERS)
def learning_curve(
    source: Any = None,
    *,
    target: str | int,
    sizes: Sequence[float] | None = None,
    flipped: float | Sequence[float] = 0.0,
    progress: Progress | None = None,
    **settings: Any,
) -> LearningCurve:
    """Evaluate models by the number of rows learned, and with `flipped` by the share of wrong labels.

    A fifth of the rows, drawn at random, is held out and scored by every model. The rows are read once for each share
    of flipped labels, and the target alone once more, where sizes or shares are given.

    Parameters
    ----------
    sizes : sequence of float or None
        Numbers of rows, or shares (up to 1.0) of those that are not held out; None: all of these, half, a quarter …
    flipped : float or sequence of float
        The share of the labels learned that are replaced by another class; those held out stay as they are.

    Returns
    -------
    LearningCurve
        The report on each model.

    Examples
    --------
    >>> import deciban
    >>> points = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> curve = deciban.learning_curve(points, target="odd", sizes=[20, 100], numbers="number")
    >>> curve.sizes, bool(curve.log_loss[1] < curve.log_loss[0])
    ((20, 100), True)
    """
    several = np.ndim(flipped) > 0
    shares = _check_shares(np.atleast_1d(flipped).tolist())
    wanted_sizes = None if sizes is None else _check_sizes(sizes)
    task = plan(source, target=target, **check_fold_settings("learning_curve", settings))
    classes, hashes = read_target(task) if wanted_sizes is not None or any(shares) else ((), NO_HASHES)
    lines = []
    for share in shares:
        prefixes = Prefixes.from_halvings(task.source.n_rows)
        if wanted_sizes is not None:
            prefixes = Prefixes.from_sizes(wanted_sizes, hashes)
        source = FlippedLabels(task.source, task.target, classes, share) if share else task.source
        lines.append(prefixes.evaluate(replace(task, source=source), progress))
    numbers = lines[0][0]
    measured = (
        f"{format_count(lines[0][1][0].rows)} rows, drawn at random, were held out and scored by every model; "
        f"each model learned the rows of the one before and more; probabilities are not calibrated"
    )
    return LearningCurve(task.target, numbers, tuple(shares), tuple(line for _, line in lines), several, measured)


def _check_shares(shares: list[Any]) -> list[float]:
    """Check that shares of flipped labels are from 0 to below 1, and return them as floats."""
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, NUMBER_TYPES) or not 0 <= share < 1:
            raise InputError(f"flipped is a share of the labels, at least 0 and below 1, or several; not {share!r}")
    if not shares:
        raise InputError("flipped is empty: there is nothing to learn. Hint: flipped=0 leaves all labels as they are")
    return [float(share) for share in shares]


def _check_sizes(sizes: Any) -> list[int | float]:
    """Check and return sizes (or one size) as a list: an int is a number of rows, a float of at most 1 a share."""
    listed = [sizes] if isinstance(sizes, NUMBER_TYPES) else list(sizes)
    for size in listed:
        is_number = isinstance(size, NUMBER_TYPES) and not isinstance(size, bool) and 0 < size < math.inf
        if not is_number or (size > 1 and size != int(size)):
            raise InputError(f"sizes are whole numbers of rows, or shares of them from 0 to 1.0; not {size!r}")
    if not listed:
        raise InputError("sizes is empty. Hint: leave it out for the usual ones")
    return [int(size) if isinstance(size, (int, np.integer)) else float(size) for size in listed]


def read_target(task: Task) -> tuple[Sequence[str], NDArray[np.uint64]]:
    """Read the target; return its classes, and the sorted hashes of the rows to learn from."""
    names, used, hashes, read = LevelEncoder(grows=True), set(), [NO_HASHES], 0
    for is_learned, batches in read_labelled_batches(task):
        codes = np.concatenate([names.encode(batch.column(task.target)) for batch in batches])
        used |= set(np.unique(codes[is_learned]).tolist())
        number = read + np.flatnonzero(is_learned)
        hashes.append(hash_row_numbers(number[~is_drawn(number, HELD_OUT_SHARE)]))
        read += len(is_learned)
    return sort_classes(names.list[k] for k in used), np.sort(np.concatenate(hashes))


@dataclass
class Prefixes:
    """An assignment of rows to nested sizes: a row belongs to the first size whose end is not below its hash."""

    ends: NDArray[np.uint64]
    min_rows: int = 1
    """The size below which no model is learned."""
    counts: Any = 0
    """The number of rows of each size that have been read, and of those that no model learns."""

    @classmethod
    def from_halvings(cls, n_rows: int | None) -> Prefixes:
        """Return the sizes of all rows that are not held out, half of them, a quarter, …, each of 10 rows or more.

        `n_rows` is the number of all rows, approximately; None where it is not known.
        """
        n_learned = np.inf if n_rows is None else n_rows * (1 - HELD_OUT_SHARE)
        n_halvings = min(MAX_SIZE_HALVINGS, np.ceil(np.log2(max(2.0, n_learned / MIN_CURVE_ROWS))))
        shares = [0.5**i for i in reversed(range(1 + int(n_halvings)))]
        ends = [int((HELD_OUT_SHARE + (1 - HELD_OUT_SHARE) * share) * 2**64) for share in shares]
        return cls(np.array([min(end, 2**64 - 1) for end in ends], dtype=np.uint64), MIN_CURVE_ROWS)

    @classmethod
    def from_sizes(cls, sizes: Sequence[int | float], hashes: NDArray[np.uint64]) -> Prefixes:
        """Return exactly these sizes, in rows or shares, given the sorted hashes of the rows to learn from."""
        n = len(hashes)
        rows = sorted(
            {max(1, round(size * n)) if isinstance(size, float) and size <= 1 else int(size) for size in sizes}
        )
        if not n or rows[-1] > n:
            raise InputError(
                f"sizes asks for {rows[-1]} rows, and there are {n} to learn from (a fifth is held out). "
                f"Hint: smaller sizes, or shares: 0.5 is half of these rows"
            )
        return cls(hashes[np.array(rows) - 1])

    def __call__(self, codes: NDArray[np.int32], number: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the first size that each row is in (last: none), as a fold; add the rows to `counts`."""
        fold = np.searchsorted(self.ends, hash_row_numbers(number)).astype(np.int32)
        fold[is_drawn(number, HELD_OUT_SHARE)] = len(self.ends)
        self.counts = self.counts + np.bincount(fold, minlength=len(self.ends) + 1)
        return fold

    def evaluate(self, task: Task, progress: Progress | None) -> tuple[tuple[int, ...], tuple[Report, ...]]:
        """Train a model for each size; return the rows that each learned, and its report; InputError for few rows."""
        trained = train_task(task, len(self.ends) + 1, progress, self)
        trained.check_folds(len(self.ends) + 1, "sizes")
        sample = trained.sample
        rows = None if sample is None else sample[is_drawn(sample.number, HELD_OUT_SHARE)]
        if rows is None or not len(rows.codes):
            raise InputError(
                f"{task.source.name} has too few rows with a class, {trained.n_learned}, to hold some out. "
                f"Hint: evaluate(…, folds='loo') evaluates on every row"
            )
        prefixes = zip(np.cumsum(self.counts[:-1]).tolist(), enumerate(accumulate(trained.folds[:-1])))
        points = {n: prefix for n, prefix in prefixes if n >= self.min_rows}
        if not points:
            raise InputError(
                f"{task.source.name} has too few rows with a class, {trained.n_learned}, for a learning curve. "
                f"Hint: sizes=[{max(1, int(self.counts[:-1].sum()))}], or evaluate(…, folds='loo')"
            )
        reports = []
        for last, ledger in points.values():
            posterior = learn_up_to(trained.task, ledger, trained.sample, last).scores(rows, "log_posterior")
            known = ledger.rows > 0
            card = Scorecard.of(posterior, rows.codes, rows.weight, known, keep=True, number=rows.number)
            report = card.report(trained.model.classes, f"{format_count(len(rows.codes), 'row')} held out")
            if known.sum() < 2:  # the only class is certain, so its rows have no loss whatever the model
                report = replace(report, log_loss=math.nan, log_loss_error=math.nan)
            reports.append(report)
        return tuple(points), tuple(reports)


def is_drawn(number: NDArray[np.int64], share: float, draw: int = 1) -> NDArray[np.bool_]:
    """Return whether rows are in a random sample of this share, by their numbers alone; each `draw` is another."""
    return hash_repeatedly(number, draw) < share * 2.0**64


def hash_repeatedly(number: NDArray[np.int64], times: int = 1) -> NDArray[np.uint64]:
    """Hash row numbers `times` times: each time another order."""
    order = hash_row_numbers(number)
    for _ in range(times - 1):
        order = hash_row_numbers(order.view(np.int64))
    return order


@dataclass(frozen=True)
class FlippedLabels(SourceView):
    """The rows of a source, a share of their labels replaced by another class; the labels of held-out rows stay.

    A larger share flips the labels that a smaller one flips, to the same classes, and more.
    """

    target: str
    classes: Sequence[str]
    share: float

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the source with flipped labels; see `Source.batches`."""
        names, labels, read = LevelEncoder(self.classes), pa.array(list(self.classes), pa.string()), 0
        for batch in self.source.batches(wanted):
            place = batch.schema.get_field_index(self.target)
            codes = names.encode(batch.column(place))
            codes[codes == len(names)] = -1  # a class of rows without a weight only
            number = np.arange(read, read + len(codes))
            read += len(codes)
            flipped = self.flip(codes, number)
            yield batch.set_column(place, self.target, labels.take(pa.array(flipped, mask=flipped < 0)))

    def flip(self, codes: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the flipped class codes of rows, given their numbers; −1 for none stays."""
        K = len(self.classes)
        chosen = is_drawn(number, self.share, draw=2) & ~is_drawn(number, HELD_OUT_SHARE) & (codes >= 0)
        step = 1 + (hash_repeatedly(number, 3) % np.uint64(max(1, K - 1))).astype(np.int64)
        return np.where(chosen, (codes + step) % K, codes)


@document(TABLE_PARAMETERS, READING_PARAMETERS)
def dependence(
    source: Any = None,
    *,
    target: str | int,
    roles: Mapping[str, str] | None = None,
    weights: str | None = None,
    survey_weights: str | None = None,
    sql: str | None = None,
    progress: Progress | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    missing: Sequence[str] | str = (),
    keep_markers: bool = False,
    hive: bool = False,
    table: str | None = None,
    where: str | None = None,
    header: bool | None = None,
    names: Sequence[str] = (),
    quote: str = '"',
    decimal: str | None = None,
    dates: str | None = None,
    bad_cells: str = "error",
) -> Dependence:
    """Measure the dependence of a table's columns given the class, which naive Bayes assumes to be none.

    For every pair: the mutual information given the class and without it, evidence that is counted twice, and advice:
    drop a column that repeats another, join the two (`deciban.train(..., blocks=...)`), or leave them. The advice is
    for independent columns (structure="naive"); by default `train` finds dependences itself. Numbers are
    measured in bins of equally many rows, and by their correlation; texts are left out. Of a large table a uniform
    sample of the rows is measured.

    In an example of a lecture, taxi drivers who wear coats have more accidents, and yet a coat causes none: given
    rain the two are independent, and naive Bayes is right to assume so.

    Returns
    -------
    Dependence
        The figures of all pairs, and the advice.

    Examples
    --------
    >>> import deciban
    >>> days = [("rain", 9), ("dry", 1)]  # of ten drivers this many wear coats, and as many of ten have accidents
    >>> rows = [(sky, i < n, j < n) for sky, n in days for i in range(10) for j in range(10)]
    >>> sky, coat, accident = zip(*rows)
    >>> found = deciban.dependence({"coat": coat, "accident": accident, "sky": sky}, target="sky")
    >>> pair = found.pairs[0]
    >>> f"given the class {pair.conditional:.2f} dB, without it {pair.marginal:.2f} dB"
    'given the class -0.03 dB, without it 0.95 dB'
    """
    given = {name: value for name, value in locals().items() if name != "progress"}
    task = plan(**given, numbers="number")
    columns = [replace(c, role="skip", reason="a text") if c.role == "text" else c for c in task.columns]
    task = replace(task, columns=columns)
    sample, used_roles, n_learned = _read_sample(task, progress)
    return Dependence.of(sample, task.target, used_roles, n_learned)


def _count_features(task: Task) -> int:
    """Return the number of features; InputError where these have no pairs, or too many."""
    d = len(task.layout.features_by_block())
    if not 2 <= d <= MAX_DEPENDENCE_FEATURES:
        raise InputError(
            f"dependence needs 2 to {MAX_DEPENDENCE_FEATURES} features, and {task.source.name} has {d} "
            f"besides {task.target!r} that are not texts. "
            f"Hint: give columns roles, {role_hint('COLUMN', 'category')} or skip"
        )
    return d


def _read_sample(task: Task, progress: Progress | None) -> tuple[Sample, list[str], int]:
    """Return a sample of the rows, the role of each feature in table order, and the number of rows with a class."""
    d = _count_features(task)
    summariser, reservoir = task.summariser(1), Reservoir(d, task.source.n_rows)
    reservoir.capacity = min(reservoir.capacity, max(1, MAX_COUNTED_PAIRS // (d * (d - 1) // 2)))
    for batch in summariser.read(task.source, progress):
        reservoir.add(batch)
    total, _ = summariser.total_and_folds  # refuses a table without rows
    if (total.rows > 0).sum() < 2:
        raise InputError(
            f"column {task.target!r} has one class only, and dependence is given the class. Hint: another target"
        )
    rows = reservoir.rows()
    assert rows is not None
    rows = to_effective_rows(rows, total)
    found = {
        feature.name: (Feature(feature.name, kind != "levels", np.asarray(column)), feature.role)
        for (kind, features), columns in zip(task.layout.blocks, rows.columns)
        for feature, column in zip(features, columns)
    }
    task = replace(task, columns=decide_date_parts(task.layout, total, summariser.extremes.ranges()))
    _count_features(task)
    chosen = [found[feature.name] for feature in task.layout.features_in_table_order()]
    codes = rows.codes.astype(np.int64)
    sample = Sample([feature for feature, _ in chosen], codes, rows.weight, len(summariser.classes))
    return sample, [role for _, role in chosen], summariser.n_learned
