"""The role of each column, with the reason: inferred from its type and first rows, or, of numbers, from all rows.

Numbers are Gaussian, in bins or a Poisson rate: the role of a column that is left open is decided when all rows are
counted, by the leave-one-out log-loss of the column alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban._typing import Array
from deciban.errors import InputError, did_you_mean, list_names
from deciban.families.column_losses import binned_loss, gaussian_loss, poisson_loss
from deciban.formatting import format_count
from deciban.ledger import Ledger
from deciban.ledger.schema import Kind
from deciban.ledger.statistic import divide
from deciban.model.columns import OPEN_ROLES, ROLES, Column, Layout, Role
from deciban.model.model_options import Options
from deciban.scores import DECIBAN
from deciban.sources.arrow_cells import DATE_PARTS, extract_date_part
from deciban.sources.arrow_texts import from_mask, replace_nulls
from deciban.sources.arrow_types import is_text
from deciban.sources.date_formats import DateOrder, infer_date_format
from deciban.sources.document_files import FILE, TEXT, DocumentFiles, TextLines
from deciban.sources.source import Source, role_hint
from deciban.training.cell_styles import (
    MAX_INVALID_SHARE,
    MIN_QUANTITY_VALUES,
    CellStyle,
    add_note,
    holds_few_invalid,
    non_number_error,
    parse_given_numbers,
    parse_numbers,
    read_dates,
)
from deciban.training.identifiers import MIN_VALUES, find_number_identifier, find_text_identifier

DAY, MAX_DAYS_OF_YEAR = 86_400e6, 366
"""A day in µs, and the days up to which dates span no more than a year."""

HEAD_ROWS = 20_480
"""The number of rows that roles are inferred from."""

MIN_TEXT_WORDS = 4
"""The mean number of words above which values, most of them different, are texts."""

MIN_TEXTS, MIN_TEXT_SHARE = 100, 0.1
"""The number of different values, and their share of all, from which long ones are texts although they recur."""

UNSPACED_LETTERS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")
"""Letters of scripts without spaces between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese): two are a word."""

DOCUMENT_COLUMNS = {
    TEXT: Column(TEXT, "text", "the document"),
    FILE: Column(FILE, "skip", "where the document comes from"),
}
"""The columns of documents, which are not a table."""

MAX_DISPERSION = 2.0
"""The ratio of variance and mean up to which whole numbers are inferred to be counts."""

MAX_LEVEL_NUMBERS, MIN_ROWS_PER_LEVEL = 3, 3
"""The number of different numbers up to which they are levels, and the mean number of rows of each from which they
are: a variance of so few values says nothing of values in between."""

FLAG_VALUES = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"))
"""The pairs of values, in lower case, that make a column a flag."""

ROLE_OF_KIND: Mapping[Kind, Role] = {"moments": "number", "grid": "binned", "counts": "count"}
"""The role that each kind of statistic is kept for."""

CERTAIN_GAIN_NATS = 100.0
"""The gain in nats of all rows together from which a role is certain: without outliers, no tenth of the rows could
change it."""

MAX_SQUARED_DEVIATION, MAX_SHARE_OF_SQUARES = 36.0, 0.1
"""The bounds beyond which a row is an outlier: its squared deviation from its class's mean, in variances, and its
share of the class's squares. A Gaussian widened by one such row may be the best role without it."""

ROLE_WORDS: Mapping[Role, str] = {"number": "Gaussian", "binned": "bins", "count": "Poisson rate"}
"""The names of roles in the reason for a decision."""


def infer_roles(
    source: Source,
    head: Any,
    leave_out: Sequence[str],
    given: Mapping[str, str],
    numbers: str | None,
    dates: DateOrder = "",
    is_learned: NDArray[np.bool_] | None = None,
) -> list[Column]:
    """Return every column but those left out (the target, the weights), with its role: as given, or inferred.

    `head` is a table of the first rows, of which only those that are learned count; a role that is given wrongly, or
    a clash of names, is an InputError. `dates` is the order of day and month where a column leaves it open.
    """
    if not head.num_rows and not set(source.columns) <= {*leave_out, *given}:
        raise InputError(f"{source.name} has no rows, only a header. Hint: a table to learn from needs some")
    _check_given_roles(given, source, leave_out)
    style = CellStyle.of(source, dates, is_complete=head.num_rows < HEAD_ROWS)
    columns = []
    wanted = None
    if is_learned is not None and is_learned.any() and not is_learned.all():
        wanted = from_mask(is_learned)
    first = [_select_rows(column, wanted) for column in head.columns]
    for name, values in zip(source.columns, first):
        if name in leave_out:
            continue
        if name in given:
            columns.append(_make_given_column(name, given[name], values, style))
        elif isinstance(source, (TextLines, DocumentFiles)) and name in DOCUMENT_COLUMNS:
            columns.append(DOCUMENT_COLUMNS[name])
        else:
            column = _infer_column(name, values, style, levels=numbers in (None, "auto"))
            columns.append(_apply_numbers(column, numbers))
    used = {column.name for column in columns if column.role != "skip"}
    for date, part in ((column.name, part) for column in columns for part in column.parts):
        if f"{date}.{part}" in used:
            raise InputError(
                f"column '{date}.{part}' has the name of the {part} of the date {date!r}. "
                f"Hint: rename it, or leave one of them out, {role_hint('COLUMN', 'skip')}"
            )
    return columns


def check_any_used(columns: Sequence[Column]) -> None:
    """Raise an InputError if every column is skipped."""
    if all(column.role == "skip" for column in columns):
        why = "; ".join(f"{list_names([column.name])}: {column.reason}" for column in columns[:5])
        hint = role_hint("COLUMN", "ROLE")
        raise InputError(f"no column is left to learn from ({why}). Hint: give one a role, {hint}")


def _select_rows(column: Any, wanted: Any) -> Any:
    """Return the wanted rows of a column (None: all), and all of nested values, of which Arrow cannot filter some."""
    column = column if wanted is None or pa.types.is_nested(column.type) else column.filter(wanted)
    return column.combine_chunks()


def _check_given_roles(given: Mapping[str, str], source: Source, leave_out: Sequence[str]) -> None:
    """Raise an InputError if a role is unknown, or given for a column that is not there or is left out."""
    for name, role in given.items():
        if name not in source.columns:
            near = did_you_mean(name, source.columns)
            raise InputError(f"a role is given for {name!r}, which is not a column{near}")
        if name in leave_out:
            raise InputError(f"column {name!r} is the target, the weights or the groups, so it has no role")
        kind, colon, parts = role.partition(":")
        if kind not in ROLES:
            raise InputError(f"role {role!r} is not known, for column {name!r}. Hint: one of {', '.join(ROLES)}")
        if colon and (kind != "date" or not set(parts.split(",")) <= DATE_PARTS.keys()):
            raise InputError(
                f"role {role!r} of column {name!r} names parts that are none of a date: they are "
                f"{', '.join(DATE_PARTS)}. Hint: {role_hint(name, 'date:weekday,hour')}"
            )


def _make_given_column(name: str, role: str, values: Any, style: CellStyle) -> Column:
    """Return a column with its given role, and the format of its numbers or dates, if it holds texts."""
    known, style = values.drop_null(), style.for_given_role()
    kind, _, parts = role.partition(":")
    if kind == "date":
        column = _infer_from_dates(name, known, style)
        given = tuple(part for part in DATE_PARTS if part in parts.split(","))
        return replace(
            column, reason=add_note("as given", column.note), parts=given or column.parts, is_open=not given
        )
    if role not in ("number", "binned", "count") or not len(known) or not is_text(known.type):
        return Column(name, role, "as given")  # type: ignore[arg-type]
    numbers = parse_given_numbers(known, style)
    if numbers is None:
        raise non_number_error(name, known.cast(pa.string()), role, style)
    return Column(name, role, add_note("as given", numbers.note), format=numbers.format)  # type: ignore[arg-type]


def _apply_numbers(column: Column, numbers: str | None) -> Column:
    """Give numbers the role of the argument `numbers`; without one, the role is decided when all rows are read."""
    if column.role not in ("number", "count"):
        return column
    if numbers in ("number", "binned"):
        reason = add_note(f"numbers; {numbers} as given", column.note)
        return replace(column, role=numbers, reason=reason)  # type: ignore[arg-type]
    open_role: Role = "countable" if column.role == "count" and numbers is None else "undecided"
    return replace(column, role=open_role, reason=column.reason if open_role == "countable" else "numbers")


def rule_out_counts(columns: Sequence[Column], negative: Collection[str]) -> list[Column]:
    """Return the columns, those that could be counts but for negative values (by name) as undecided numbers.

    Any row may be held out, and no model of the other rows may take the column for counts.
    """
    wrong = [column for column in columns if column.role == "countable" and column.name in negative]
    return [replace(each, role="undecided", reason="numbers") if each in wrong else each for each in columns]


def _infer_column(name: str, values: Any, style: CellStyle, levels: bool) -> Column:
    """Infer the role of one column from its first values; `levels`: numbers may be taken for levels."""
    types, is_categorical = pa.types, pa.types.is_dictionary(values.type)
    kind = values.type.value_type if is_categorical else values.type
    is_date = types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_duration(kind)
    is_read = types.is_boolean(kind) or is_date or is_number or is_text(kind) or types.is_null(kind)
    is_missing = pc.is_null(values, nan_is_null=True)
    if pc.all(is_missing).as_py():
        reason = "no value" if style.is_complete else f"no value in {format_count(len(values), 'row')}"
        return Column(name, "skip", reason, is_open=not style.is_complete)
    if not is_read:
        return Column(name, "skip", f"of type {kind}, which is not read")
    known = values.filter(pc.invert(is_missing)) if pc.any(is_missing).as_py() else values
    if style.is_complete and len(known.unique()) == 1:
        return Column(name, "skip", "always the same value")
    if types.is_boolean(kind):
        return Column(name, "flag", "true or false")
    if is_categorical:
        return _infer_from_texts(name, known.cast(pa.string()), categorical=True)
    if is_date:
        return _infer_from_dates(name, known, style)
    if is_number:
        levels = levels and not types.is_duration(kind)
        numbers = known.cast(pa.int64()) if types.is_duration(kind) else known
        doubles = replace_nulls(numbers.cast(pa.float64(), safe=False), np.nan)
        return _infer_from_numbers(name, doubles, levels)
    return _infer_from_strings(name, known.cast(pa.string()), style, levels)


def _infer_from_strings(name: str, known: Any, style: CellStyle, levels: bool) -> Column:
    """Infer the role of strings: numbers (of a table with types those that are no codes), dates, or texts."""
    if not style.max_invalid and holds_few_invalid(known, style):
        style = replace(style, max_invalid=MAX_INVALID_SHARE)  # reading the rows names the first invalid one
    numbers = parse_numbers(known, style)
    if numbers is not None and style.typed and numbers.format is None:
        values, is_whole = known.unique().to_pylist(), bool((numbers.values == np.rint(numbers.values)).all())
        is_code = len(values) < MIN_QUANTITY_VALUES or (is_whole and find_text_identifier(name, values, len(known)))
        note = f"texts that are numbers, {role_hint(name, 'category')} reads them as levels"
        numbers = None if is_code else numbers._replace(note=note)
    if numbers is not None:
        if style.is_complete and (numbers.values == numbers.values[0]).all():
            return Column(name, "skip", "always the same value")
        column = _infer_from_numbers(name, numbers.values, levels)
        is_number = column.role in ("number", "count") or column.numeric
        return replace(column, format=numbers.format, note=numbers.note) if is_number else column
    if infer_date_format(known, style.dates, style.max_invalid) is not None:
        return _infer_from_dates(name, known, style)
    return _infer_from_texts(name, known)


def _infer_from_numbers(name: str, values: Any, levels: bool) -> Column:
    """Infer the role of numbers, without missing ones; `levels`: two or three different numbers are levels."""
    whole_numbers = bool((values == np.rint(values)).all())
    distinct = np.unique(values)
    if len(distinct) == 2 and set(distinct.tolist()) == {0.0, 1.0}:
        return Column(name, "flag", "0 or 1", numeric=True)
    few = 1 < len(distinct) <= MAX_LEVEL_NUMBERS and len(values) >= MIN_ROWS_PER_LEVEL * len(distinct)
    if levels and few and np.isfinite(distinct).all():
        *first, last = (f"{x:.15g}" if x.is_integer() else f"{x:.6g}" for x in distinct.tolist())
        role: Role = "flag" if len(distinct) == 2 else "category"
        return Column(name, role, f"{', '.join(first)} or {last}", numeric=True)
    if whole_numbers and (reason := find_number_identifier(name, values, distinct)):
        return Column(name, "skip", reason)
    may_be_counts = whole_numbers and distinct[0] >= 0 and distinct[-1] < np.inf
    if may_be_counts and values.var() <= MAX_DISPERSION * values.mean():
        return Column(name, "count", "whole numbers ≥ 0")
    return Column(name, "number", "numbers")


def _infer_from_texts(name: str, known: Any, categorical: bool = False) -> Column:
    """Return a column of texts as free text, identifier (skip), flag or category; `known` are its values."""
    values = known.unique().to_pylist()
    n, distinct = len(known), len(values)
    words = [word.lower() for value in values for word in value.split()]
    mean_words = (len(words) + sum(map(len, UNSPACED_LETTERS.findall("".join(values)))) / 2) / distinct
    # In subject lines words recur, twice or more on average; in names less.
    recurring = mean_words >= 2 and n >= MIN_VALUES and len(words) >= 2 * len(set(words))
    is_varied = distinct >= max(MIN_TEXTS, MIN_TEXT_SHARE * n)
    if (mean_words > MIN_TEXT_WORDS and (is_varied or distinct > n / 2)) or (recurring and distinct > n / 2):
        return Column(name, "text", f"free text ({mean_words:.0f} words on average)")
    if not categorical and (reason := find_text_identifier(name, values, n)):
        return Column(name, "skip", reason)
    lower = {value.lower() for value in values}
    if any(lower <= set(pair) for pair in FLAG_VALUES):
        return Column(name, "flag", " or ".join(sorted(values)))
    return Column(name, "category", format_count(distinct, "different value"))


def _infer_from_dates(name: str, known: Any, style: CellStyle) -> Column:
    """Return a column of dates with all parts that they may have; where these are all rows, with those that vary."""
    when, written, are_times, note = read_dates(known, name, style)
    parts = ("hour",) if are_times else tuple(DATE_PARTS)[: 2 if pa.types.is_date(known.type) else 3]
    column = Column(name, "date", "", parts, format=written, note=note, is_open=True)
    if not style.is_complete:
        return replace(column, reason=add_note(f"{'times' if are_times else 'dates'}: by {', '.join(parts)}", note))
    ends = pc.min_max(when.cast(pa.int64()))
    varying = [part for part in parts if len(np.unique(extract_date_part(when, part, name))) > 1]
    return _choose_date_parts(column, varying, ends["max"].as_py() - ends["min"].as_py())


def decide_date_parts(layout: Layout, ledger: Ledger, spans: Mapping[str, tuple[float, float]]) -> list[Column]:
    """Return the columns, those of dates with the parts that are features; `spans` has the first and last, in µs.

    A part that is the same in all rows is none, and so is the month of dates that span no more than a year, which
    stands for the time of the rows: the month that follows them was seen in no row, or in few.
    """
    block = layout.block_index("levels")
    tables = () if block is None else ledger.parts[block].tables()  # type: ignore[attr-defined]
    varying = {f.name for f, table in zip(layout.levels, tables) if np.count_nonzero(table.any(axis=0)) > 1}
    columns = []
    for column in layout.columns:
        parts, span = [f.part for f in column.features if f.name in varying], spans.get(column.name, (0.0, 0.0))
        is_date = column.is_open and column.role == "date"
        columns.append(_choose_date_parts(column, parts, np.ptp(span)) if is_date else replace(column, is_open=False))
    return columns


def _choose_date_parts(column: Column, varying: Collection[str | None], span: float) -> Column:
    """Return a column of dates that span so many µs with those of the parts that vary that are features."""
    kind, days = "times" if column.parts == ("hour",) else "dates", span / DAY
    parts = tuple(part for part in column.parts if part in varying and (part != "month" or days > MAX_DAYS_OF_YEAR))
    if not parts:
        same = "hour" if kind == "times" else "weekday, and span no more than a year"
        return Column(column.name, "skip", f"{kind} that all have the same {same}")
    note = f"no month, since they span {days:.0f} days" if "month" in varying and "month" not in parts else ""
    reason = column.reason if column.reason.startswith("as given") else f"{kind}: by {', '.join(parts)}"
    reason = add_note(add_note(reason, note), column.note if reason != column.reason else "")
    return replace(column, parts=parts, reason=reason, is_open=False)


class RoleDecision(NamedTuple):
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


def decide(
    layout: Layout, ledger: Ledger, options: Options, decided: Mapping[str, Column] | None = None
) -> RoleDecision:
    """Decide the role of every open column; `rule_out_counts` has ruled out counts with negative values.

    The column has been counted under all its possible roles, and gets the one that, alone, predicts the class of a
    row left out with the lowest log-loss. The roles of columns that are `decided` already stay.
    """
    columns, known, ledger = layout.columns, dict(decided or {}), ledger.effective
    losses = {
        name: loss
        for role in OPEN_ROLES
        for name, loss in _compute_losses(layout, ledger, options, [c.name for c in columns if c.role == role], known)
    }
    chosen = {c.name: _choose_role(c, losses[c.name]) for c in columns if c.name in losses}
    final = [known.get(c.name) or chosen.get(c.name) or c for c in columns]
    role = {column.name: column.role for column in final}
    kept: list[list[int] | None] = []
    for kind, features in layout.blocks:
        wanted = [kind == "levels" or role[feature.column] == ROLE_OF_KIND.get(kind) for feature in features]
        kept.append(None if kind in ("bags", "scatter", "pairs") else np.flatnonzero(wanted).tolist())
    lowest = {name: sorted(loss.values())[:2] for name, loss in losses.items()}
    clear = [name for name, (best, second) in lowest.items() if (second - best) * ledger.n_rows >= CERTAIN_GAIN_NATS]
    certain = {name: chosen[name] for name in _without_outliers(layout, ledger, clear)}
    return RoleDecision(final, kept, known | certain)


def find_negative_columns(layout: Layout, ledger: Ledger) -> list[str]:
    """Return the columns that could be counts but for negative values."""
    names = [column.name for column in layout.columns if column.role == "countable"]
    if not names:
        return []
    grid = _select_part(layout, ledger, "grid", names)
    n_negative = np.bincount(grid.owner, weights=grid.cell < 0, minlength=len(names))
    return [name for name, n in zip(names, n_negative.tolist()) if n]


def _without_outliers(layout: Layout, ledger: Ledger, names: Sequence[str]) -> list[str]:
    """Return those of these open columns that have no outlier."""
    if not names:
        return []
    moments, grid = _select_part(layout, ledger, "moments", names), _select_part(layout, ledger, "grid", names)
    n = np.broadcast_to(moments.weight, moments.mean.shape)
    bound = np.minimum(MAX_SQUARED_DEVIATION, MAX_SHARE_OF_SQUARES * n) * divide(moments.m2, n)
    owner = grid.owner
    low, high = grid.bounds
    squares = (low / 2 + high / 2 - moments.mean[:, owner]) ** 2
    far = ((squares > bound[:, owner]) & (grid.table > 0)).any(axis=0)
    wild = np.bincount(owner, weights=far, minlength=len(names)) > 0
    return [name for name, out in zip(names, wild.tolist()) if not out]


def _compute_losses(
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
        loss["count"] = poisson_loss(_select_part(layout, ledger, "counts", names), grid, options.pseudo_count)
    return [(name, dict(zip(loss, each))) for name, each in zip(names, np.array(list(loss.values())).T.tolist())]


def _choose_role(column: Column, losses: Mapping[Role, float]) -> Column:
    """Return the column with the role of the lowest loss (in nats per row), and the reason."""
    best, second = sorted(losses, key=losses.__getitem__)[:2]
    gain = (losses[second] - losses[best]) * DECIBAN
    words = f"{ROLE_WORDS[best]} preferred to {ROLE_WORDS[second]} by {gain:.2g} dB per row"
    reason = words if gain > 0 else f"{ROLE_WORDS[best]}, which predicts as well as {ROLE_WORDS[second]}"
    return replace(column, role=best, reason=add_note(reason, column.note))


def _select_part(layout: Layout, ledger: Ledger, kind: Kind, names: Sequence[str]) -> Any:
    """Return the statistic of this kind, of the columns of these names, in their order."""
    block = layout.block_index(kind)
    assert block is not None
    place = {feature.column: j for j, feature in enumerate(layout.blocks[block].features)}
    return ledger.parts[block].take_features(np.array([place[name] for name in names], dtype=np.intp))
