"""The statements: no row leaves a database, and other dialects can be written and parsed."""

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

import deciban
from deciban.sources.databases.driver import Driver
from deciban.sources.databases.tables import DatabaseTable
from deciban.sources.source import FileOptions, open_source
from deciban.sql import statements as made
from deciban.training import database_rows
from tests.sql.databases import KINDS, into_duckdb, mixed_table, put, statements, train_local

NAMES = ['na"me', "ti`me", "select", "a\nb; drop table x"]


class Unconnected(Driver):
    """A database that is not there, whose statements are only written."""

    def __init__(self, dialect, has_centred_variance):
        self.dialect, self.has_centred_variance, self.name = dialect, has_centred_variance, dialect

    read = stream = list_tables = None


Unconnected.__abstractmethods__ = frozenset()


def all_statements(dialect, weights, centred):
    driver = Unconnected(dialect, centred)
    relation = exp.Table(this=exp.to_identifier('t"`', quoted=True))
    schema = pa.schema([*((name, pa.float64()) for name in NAMES), ("y", pa.string()), ("w", pa.float64())])
    forms = dict.fromkeys(schema.names, "plain")
    condition = sqlglot.parse_one("w > 0 AND y <> 'item'", dialect=dialect)
    table = DatabaseTable(driver, relation, "t", schema, forms, condition)
    rows = made.LabelledTable(table, "y", "w" if weights else None, frozenset(NAMES[:1]))
    bounds = [(-1e300, 1e300)] * len(NAMES)
    return [
        made.count_classes(rows), made.count_levels(rows, NAMES[:2]),
        made.count_date_parts(rows, NAMES[0], ["month", "weekday", "hour"]),
        made.sample_numbers(rows, NAMES[0]), made.count_grid(rows, NAMES[0], -1e5, 1e300, 12),
        made.estimate_centres(rows, NAMES), made.sum_numbers(rows, NAMES, dict.fromkeys(NAMES, 1.5), NAMES[:1]),
        made.bound_extremes(rows, NAMES, 10**7, 4), made.count_extremes(rows, NAMES, bounds, 12),
        made.count_extremes(rows, NAMES[:1], bounds[:1], 12),
    ]  # fmt: skip


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "spark", "postgres", "duckdb", "sqlite"])
def test_statements_of_every_dialect_are_parsed_again(dialect):
    for weights, centred in ((False, False), (True, False), (False, True)):
        for statement in all_statements(dialect, weights, centred):
            written = statement.sql(dialect=dialect)
            (parsed,) = sqlglot.parse(written, dialect=dialect)
            assert isinstance(parsed, exp.Query)
            found = {identifier.name for identifier in parsed.find_all(exp.Identifier)}
            assert found & set(NAMES) or "y" in found
            assert all(
                identifier.quoted for identifier in parsed.find_all(exp.Identifier) if identifier.name in NAMES
            )
            assert [
                literal.name
                for literal in parsed.find_all(exp.Literal)
                if literal.is_string and literal.name == "item"
            ]


def test_every_weight_is_learned_invalid_zero_or_missing():
    weights = pa.array([1.75e308, 1.0, 0.0, -1.0, np.inf, np.nan, None])
    table = open_source(into_duckdb(pa.table({"y": ["a"] * 7, "w": weights}), "t"), options=FileOptions(table="t"))
    (found,) = table.driver.read(made.count_classes(made.LabelledTable(table, "y", "w"))).to_pylist()
    assert (found["n"], found["learned"], found["invalid"]) == (7, 2, 2)


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_no_row_leaves_where_all_roles_are_given_and_nothing_is_measured(kind, request):
    table = mixed_table(5000).select(["far", "skewed", "visits", "cough", "y"])
    source = put(kind, table, request)
    roles = {"far": "number", "skewed": "binned", "visits": "count", "cough": "category"}
    with statements() as log:
        deciban.train(source, table="t", target="y", roles=roles, judge=False)
    assert len(log) > 5
    for sql, n in log:
        is_aggregate = any(word in sql for word in ("GROUP BY", "COUNT(", "AVG("))
        assert n == 0 or is_aggregate, sql
    assert max(n for _, n in log) < 4000  # the cells of the grid


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_the_rows_is_scored_without_its_fold(kind, request):
    table = mixed_table(4000)
    source = put(kind, table, request)
    with patch.object(database_rows, "MAX_FETCHED_ROWS", 500):
        model = deciban.train(source, table="t", target="y", numbers="number")
    rows = int(model.held_out.rows)
    assert 400 < rows <= 500
    text = " ".join(str(model.held_out).split())
    assert f"10-fold: {rows} of " in text
    assert "drawn at random, each scored by the model without its fold" in text
    local = train_local(table, target="y", numbers="number")
    assert model.held_out.accuracy == pytest.approx(local.held_out.accuracy, abs=0.08)


def test_rows_of_the_sample_are_not_learned_by_the_model_that_scores_them():
    """Random labels cannot be predicted, though a column names each pair of rows: models with them would know."""
    rng = np.random.default_rng(0)
    table = pa.table({"c": np.repeat(np.arange(1000), 2).astype(str), "y": rng.choice(["a", "b"], 2000)})
    given = {"target": "y", "roles": {"c": "category"}, "most_levels": 2000, "calibrate": "none", "alpha": 1.0}
    model, local = deciban.train(into_duckdb(table, "t"), table="t", **given), train_local(table, **given)
    assert model.held_out.accuracy == local.held_out.accuracy < 0.6
    assert deciban.evaluate(table, model=model).accuracy > 0.7
