"""Terms of texts in SQL: sums over the tokens of each row, which a table of (row, token, count) has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deciban.errors import InputError
from deciban.export import sql_expressions as e
from deciban.export.portable import Term
from deciban.export.sql_expressions import Expression, Speller, Terms, exp
from deciban.export.sql_numbers import contrast_scores
from deciban.export.sql_steps import SOURCE_ALIAS, QuerySteps

ROW, TOKEN, COUNT = "row", "token", "count"
"""The columns of a table of tokens."""


def join_tokens(
    steps: QuerySteps,
    speller: Speller,
    term: Term,
    words: Mapping[str, Any],
    reference: int,
    key: str,
    table: str,
    number: int,
) -> Terms:
    """Join the sums of a text's tokens in the next step; return the term of each class.

    `table` has the tokens of all rows, and its column `row` refers to the column `key` of the scored table.
    """
    name = f"deciban_text_{number}"
    weights = _contrast_weights(term, reference)
    written = [k for k, row in enumerate(weights) if any(row)]
    columns = [f"{name}_token", *(f"{name}_w{k}" for k in written)]
    rows = [[e.text(word), *(e.number(weights[k][v]) for k in written)] for v, word in enumerate(term["words"])]
    if not written or not rows:
        return [None] * len(weights)
    steps.add_table(f"{name}_words", columns, rows)
    value = _write_value(speller, e.column(COUNT), words["values"])
    norm = _write_norm(value, words["length"])
    sums = []
    for k in written:
        total: Expression = exp.Sum(this=e.multiply(value, e.column(f"{name}_w{k}")))
        sums.append(e.alias(total if norm is None else e.divide(total, norm), f"{name}_s{k}"))
    source: Expression = exp.Table(this=e.name_to_identifier(table))
    row = e.column(ROW)
    if words["values"] != "counts" or norm is not None:
        source = _add_counts(source, name)
    select = exp.Select(expressions=[e.alias(row, f"{name}_row"), *sums]).from_(source)
    select = select.join(
        exp.to_table(f"{name}_words"), on=e.compare(e.column(TOKEN), exp.EQ, e.column(f"{name}_token"))
    )
    same = e.compare(e.column(key, SOURCE_ALIAS), exp.EQ, e.column(f"{name}_row"))
    steps.join(select.group_by(row).subquery(name), same)
    zero = e.number(0.0)
    return [
        exp.Coalesce(this=e.column(f"{name}_s{k}"), expressions=[zero]) if k in written else None
        for k in range(len(weights))
    ]


def _add_counts(table: Expression, name: str) -> Expression:
    """Return the table with one line for each token of a row: it may have one for each time that a token occurs."""
    columns = [e.column(ROW), e.column(TOKEN), e.alias(exp.Sum(this=e.column(COUNT)), COUNT)]
    select = exp.Select(expressions=columns).from_(table).group_by(e.column(ROW), e.column(TOKEN))
    return select.subquery(f"{name}_tokens")


def _contrast_weights(term: Term, reference: int) -> list[list[float]]:
    """Return the weights of words less those of the reference class; refuse what SQL cannot express."""
    if term["words"] is None:
        raise InputError(
            f"column {term['feature']!r} is counted by hashes of its words, which SQL cannot compute. "
            f"Hint: train without hashed words"
        )
    weights, dead = contrast_scores(term["weights"], reference)
    if any(map(any, dead)):
        raise InputError(
            f"column {term['feature']!r} has words that are impossible in a class, which SQL does not express. "
            f"Hint: train with alpha > 0"
        )
    return weights


def _write_value(speller: Speller, count: Expression, values: str) -> Expression:
    """Return the value with which a word counts that occurs so often in a text."""
    number = exp.cast(count, "double")
    if values == "presence":
        return e.number(1.0)
    return speller.log(e.sum_of([e.number(1.0), number])) if values == "log" else number


def _write_norm(value: Expression, length: str | None) -> Expression | None:
    """Return the length of a text by which its values are divided; None where they are not."""
    if length is None:
        return None
    if length == "l1":
        return exp.Sum(this=value)
    return exp.Sqrt(this=exp.Sum(this=e.multiply(value, value)))
