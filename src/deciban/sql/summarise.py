"""Filling the summariser of a table from its database: aggregates are read, and rows of texts alone are streamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from deciban._lazy import pa
from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Grid, Needs, Statistic
from deciban.ledger.counts import Counts
from deciban.ledger.extremes import MAX_COUNTED_ROWS, N_VALUES, Extremes
from deciban.ledger.grid import MIN_CELL_BITS, find_bits
from deciban.ledger.ledger import concatenate_features
from deciban.ledger.moments import Moments
from deciban.model.columns import Column, Feature, Layout
from deciban.model.summarise_table import Progress, TableSummariser, read_times
from deciban.sources.arrow_types import is_text
from deciban.sources.source import role_hint
from deciban.sql import statements
from deciban.sql.groups import GroupReader, join_extremes, merge_classes, split_names, to_doubles

Parts = dict[tuple[str, str], Statistic]
"""The statistics of single features, by the kind of their block and their names."""

MAX_RARE_SHARE = 0.02
"""The share of rows beyond its bounds up to which a column's extremes are found with those of others."""

MAX_MAGNITUDE = 1e150
"""Numbers that are larger than this may be too large to be squared."""

GRID_GROUPS_PER_CLASS = 16 * 1024
"""The groups of a number and each class from which it is counted with fewer bits: cells then fill 2·1024 at most."""

LARGEST = float(np.finfo(np.float64).max)
"""The greatest finite double."""


@dataclass
class DatabaseSummariser(GroupReader):
    """Fills the summariser of a table with statistics that its database computes, and of rows that are streamed.

    `extremes` has the values at both ends of each number, `ranges` the least and the greatest, and 0.
    """

    extremes: dict[str, Array] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """The features of each block."""
        return self.summariser.layout

    def run(self, progress: Progress | None = None) -> tuple[str, ...]:
        """Fill the summariser; return the names of the columns whose rows were streamed."""
        self.count_classes()
        if self.summariser.n_learned:
            self._summarise_features(progress)
        if progress is not None:
            progress(self.summariser.n_read)
        return tuple(column.name for column in self.streamed)

    def _summarise_features(self, progress: Progress | None) -> None:
        """Write the sums of all blocks but those of texts, and the counts of markers, to the summariser."""
        found = {**self._sum_numbers(), **self._count_grids(), **self._count_levels(), **self._stream_rows(progress)}
        self.summariser.sums = [
            concatenate_features([found[kind, f.name] for f in (features[:1] if kind == "scatter" else features)])
            for kind, features in self.layout.blocks
            if kind != "bags"
        ]
        counts = {**self.summariser.marker_counts, **{name: dict(each) for name, each in self.markers.items()}}
        self.summariser.marker_counts = {name: counts[name] for name in self.source.columns if counts.get(name)}

    # which features the database summarises

    @cached_property
    def streamed(self) -> list[Column]:
        """The columns that the database cannot summarise: texts, joined numbers, and cells written in a format."""
        untyped = self._find_texts()
        names: set[str] = set()
        for kind, features in self.layout.blocks:
            for feature in features:
                columns = [column for column in self.layout.columns if column.name in feature.columns]
                if kind in ("scatter", "bags") or not all(self._is_pushed(kind, c, untyped) for c in columns):
                    names.update(feature.columns)
        return [column for column in self.layout.columns if column.name in names]

    def _find_texts(self) -> dict[str, tuple[bool, bool]]:
        """Return whether each column of a database without types has texts, and whether it has bytes."""
        if self.rows.table.typed:
            return {}
        names = [column.name for column in self.layout.columns if column.role != "skip"]
        found: dict[str, tuple[bool, bool]] = {}
        for some in split_names(names, 2):
            (row,) = self.rows.table.driver.read(statements.count_types(self.rows, some)).to_pylist()
            found |= {name: (row[f"t{i}"] > 0, row[f"b{i}"] > 0) for i, name in enumerate(some)}
        return found

    def _is_pushed(self, kind: str, column: Column, untyped: Mapping[str, tuple[bool, bool]]) -> bool:
        """Return whether the database can summarise a column for a block of a kind; `untyped`: see `_find_texts`."""
        if column.format is not None and (not self.rows.table.typed or is_text(self._get_type(column))):
            return False
        if not self.rows.table.typed:
            has_texts, has_bytes = untyped[column.name]
            return (
                column.role != "date" and not has_bytes and not (has_texts and (kind != "levels" or column.numeric))
            )
        types, arrow = pa.types, self._get_type(column)
        is_day = types.is_date(arrow) or types.is_timestamp(arrow)
        if column.role == "date":
            return is_day or types.is_time(arrow)
        if types.is_integer(arrow) or types.is_floating(arrow) or types.is_decimal(arrow) or types.is_boolean(arrow):
            return True
        return kind == "levels" and (is_day or (is_text(arrow) and not column.numeric))

    def _get_type(self, column: Column) -> Any:
        """Return the Arrow type as which a column is read."""
        return self.rows.table.schema.field(column.name).type

    def _list_pushed(self, *kinds: str) -> Iterator[tuple[Feature, Needs]]:
        """Yield the features of blocks of these kinds that the database summarises, with the needs of their block."""
        streamed = {column.name for column in self.streamed}
        for need, (kind, features) in zip(self.summariser.needs, self.layout.blocks):
            if kind in kinds:
                yield from ((feature, need) for feature in features if not streamed & set(feature.columns))

    # numbers

    def _sum_numbers(self) -> Parts:
        """Return the moments and the counts of each number that needs them; find the range and extremes of all."""
        names = list(dict.fromkeys(feature.name for feature, _ in self._list_pushed("moments", "grid", "counts")))
        found: Parts = {}
        for some in split_names(names, 7):
            found |= self._sum_chunk(some)
        for some in split_names(names, 3):
            self._find_extremes(some)
        return found

    def _sum_chunk(self, names: Sequence[str]) -> Parts:
        """Return the moments and the counts of some numbers, by one statement; by another where one has NaN."""
        moments, counts = ({f.name: f for f, _ in self._list_pushed(kind)} for kind in ("moments", "counts"))
        try:
            centres = self._estimate_centres([name for name in names if name in moments])
            made = statements.sum_numbers(self.rows, names, centres, counts)
            read = self.rows.table.driver.read(made)
        except InputError:
            self._refuse_large(names)
            raise
        with_nan = [name for i, name in enumerate(names) if np.isnan(to_doubles(read.column(f"h{i}"), 0.0)).any()]
        if with_nan:
            self.rows = replace(self.rows, nan_columns=self.rows.nan_columns | set(with_nan))
            return self._sum_chunk(names)
        codes, K = self.encode_group_classes(read), len(self.summariser.classes)
        found: Parts = {}
        for i, name in enumerate(names):
            n, low, high = (to_doubles(read.column(f"{key}{i}"), 0.0) for key in "nlh")
            self._keep_range(name, low, high)
            if name in moments:
                found["moments", name] = merge_classes(self._make_moments(name, read, i, centres[name]), codes, K)
            if name in counts:
                least = low[codes >= 0].min(initial=0.0)
                if counts[name].role == "count" and least < 0:
                    hint = f"Hint: {role_hint(name, 'number')}"
                    raise InputError(f"column {name!r} holds {least:g}; a count is never negative. {hint}")
                total = Counts(to_doubles(read.column(f"t{i}"), 0.0)[:, None], n[:, None])
                found["counts", name] = merge_classes(total, codes, K)
        return found

    def _estimate_centres(self, names: Sequence[str]) -> dict[str, float]:
        """Return the mean of the first rows for each of these columns, 0 where they have none."""
        if not names:
            return {}
        (row,) = self.rows.table.driver.read(statements.estimate_centres(self.rows, names)).to_pylist()
        means = [row[f"v{i}"] for i in range(len(names))]
        return {name: c if c is not None and abs(c) < np.inf else 0.0 for name, c in zip(names, means)}

    def _keep_range(self, name: str, low: Array, high: Array) -> None:
        """Keep the range of a number, which includes 0, from those of the classes; refuse one that is not finite."""
        self.ranges[name] = float(low.min(initial=0.0)), float(high.max(initial=0.0))
        if not np.isfinite(self.ranges[name]).all():
            raise InputError(
                f"column {name!r} holds a number that is not finite. "
                f"Hint: --where (where=) leaves such rows out, --bad-cells missing (bad_cells='missing') takes "
                f"them as missing, or {role_hint(name, 'skip')}"
            )

    def _make_moments(self, name: str, read: Any, i: int, centre: float) -> Moments:
        """Return the moments of a number, a class for each row that was read; a constant has no squares."""
        n, d, s, low, high = (to_doubles(read.column(f"{key}{i}"), 0.0) for key in "ndslh")
        if not np.isfinite(s).all():
            self._refuse_large([name])
        if f"m{i}" in read.column_names:
            m = to_doubles(read.column(f"m{i}"), 0.0)
            shift = np.divide(d, n, out=np.zeros_like(n), where=n > 0)
            gap, squares = m + shift, np.maximum(s - n * shift**2, 0.0)
        else:
            gap, squares = d, n * s
        is_constant = low == high
        mean = np.where(is_constant, low, centre + gap)
        rest = np.where(is_constant, 0.0, (centre - mean) + gap)
        columns = (n, mean, rest, np.where(is_constant, 0.0, squares))
        return Moments(*(np.where(n > 0, column, 0.0)[:, None] for column in columns))

    def _refuse_large(self, names: Sequence[str]) -> None:
        """Raise an InputError that names the first of the columns with numbers too large to be squared, if any."""
        for name in names:
            (row,) = self.rows.table.driver.read(statements.find_magnitude(self.rows, name)).to_pylist()
            if row["h"] is not None and MAX_MAGNITUDE < row["h"] < np.inf:
                raise InputError(
                    f"column {name!r} holds values as large as {row['h']:g}, and their squares overflow (a double "
                    f"holds up to 1.8e308). Hint: rescale it, or {role_hint(name, 'skip')}"
                )

    def _find_extremes(self, names: Sequence[str]) -> None:
        """Find the values at either end of numbers, each as often as it occurs, up to `MAX_COUNTED_ROWS` times."""
        driver, n_learned = self.rows.table.driver, self.summariser.n_learned
        (row,) = driver.read(statements.bound_extremes(self.rows, names, n_learned, N_VALUES)).to_pylist()
        rare: list[tuple[str, tuple[float, float]]] = []
        groups: list[list[tuple[str, tuple[float, float]]]] = [rare]
        for i, name in enumerate(names):
            is_known = row[f"l{i}"] is not None  # else none is in the sample, and all may be extremes
            bounds = (row[f"l{i}"], row[f"h{i}"]) if is_known else (LARGEST, -LARGEST)
            if is_known and row[f"n{i}"] <= MAX_RARE_SHARE * row["n"]:
                rare.append((name, bounds))
            else:
                groups.append([(name, bounds)])
        groups = [group for group in groups if group]
        n_groups = N_VALUES * (self.n_labels + 1)
        made = [
            statements.count_extremes(self.rows, [n for n, _ in group], [b for _, b in group], n_groups)
            for group in groups
        ]
        for group, read in zip(groups, driver.read_each(made)):
            self._keep_extremes(group, read, n_groups)

    def _keep_extremes(self, group: Sequence[tuple[str, tuple[float, float]]], read: Any, n_groups: int) -> None:
        """Keep the values at both ends of columns; search further where rows without a class left too few."""
        columns = (to_doubles(read.column(name)) for name in ("j", "side", "v", "n"))
        codes, (j, side, values, n) = self.encode_group_classes(read), columns
        for i, (name, (low, high)) in enumerate(group):
            found: dict[float, float] = {}
            is_complete = True
            for end in (0, 1):
                mine = (j == i) & (side == end)
                learned = mine & (codes >= 0)
                distinct, which = np.unique(values[learned], return_inverse=True)
                for value, rows in zip(distinct.tolist(), np.bincount(which, n[learned], len(distinct)).tolist()):
                    found[value] = max(rows, found.get(value, 0.0))
                was_cut = low < high or int(mine.sum()) == n_groups
                is_complete &= len(distinct) >= N_VALUES or learned[mine].all() or not was_cut
            if not is_complete:
                all_values = [(LARGEST, -LARGEST)]
                statement = statements.count_extremes(self.rows, [name], all_values, 8 * n_groups)
                self._keep_extremes([(name, all_values[0])], self.rows.table.driver.read(statement), 8 * n_groups)
                continue
            distinct = np.array(list(found), dtype=np.float64)
            more = [min(int(rows), MAX_COUNTED_ROWS) - 1 for rows in found.values()]
            self.extremes[name] = np.concatenate([distinct, np.repeat(distinct, more)])

    def _count_grids(self) -> Parts:
        """Return the counts on the grid of each number that needs them."""
        wanted, found = dict(self._list_pushed("grid")), Parts()
        driver = self.rows.table.driver
        samples = driver.read_each([statements.sample_numbers(self.rows, f.column) for f in wanted])
        bits = {f: find_bits(to_doubles(read.column("v"))) for f, read in zip(wanted, samples)}
        n_groups = GRID_GROUPS_PER_CLASS * (self.n_labels + 1)
        while bits:
            made = [statements.count_grid(self.rows, f.column, *self.ranges[f.name], b) for f, b in bits.items()]
            made = [s.limit(n_groups) if b > MIN_CELL_BITS else s for s, b in zip(made, bits.values())]
            for (feature, most), read in zip(list(bits.items()), driver.read_each(made)):
                edge, weight, below = (to_doubles(read.column(each)) for each in ("e", "weight", "below"))
                if most > MIN_CELL_BITS and read.num_rows == n_groups:  # the first rows had far fewer values
                    bits[feature] = find_bits(edge)
                    continue
                values = np.concatenate([edge, np.nextafter(edge, -np.inf)])
                codes, weights = np.tile(self.encode_group_classes(read), 2), np.concatenate([weight - below, below])
                part: Any = self.summarise(wanted[feature], values, codes, weights)
                limit = np.minimum(part.bits, bits.pop(feature))
                found["grid", feature.name] = Grid.from_counts(part.owner, part.cell, part.table, limit)
        return found

    # levels

    def _count_levels(self) -> Parts:
        """Return the counts of the levels of each feature; the parts of a date are read by one statement."""
        place = {feature.name: j for j, feature in enumerate(self.layout.levels)}
        wanted = [(feature, need) for feature, need in self._list_pushed("levels") if feature.part is None]
        made = [statements.count_levels(self.rows, feature.columns) for feature, _ in wanted]
        readings = self.layout.readings()
        found: Parts = {}
        for (feature, need), read in zip(wanted, self.rows.table.driver.read_each(made)):
            n, weight = (to_doubles(read.column(each)) for each in ("n", "weight"))
            cells = [
                self.remove_markers(name, read.column(f"v{i}"), n, readings[name])
                for i, name in enumerate(feature.columns)
            ]
            encoder: Any = self.summariser.matrices.names[place[feature.name]]
            codes = encoder.encode(cells if feature.joined else cells[0])
            found["levels", feature.name] = self.summarise(need, codes, self.encode_group_classes(read), weight)
        dates: dict[str, list[Feature]] = {}
        for feature, _ in self._list_pushed("levels"):
            if feature.part is not None:
                dates.setdefault(feature.column, []).append(feature)
        for features in dates.values():
            found |= self._count_dates(features, place)
        return found

    def _count_dates(self, features: Sequence[Feature], place: Mapping[str, int]) -> Parts:
        """Return the counts of parts of one date; `place` has the index of each feature among those of levels."""
        parts = [str(feature.part) for feature in features]
        read = self.rows.table.driver.read(statements.count_date_parts(self.rows, features[0].column, parts))
        codes, weight = self.encode_group_classes(read), to_doubles(read.column("weight"))
        (need,) = {need for feature, need in self._list_pushed("levels") if feature in features}
        name, found = features[0].column, Parts()
        if name in self.layout.open_dates:
            ends = (read.column(each).combine_chunks() for each in ("first", "last"))
            self.extremes[name] = np.concatenate([read_times(dates, name) for dates in ends])
        for i, feature in enumerate(features):
            code = {level: v for v, level in enumerate(self.summariser.matrices.names[place[feature.name]].list)}
            first = 0 if feature.part == "hour" else 1
            at = np.nan_to_num(to_doubles(read.column(f"v{i}")) - first, nan=-1.0).astype(np.int64)
            levels = np.array([*(code[level] for level in feature.fixed_levels), -1], dtype=np.int64)[at]
            found["levels", feature.name] = self.summarise(need, levels, codes, weight)
        return found

    # rows that are streamed

    def _stream_rows(self, progress: Progress | None) -> Parts:
        """Return the statistics of the columns that the database cannot summarise, of rows that are read.

        The extremes of all numbers, the levels, words and markers of these columns are written to the summariser.
        """
        own, names = self.summariser, list(self.extremes)
        width = max([0, *map(len, self.extremes.values())])
        padded = [np.append(values, np.full(width - len(values), np.nan)) for values in self.extremes.values()]
        extremes = Extremes.of(names, padded)
        if not self.streamed:
            own.extremes = extremes.reorder(own.extremes.names)
            return {}
        layout = Layout(tuple(self.streamed))
        needs = self.options.assumption(layout).needs
        part = TableSummariser(layout, needs, own.target, own.weights, declared=own.declared, words=own.words)
        part.classes = own.classes
        for _ in part.read(self.source, progress):
            pass
        place = {feature.name: j for j, feature in enumerate(self.layout.levels)}
        for feature, encoder in zip(layout.levels, part.matrices.names):
            own.matrices.names[place[feature.name]] = encoder  # type: ignore[index]
        own.word_counters, own.marker_counts = part.word_counters, part.marker_counts
        own.extremes = join_extremes(extremes, part.extremes).reorder(own.extremes.names)
        assert part.sums is not None
        found: Parts = {}
        for group, total in zip(layout.blocks, part.sums):
            for j, feature in enumerate(group.features):
                one: Any = total
                found[group.kind, feature.name] = (
                    total if group.kind == "scatter" else one.take_features(np.array([j]))
                )
        return found
