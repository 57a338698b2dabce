"""Which role each column gets, and why: from its type and its first rows."""

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

HEAD = 20_480
"""Rows that roles are inferred from."""

FEW = 20
"""Below so many values nothing is said about all of them being different."""

FREE_TEXT_WORDS = 4
"""Texts of more words than this on average, most of them different, are read word by word."""

LONG_NAME, LONG_HINT = 12, "; --as {}=text reads its words"
"""Identifiers of more characters than this on average may be texts after all, in a script that has no spaces."""

OF_DOCUMENTS = {
    TEXT: Column(TEXT, "text", "the document"),
    FILE: Column(FILE, "skip", "where the document comes from"),
}
"""Columns of what is no table but documents."""

POISSON_SPREAD = 2.0
"""Counts may vary this many times as much as their mean, and still be taken for counts."""


def infer(
    source: Source, head: Any, leave_out: Sequence[str], given: Mapping[str, str], numbers: str | None
) -> list[Column]:
    """A role for every column but those left out (the target, the weights); given roles are taken as they are."""
    if not head.num_rows:
        raise InputError(f"{source.name} has no rows, only a header. Hint: a table to learn from needs some")
    _check_given(source, leave_out, given)
    whole = head.num_rows < HEAD
    columns = []
    batch = head.combine_chunks().to_batches()[0]
    for name, values in zip(source.columns, batch.columns):
        if name in leave_out:
            continue
        if name in given:
            columns.append(_asked(name, given[name], values, source.typed))
        elif isinstance(source, (TextLines, WholeFiles)) and name in OF_DOCUMENTS:
            columns.append(OF_DOCUMENTS[name])
        else:
            columns.append(_settled(_inferred(name, values, source.typed, whole), numbers))
    _check_parts(columns)
    return columns


def _check_parts(columns: Sequence[Column]) -> None:
    """Refuse a column that is named as a part of a date is: neither could be told from the other."""
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


def _asked(name: str, role: str, values: Any, typed: bool) -> Column:
    if role == "date":
        return Column(name, "date", "as you said", _date_parts(name, values, whole=False))
    if role in ("number", "binned", "count") and not typed:
        strange = _first_text(values)
        if strange is not None:
            raise InputError(
                f"column {name!r} holds {strange!r}, which is no number, so it cannot be a {role}. "
                f"Hint: {role_hint(name, 'category')}; --missing {strange!r} (missing=[{strange!r}]) reads it as none"
            )
    return Column(name, role, "as you said")  # type: ignore[arg-type]


def _settled(column: Column, numbers: str | None) -> Column:
    """Numbers as the user wants them; without a wish, what is best is decided when all rows have been seen."""
    if column.role not in ("number", "count"):
        return column
    if numbers in ("number", "binned"):
        return Column(column.name, numbers, f"numbers; {numbers} as you said")  # type: ignore[arg-type]
    open_role: Role = "countable" if column.role == "count" and numbers is None else "undecided"
    return Column(column.name, open_role, column.reason if open_role == "countable" else "numbers")


def _inferred(name: str, values: Any, typed: bool, whole: bool) -> Column:
    """The role of one column by its first values; `whole`: these are all there are."""
    import pyarrow as pa

    known = values.drop_null() if values.null_count else values
    if pa.types.is_floating(known.type):
        known = known.filter(pa.array(~np.isnan(known.to_numpy(zero_copy_only=False))))
    if not len(known):
        return Column(name, "skip", "no value" if whole else f"no value in the first {len(values)} rows")
    kind = known.type.value_type if pa.types.is_dictionary(known.type) else known.type
    if pa.types.is_boolean(kind):
        return _constant(name, known, whole) or Column(name, "flag", "true or false")
    if pa.types.is_dictionary(known.type):
        return _constant(name, known, whole) or _of_texts(name, known.cast(pa.string()), categorical=True)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _constant(name, known, whole) or _of_dates(name, known, whole)
    if (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
    ):
        return _constant(name, known, whole) or _of_numbers(name, _doubles(known))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _constant(name, known, whole) or _of_words(name, known.cast(pa.string()), typed, whole)
    return Column(name, "skip", f"of type {kind}, which is not read")


def _doubles(known: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_duration(known.type):
        known = known.cast(pa.int64())
    return known.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _constant(name: str, known: Any, whole: bool) -> Column | None:
    return Column(name, "skip", "always the same value") if whole and len(known.unique()) == 1 else None


def _of_words(name: str, known: Any, typed: bool, whole: bool) -> Column:
    """Text: numbers in a file without types, dates, or what it says."""
    if not typed:
        numeric = _as_numbers(known)
        if numeric is not None:
            return (_constant_numbers(name, numeric) if whole else None) or _of_numbers(name, numeric)
    if _date_like(known):
        return _of_dates(name, known, whole)
    return _of_texts(name, known)


def _constant_numbers(name: str, values: Any) -> Column | None:
    return Column(name, "skip", "always the same value") if len(values) and (values == values[0]).all() else None


def _as_numbers(known: Any) -> Any:
    """The texts as numbers, if they all are, less the marks for missing ones; codes such as 007 are not."""
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


def _of_numbers(name: str, values: Any) -> Column:
    whole_numbers = bool((values == np.rint(values)).all())
    distinct = np.unique(values)
    if len(distinct) == 2 and set(distinct.tolist()) == {0.0, 1.0}:
        return Column(name, "flag", "0 or 1")
    if whole_numbers and len(values) >= FEW and (np.diff(values) == 1).all():
        return Column(name, "skip", "numbers the rows")
    if (
        whole_numbers
        and distinct[0] >= 0
        and distinct[-1] < np.inf
        and values.var() <= POISSON_SPREAD * values.mean()
    ):
        return Column(name, "count", "whole numbers ≥ 0")
    return Column(name, "number", "numbers")


def _of_texts(name: str, known: Any, categorical: bool = False) -> Column:
    told = known.unique().to_pylist()
    n, distinct = len(known), len(told)
    words = sum(len(word.split()) for word in told) / distinct
    if distinct > n / 2 and (words > FREE_TEXT_WORDS or (words >= 2 and n >= FEW and _recur(told))):
        return Column(name, "text", f"free text ({words:.0f} words on average)")
    if distinct == n and n >= FEW and not categorical:
        long = sum(map(len, told)) / distinct > LONG_NAME
        return Column(
            name, "skip", "every value is different: an identifier" + (LONG_HINT.format(name) if long else "")
        )
    values = {word.lower() for word in told}
    if any(values <= set(pair) for pair in (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("on", "off"))):
        return Column(name, "flag", " or ".join(sorted(told)))
    return Column(name, "category", f"{distinct} different values")


def _recur(told: Sequence[str]) -> bool:
    """Whether words come back from text to text, on average twice or more: subject lines do, names less."""
    words = [word.lower() for text in told for word in text.split()]
    return len(words) >= 2 * len(set(words))


def _date_like(known: Any) -> bool:
    import pyarrow as pa

    if len(known[0].as_py()) < len("2024-01-01"):
        return False
    try:
        to_timestamps(known)
    except pa.ArrowInvalid:
        return False
    return True


def _of_dates(name: str, known: Any, whole: bool) -> Column:
    parts = _date_parts(name, known, whole)
    if not parts:
        return Column(name, "skip", "dates that all have the same month and weekday")
    return Column(name, "date", f"dates: by {', '.join(parts)}", parts)


def _date_parts(name: str, known: Any, whole: bool) -> tuple[str, ...]:
    """The parts of these dates that vary; where more are to come, month and weekday may yet."""
    import pyarrow.compute as pc

    when = parse_dates(known.drop_null(), name)
    reads = {"month": pc.month, "weekday": pc.day_of_week, "hour": pc.hour}
    sure = () if whole else ("month", "weekday")
    return tuple(part for part, read in reads.items() if part in sure or len(read(when).unique()) > 1)
