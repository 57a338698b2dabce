"""The origin of a table model, and the checks that two models can be added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deciban.errors import SchemaError
from deciban.model.columns import Column

if TYPE_CHECKING:
    from deciban.model.model import Model

LIKE_HINT = "Hint: train one with the schema of the other, `deciban train … --like MODEL` (train(…, like=model))"


@dataclass(frozen=True)
class Origin:
    """The origin of a model: rows read, rows without a class, when it was made, and from which source."""

    rows_read: int = 0
    rows_without_class: int = 0
    created: str = ""
    source: str = ""

    def combine(self, operation: Callable[[int, int], int], other: Origin) -> Origin:
        """Return the origin with the numbers of rows of another added or subtracted; none is negative."""
        rows_read = max(0, operation(self.rows_read, other.rows_read))
        rows_without_class = max(0, operation(self.rows_without_class, other.rows_without_class))
        return replace(self, rows_read=rows_read, rows_without_class=rows_without_class)


def check_compatible(a: Model, b: Model) -> None:
    """Refuse two models that differ in target, roles or options, naming the first difference."""
    if a.target != b.target:
        raise SchemaError(f"the two models have different targets: {a.target!r} and {b.target!r}")
    for name in (*a.roles, *b.roles):
        x, y = a.roles.get(name, "absent"), b.roles.get(name, "absent")
        if x != y and {x, y} != {"skip", "absent"}:
            raise SchemaError(f"the two models differ in column {name!r}: {x} in one, {y} in the other. {LIKE_HINT}")
    check_same_columns(a.columns, b.columns, LIKE_HINT)
    if a.layout.texts:
        a.options.words.refuse_other(b.options.words, LIKE_HINT)
    for name in ("alpha", "parameter_prior", "covariance", "unseen", "most_levels", "prior"):
        x, y = getattr(a.options, name), getattr(b.options, name)
        if x != y:
            raise SchemaError(f"the two models differ in {name}: {x!r} and {y!r}. {LIKE_HINT}")


def check_same_columns(columns: Sequence[Column], others: Sequence[Column], hint: str) -> None:
    """Refuse two models that differ in the role, date parts or block of a column that both have, naming it."""
    by_name = {column.name: column for column in others}
    for column, other in ((column, by_name.get(column.name, column)) for column in columns):
        if column.role != other.role:
            raise SchemaError(
                f"the two models differ in column {column.name!r}: {column.role} in one, {other.role} in the other. "
                f"{hint}"
            )
        if column.parts != other.parts:
            raise SchemaError(
                f"the two models split the dates of column {column.name!r} into different parts. {hint}"
            )
        if column.block != other.block:
            x, y = (", ".join(name for name in c.block if name != c.name) or "none" for c in (column, other))
            raise SchemaError(
                f"the two models join column {column.name!r} with different columns: {x} in one, {y} in the other. "
                f"{hint}"
            )
