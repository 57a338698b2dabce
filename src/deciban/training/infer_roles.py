"""Inference of the role of each column, with the reason, from its type and its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deciban.errors import InputError, did_you_mean
from deciban.model.columns import ROLES, Column, Role
from deciban.sources.arrow_cells import parse_dates, to_timestamps
from deciban.sources.csv_files import MISSING_NUMBERS
from deciban.sources.document_files import FILE, TEXT, TextLines, WholeFiles
from deciban.sources.source import Source, role_hint

HEAD_ROWS = 20_480
"""The number of rows that roles are inferred from."""

MIN_VALUES = 20
"""The number of values from which all of them being different means something."""

MIN_TEXT_WORDS = 4
"""The mean number of words above which values, most of them different, are texts."""

LONG_NAME_CHARACTERS, LONG_NAME_HINT = 12, "; --as {}=text reads its words"
"""Identifiers of more characters than this on average may be texts after all, in a script that has no spaces."""

DOCUMENT_COLUMNS = {
    TEXT: Column(TEXT, "text", "the document"),
    FILE: Column(FILE, "skip", "where the document comes from"),
}
"""The columns of documents, which are no table."""

MAX_DISPERSION = 2.0
"""The ratio of variance and mean up to which whole numbers are inferred to be counts."""


def infer_roles(
    source: Source, head: Any, leave_out: Sequence[str], given: Mapping[str, str], numbers: str | None
) -> list[Column]:
    """Infer the role of every column but those left out (the target, the weights); given roles stay."""
    if not head.num_rows:
        raise InputError(f"{source.name} has no rows, only a header. Hint: a table to learn from needs some")
    _check_given(source, leave_out, given)
    whole = head.num_rows < HEAD_ROWS
    columns = []
    batch = head.combine_chunks().to_batches()[0]
    for name, values in zip(source.columns, batch.columns):
        if name in leave_out:
            continue
        if name in given:
            columns.append(_given_column(name, given[name], values, source.typed))
        elif isinstance(source, (TextLines, WholeFiles)) and name in DOCUMENT_COLUMNS:
            columns.append(DOCUMENT_COLUMNS[name])
        else:
            columns.append(_apply_numbers(_infer_column(name, values, source.typed, whole), numbers))
    _check_parts(columns)
    return columns


def _check_parts(columns: Sequence[Column]) -> None:
    """Raise an error if a column has the name of a part of a date."""
    used = {column.name for column in columns if column.role != "skip"}
    for column in columns:
        for part in column.parts:
            if f"{column.name}.{part}" in used:
                raise InputError(
                    f"column '{column.name}.{part}' has the name of the {part} of the date {column.name!r}. "
                    f"Hint: rename it, or leave one of them out, {role_hint('COLUMN', 'skip')}"
                )


def _check_given(source: Source, leave_out: Sequence[str], given: Mapping[str, str]) -> None:
    for name, role in given.items():
        if name not in source.columns:
            raise InputError(f"a role is given for {name!r}, which is no column{did_you_mean(name, source.columns)}")
        if name in leave_out:
            raise InputError(f"column {name!r} is the target, the weights or the groups, so it has no role")
        if role not in ROLES:
            raise InputError(f"role {role!r} is not known, for column {name!r}. Hint: one of {', '.join(ROLES)}")


def _given_column(name: str, role: str, values: Any, typed: bool) -> Column:
    if role == "date":
        return Column(name, "date", "as you said", _date_parts(name, values, whole=False))
    if role in ("number", "binned", "count") and not typed:
        text = _first_text(values)
        if text is not None:
            raise InputError(
                f"column {name!r} holds {text!r}, which is not a number, so it cannot be a {role}. "
                f"Hint: {role_hint(name, 'category')}; --missing {text!r} (missing=[{text!r}]) reads it as none"
            )
    return Column(name, role, "as you said")  # type: ignore[arg-type]


def _apply_numbers(column: Column, numbers: str | None) -> Column:
    """Give numbers the role of the argument `numbers`; without one, the role is decided when all rows are read."""
    if column.role not in ("number", "count"):
        return column
    if numbers in ("number", "binned"):
        return Column(column.name, numbers, f"numbers; {numbers} as you said")  # type: ignore[arg-type]
    open_role: Role = "countable" if column.role == "count" and numbers is None else "undecided"
    return Column(column.name, open_role, column.reason if open_role == "countable" else "numbers")


def _infer_column(name: str, values: Any, typed: bool, whole: bool) -> Column:
    """Infer the role of one column from its first values; `whole`: these are all values."""
    import pyarrow as pa

    known = values.drop_null() if values.null_count else values
    if pa.types.is_floating(known.type):
        known = known.filter(pa.array(~np.isnan(known.to_numpy(zero_copy_only=False))))
    if not len(known):
        return Column(name, "skip", "no value" if whole else f"no value in the first {len(values)} rows")
    kind = known.type.value_type if pa.types.is_dictionary(known.type) else known.type
    if pa.types.is_boolean(kind):
        return _constant_column(name, known, whole) or Column(name, "flag", "true or false")
    if pa.types.is_dictionary(known.type):
        return _constant_column(name, known, whole) or _infer_from_texts(
            name, known.cast(pa.string()), categorical=True
        )
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _constant_column(name, known, whole) or _infer_from_dates(name, known, whole)
    if (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
    ):
        return _constant_column(name, known, whole) or _infer_from_numbers(name, _to_doubles(known))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _constant_column(name, known, whole) or _infer_from_strings(
            name, known.cast(pa.string()), typed, whole
        )
    return Column(name, "skip", f"of type {kind}, which is not read")


def _to_doubles(known: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_duration(known.type):
        known = known.cast(pa.int64())
    return known.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _constant_column(name: str, known: Any, whole: bool) -> Column | None:
    return Column(name, "skip", "always the same value") if whole and len(known.unique()) == 1 else None


def _infer_from_strings(name: str, known: Any, typed: bool, whole: bool) -> Column:
    """Infer the role of strings: numbers in a file without types, dates, or texts."""
    if not typed:
        numeric = _parse_numbers(known)
        if numeric is not None:
            return (_constant_number_column(name, numeric) if whole else None) or _infer_from_numbers(name, numeric)
    if _is_date(known):
        return _infer_from_dates(name, known, whole)
    return _infer_from_texts(name, known)


def _constant_number_column(name: str, values: Any) -> Column | None:
    return Column(name, "skip", "always the same value") if len(values) and (values == values[0]).all() else None


def _parse_numbers(known: Any) -> Any:
    """Parse texts as numbers, without marks of missing values; None if one is none, as codes such as 007."""
    words = [w for word in known.to_pylist() if (w := word.strip()) not in MISSING_NUMBERS]
    if not words or not _is_number(words[0]) or any(len(w) > 1 and w[0] == "0" and w[1].isdigit() for w in words):
        return None
    try:
        numbers = np.array([float(w) for w in words if "_" not in w])
    except ValueError:
        return None
    return numbers if len(numbers) == len(words) else None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _first_text(values: Any) -> str | None:
    for word in values.drop_null().to_pylist():
        if word.strip() not in MISSING_NUMBERS and not _is_number(word):
            return str(word)
    return None


def _infer_from_numbers(name: str, values: Any) -> Column:
    whole_numbers = bool((values == np.rint(values)).all())
    distinct = np.unique(values)
    if len(distinct) == 2 and set(distinct.tolist()) == {0.0, 1.0}:
        return Column(name, "flag", "0 or 1")
    if whole_numbers and len(values) >= MIN_VALUES and (np.diff(values) == 1).all():
        return Column(name, "skip", "numbers the rows")
    if (
        whole_numbers
        and distinct[0] >= 0
        and distinct[-1] < np.inf
        and values.var() <= MAX_DISPERSION * values.mean()
    ):
        return Column(name, "count", "whole numbers ≥ 0")
    return Column(name, "number", "numbers")


def _infer_from_texts(name: str, known: Any, categorical: bool = False) -> Column:
    values = known.unique().to_pylist()
    n, distinct = len(known), len(values)
    words = sum(len(value.split()) for value in values) / distinct
    recurring = words >= 2 and n >= MIN_VALUES and _has_recurring_words(values)
    if distinct > n / 2 and (words > MIN_TEXT_WORDS or recurring):
        return Column(name, "text", f"free text ({words:.0f} words on average)")
    if distinct == n and n >= MIN_VALUES and not categorical:
        long = sum(map(len, values)) / distinct > LONG_NAME_CHARACTERS
        return Column(
            name, "skip", "every value is different: an identifier" + (LONG_NAME_HINT.format(name) if long else "")
        )
    lower = {value.lower() for value in values}
    if any(lower <= set(pair) for pair in (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"))):
        return Column(name, "flag", " or ".join(sorted(values)))
    return Column(name, "category", f"{distinct} different values")


def _has_recurring_words(texts: Sequence[str]) -> bool:
    """Return whether words occur twice or more on average: in subject lines they do, in names less."""
    words = [word.lower() for text in texts for word in text.split()]
    return len(words) >= 2 * len(set(words))


def _is_date(known: Any) -> bool:
    import pyarrow as pa

    if len(known[0].as_py()) < len("2024-01-01"):
        return False
    try:
        to_timestamps(known)
    except pa.ArrowInvalid:
        return False
    return True


def _infer_from_dates(name: str, known: Any, whole: bool) -> Column:
    parts = _date_parts(name, known, whole)
    if not parts:
        return Column(name, "skip", "dates that all have the same month and weekday")
    return Column(name, "date", f"dates: by {', '.join(parts)}", parts)


def _date_parts(name: str, known: Any, whole: bool) -> tuple[str, ...]:
    """Return the parts of dates that vary; where more rows follow, also month and weekday, which may vary yet."""
    import pyarrow.compute as pc

    when = parse_dates(known.drop_null(), name)
    reads = {"month": pc.month, "weekday": pc.day_of_week, "hour": pc.hour}
    always = () if whole else ("month", "weekday")
    return tuple(part for part, read in reads.items() if part in always or len(read(when).unique()) > 1)
