"""How the numbers and dates of new rows are written, where that is not as in the rows that a model learned.

A column of new rows is decided as a whole, from its first rows: its own cells show that they are plain numbers, or
which number of a date is the day; where they leave it open, it is read as the model's column was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from deciban._lazy import pa
from deciban.sources.arrow_texts import trim_texts
from deciban.sources.arrow_types import is_text
from deciban.sources.cell_conversion import parse_texts
from deciban.sources.date_formats import DateFormat, infer_date_format
from deciban.sources.markers import MISSING_NUMBERS
from deciban.sources.number_formats import PLAIN, NumberFormat, get_plain_format, infer_number_format, is_currency
from deciban.sources.source import ColumnReading, Source
from deciban.spellings import TRUTHS

FORMAT_ROWS = 1000
"""The number of rows that formats are inferred from."""

MAX_INVALID_SHARE = 0.1
"""The share of cells that may be no dates, and are errors or missing, while the others show the order."""


def adapt_readings(
    source: Source, wanted: Mapping[str, ColumnReading], flags: Collection[str]
) -> dict[str, ColumnReading]:
    """Return the readings with the formats of numbers and dates that the first rows of a source show.

    `flags` are columns of 0 and 1, which are read as texts where their cells are words such as yes. Columns that are
    not texts, and those whose first rows are all missing, keep their readings. A decimal mark that is an option of
    the source holds for all its numbers.
    """
    learned = {
        name: how for name, how in wanted.items() if isinstance(how, (NumberFormat, DateFormat)) or name in flags
    }
    adapted = dict(wanted)
    if not learned:
        return adapted
    head, given = source.head(FORMAT_ROWS), get_plain_format(source)
    for name, how in learned.items():
        texts = head.column(name)
        if not is_text(texts.type) or not len(texts.drop_null()):
            continue
        texts = texts.combine_chunks().drop_null().cast(pa.string())
        if name in flags and _are_truths(texts):
            adapted[name] = "text"
        elif isinstance(how, DateFormat):
            adapted[name] = _adapt_dates(texts, how, getattr(source, "date_order", ""))
        elif isinstance(how, NumberFormat):  # with `thousands` the decimal mark is an option of the source
            adapted[name] = replace(given, unit=how.unit) if given.thousands else _adapt_numbers(texts, how)
    return adapted


def _are_truths(texts: Any) -> bool:
    """Return whether texts are truth values in words, which a flag of 0 and 1 may be given as."""
    words = set(texts.unique().to_pylist())
    return words <= TRUTHS.keys() and any(map(str.isalpha, words))


def _adapt_dates(texts: Any, learned: DateFormat, preferred: Any) -> DateFormat:
    """Return the order of day and month that the texts show; else the preferred one, else the learned one."""
    found = infer_date_format(texts, preferred or learned.order, MAX_INVALID_SHARE)
    if found is not None and found.format.order and not found.is_ambiguous:
        return found.format
    return DateFormat(preferred) if preferred else learned


def _adapt_numbers(texts: Any, learned: NumberFormat) -> NumberFormat:
    """Return the learned format if all texts fit it, else one that they all fit: plain, or with a currency."""
    if not parse_texts(texts, learned).n_invalid:
        return learned
    if not PLAIN.parse(texts).n_invalid:
        return PLAIN
    words = [word for word in trim_texts(texts).unique().to_pylist() if word and word not in MISSING_NUMBERS]
    found = infer_number_format(words, learned.decimal, fixed=True)
    if found is None or found.parse(texts).n_invalid or learned.unit or not is_currency(found.unit):
        return learned
    return found
