"""Identifiers: columns that name the rows, and so say nothing of a new one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_VALUES = 20
"""The number of values from which all of them being different means something."""

MIN_IDENTIFIER_SHARE, MIN_NAMED_IDENTIFIER_SHARE = 0.95, 0.9
"""The share of different values from which texts, or numbers that are named so, are an identifier: what is known of
one value says nothing of a new row."""

CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
IDENTIFIER_NAME = re.compile(
    r"(?:\b|_|customer|client|patient|user|account|member|person|employee|student|product|item|record|row|case|subject|"
    r"sample|order|passenger|transaction|object)(?:id|ids|uid|uuid|guid|key|pk|index|idx|nr|no|num|number|code|serial)$"
)
"""The names of identifiers: `id`, `PassengerId`, `sample_code_number`, `customerid`."""

MIN_EVEN_NUMBERS, MIN_EVEN_NUMBER = 50, 100_000
"""The numbers, and the largest of them, from which an even spread up to a power of ten is no chance."""

MIN_STEPS_OF_ONE, MAX_EVEN_SAMPLE = 0.99, 5000
"""The share of steps from which sorted numbers number the rows, but for the gaps between the places where these were
read, and the number of values up to which more of them must be spread more evenly."""

LONG_NAME_CHARACTERS, LONG_NAME_HINT = 12, "; --as {}=text reads its words"
"""Identifiers of more characters than this on average may be texts after all, in a script that has no spaces."""


def find_text_identifier(name: str, values: Sequence[str], n: int) -> str | None:
    """Return why n texts with these different values are an identifier; None where they may be a category."""
    distinct = len(values)
    if n < MIN_VALUES or distinct < MIN_IDENTIFIER_SHARE * n:
        return None
    is_long = sum(map(len, values)) / distinct > LONG_NAME_CHARACTERS
    hint = LONG_NAME_HINT.format(name) if is_long else ""
    different = "every value is different" if distinct == n else f"{distinct} of {n} values are different"
    return f"{different}: an identifier{hint}"


def find_number_identifier(name: str, values: NDArray[Any], distinct: NDArray[Any]) -> str | None:
    """Return why whole numbers are no quantity but an identifier; None where they may be a quantity.

    Numbers of sorted rows are evenly spread, as sorted quantities are not. An identifier that has gaps and is not
    sorted looks like a quantity: its name decides, or digits that are evenly spread.
    """
    n, words = len(values), CAMEL_CASE.sub("_", name).lower()
    if len(distinct) == n > 1 and (np.diff(distinct) == 1).all() and IDENTIFIER_NAME.search(words):
        return "numbers the rows, and is named so"
    if n < MIN_VALUES or not np.isfinite(values).all():
        return None
    steps = np.diff(values)
    if (steps > 0).all() and (steps == 1).mean() > MIN_STEPS_OF_ONE:
        return "numbers the rows"
    if ((steps > 0).all() or (steps < 0).all()) and _is_evenly_spread(distinct, distinct[0], distinct[-1]):
        return f"{'larger' if steps[0] > 0 else 'smaller'} in every row than in the one before: an identifier"
    if distinct[0] >= 0 and len(distinct) >= MIN_NAMED_IDENTIFIER_SHARE * n and IDENTIFIER_NAME.search(words):
        return f"{len(distinct)} different whole numbers in {n} rows, and its name: an identifier"
    if len(distinct) == n >= MIN_EVEN_NUMBERS and distinct[0] >= 0 and distinct[-1] >= MIN_EVEN_NUMBER:
        scale = 10.0 ** np.ceil(np.log10(distinct[-1] + 1))
        if _is_evenly_spread(distinct, scale / 10 if distinct[0] >= scale / 10 else 0.0, scale):
            return f"different whole numbers in all {n} rows, evenly spread up to {scale:g}: an identifier"
    return None


def _is_evenly_spread(values: NDArray[Any], low: float, high: float) -> bool:
    """Return whether sorted values may be drawn evenly between two numbers, by Kolmogorov and Smirnov's distance."""
    n = min(len(values), MAX_EVEN_SAMPLE)
    gaps = (values - low) / (high - low) - (np.arange(len(values)) + 0.5) / len(values)
    return bool(np.abs(gaps).max() < 1 / np.sqrt(n))
