"""How a refusal is worded for people who know scikit-learn: its sentence first, then column, value and hint."""

from __future__ import annotations

from collections.abc import Sequence

from deciban.engines import InvalidValue
from deciban.errors import InputError


def worded(
    bad: InvalidValue, estimator: str, names: Sequence[str] | None, proposal: str, skips: bool = True
) -> InputError:
    """The same refusal with the column's name and a way out; `skips`: NaN is taken, as a missing value."""
    column = f"column {bad.column if names is None else repr(str(names[bad.column]))}"
    where = f"{column}, row {bad.row}"
    if bad.rule == "negative":
        values = "1 negative value" if bad.count == 1 else f"{bad.count} negative values"
        return InputError(
            f"Negative values in data passed to {estimator} (input X). {column} has {values} "
            f"(first: {bad.value:g} in row {bad.row}). Hint: {proposal}"
        )
    if bad.rule == "missing":
        return InputError(f"Input X contains NaN. {estimator} found a missing value in {where}. Hint: {proposal}")
    if bad.rule == "infinite":
        return InputError(
            f"Input X contains infinity or a value too large for dtype('float64'). {where} holds {bad.value:g}. "
            f"Hint: {'replace it by NaN to treat it as missing' if skips else proposal}"
        )
    if bad.rule == "too many levels":
        return InputError(f"{estimator} takes level codes 0, 1, 2, …; {where} holds {bad.value:g}. Hint: {proposal}")
    return InputError(
        f"With binarize=None, {estimator} takes values between 0 and 1; {where} holds {bad.value:g}. "
        f"Hint: binarize=0.0 counts what is above zero."
    )
