"""Whether two models count the same things, so that they can be added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deciban.errors import SchemaError

if TYPE_CHECKING:
    from deciban.model.model_algebra import Algebra

WAY_OUT = "Hint: train one with the schema of the other, `deciban train … --like MODEL` (train(…, like=model))"


def _beside(name: str, block: tuple[str, ...]) -> str:
    """The columns that a column is joined with."""
    return ", ".join(other for other in block if other != name) or "none"


def check_alike(a: Algebra, b: Algebra) -> None:
    """Refuse two models that differ in target, roles or options, naming the first difference."""
    if a.target != b.target:
        raise SchemaError(f"the two models have different targets: {a.target!r} and {b.target!r}")
    mine, theirs = a.roles, b.roles
    for name in (*mine, *theirs):
        x, y = mine.get(name, "absent"), theirs.get(name, "absent")
        if x != y and {x, y} != {"skip", "absent"}:
            raise SchemaError(f"the two models differ in column {name!r}: {x} in one, {y} in the other. {WAY_OUT}")
    parts = {column.name: column.parts for column in b.columns}
    for column in a.columns:
        if column.parts != parts.get(column.name, column.parts):
            raise SchemaError(
                f"the two models break the dates of column {column.name!r} into different parts. {WAY_OUT}"
            )
    blocks = {column.name: column.block for column in b.columns}
    for column in a.columns:
        other = blocks.get(column.name, column.block)
        if column.block != other:
            raise SchemaError(
                f"the two models join column {column.name!r} with different columns: "
                f"{_beside(column.name, column.block)} in one, {_beside(column.name, other)} in the other. {WAY_OUT}"
            )
    if a.layout.texts:
        a.options.words.refuse_other(b.options.words, WAY_OUT)
    for name in ("alpha", "parameter_prior", "covariance", "unseen", "most_levels", "prior"):
        x, y = getattr(a.options, name), getattr(b.options, name)
        if x != y:
            raise SchemaError(f"the two models differ in {name}: {x!r} and {y!r}. {WAY_OUT}")
