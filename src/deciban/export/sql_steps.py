"""The steps of a query: a chain of SELECTs, each of which reads the one before (WITH).

An expression that is used several times is computed in a step of its own. Where a database would merge the steps
again, and repeat their expressions, it is kept from doing so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deciban.export import sql_expressions as e
from deciban.export.sql_expressions import Dialect, Expression, exp

SOURCE_ALIAS = "deciban_source"
"""The name of the step before, or of the scored table, within a step."""


@dataclass
class QuerySteps:
    """The steps of a query so far, the tables of literals that it defines, and what its next step joins."""

    dialect: Dialect
    table: exp.Table
    steps: list[tuple[str, exp.Select]] = field(default_factory=list)
    tables: list[tuple[str, exp.Select]] = field(default_factory=list)
    joins: list[exp.Join] = field(default_factory=list)

    def add(self, expressions: Sequence[Expression]) -> None:
        """Add a step with these columns; it reads the step before, or the table, and all that is joined with it."""
        source = exp.to_table(self.steps[-1][0]) if self.steps else self.table
        select = exp.Select(expressions=list(expressions))
        select = select.from_(exp.alias_(source, SOURCE_ALIAS, table=True, copy=False), copy=False)
        select.set("joins", self.joins)
        self.joins = []
        if self.dialect == "postgres":
            select = select.offset(0, copy=False)  # PostgreSQL merges steps, and then repeats their expressions
        self.steps.append((f"deciban_{len(self.steps) + 1}", select))

    def let(self, named: Mapping[str, Expression]) -> list[Expression]:
        """Add a step with named expressions and all columns of the step before; return the new columns."""
        if named:
            self.add([exp.Star(), *(e.alias(value, name) for name, value in named.items())])
        return [e.column(name) for name in named]

    def add_table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Expression]]) -> None:
        """Define a table of literals by its columns and rows, under a name that `join` may use.

        The first row says which type the numbers of a column have: PostgreSQL and Snowflake read 1.0e0 as a decimal.
        """
        if self.dialect in ("postgres", "snowflake") and rows:
            rows = [[_cast_double(value) for value in rows[0]], *rows[1:]]
        values = exp.Values(expressions=[exp.Tuple(expressions=list(row)) for row in rows])
        if self.dialect == "sqlite":  # which names the columns column1, column2, …
            named = [e.alias(exp.column(f"column{i + 1}"), column) for i, column in enumerate(columns)]
            select = exp.Select(expressions=named).from_(exp.Subquery(this=values))
        else:
            identifiers = [e.name_to_identifier(column) for column in columns]
            values.set("alias", exp.TableAlias(this=exp.to_identifier("deciban_values"), columns=identifiers))
            select = exp.Select(expressions=[exp.Star()]).from_(values)
        self.tables.append((name, select))

    def join(self, table: Expression, condition: Expression) -> None:
        """Join a table in the next step; rows without a match are kept."""
        self.joins.append(exp.Join(this=table, on=condition, side="left"))

    def join_rows(self, name: str, key: Expression, columns: Mapping[str, Sequence[float]]) -> dict[str, Expression]:
        """Join the rows of some columns by a key that numbers them from 0; return the joined columns, else NULL."""
        rows = [[e.integer(v), *map(e.number, row)] for v, row in enumerate(zip(*columns.values()))]
        names = {column: f"{name}_{column}" for column in columns}
        self.add_table(name, [f"{name}_v", *names.values()], rows)
        self.join(exp.to_table(name), e.compare(key, exp.EQ, e.column(f"{name}_v")))
        return {column: e.column(full) for column, full in names.items()}

    def finish(self, expressions: Sequence[Expression]) -> exp.Select:
        """Return the whole query, whose results are these expressions over the last step."""
        query = exp.Select(expressions=list(expressions)).from_(exp.to_table(self.steps[-1][0]), copy=False)
        materialized = True if self.dialect == "sqlite" else None  # else SQLite merges steps
        for name, select in (*self.tables, *self.steps):
            query = query.with_(name, as_=select, materialized=materialized, copy=False)
        return query


def _cast_double(value: Expression) -> Expression:
    """Return a literal with an exponent as a double, any other as it is."""
    is_double = any("e" in str(literal.this) for literal in value.find_all(exp.Literal) if not literal.is_string)
    return exp.cast(value, "double") if is_double else value
