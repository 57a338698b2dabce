"""Steps as the command line and Python have them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from deciban.sources.database import quote_name, quote_text
from deciban.studio.data_set import DataSet, quote_path
from deciban.studio.workspace import Workspace

TYPED_ENDINGS = (".parquet", ".jsonl", ".ndjson")
"""Endings of files whose cells DuckDB reads as deciban does; in a CSV file it keeps the blanks around a cell."""


def format_table_words(workspace: Workspace) -> str:
    """Return the words of a command line that name the open table, its target and the roles that were chosen."""
    data = workspace.need_data()
    roles = [f"--as {shlex.quote(f'{name}={role}')}" for name, role in workspace.roles.items()]
    return " ".join([quote_path(data.training_name), f"--target {shlex.quote(workspace.need_target())}", *roles])


def format_table_arguments(workspace: Workspace, **more: Any) -> str:
    """Return the arguments of a Python call: the open table, its target, the roles that were chosen, and others."""
    roles = {"roles": workspace.roles} if workspace.roles else {}
    named = {"target": workspace.need_target(), **roles, **more}
    return ", ".join(
        [repr(workspace.need_data().training_name), *(f"{name}={value!r}" for name, value in named.items())]
    )


def format_options(options: Mapping[str, Any]) -> str:
    """Return options of a command line, each after a blank; those without a value are left out.

    >>> format_options({"columns": "a,b", "classes": "", "covariance": "full"})
    ' --columns a,b --covariance full'
    """
    given = {name: str(value) for name, value in options.items() if value not in ("", None)}
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items())


def format_row_query(data: DataSet, row: int, target: str, label: str) -> str:
    """Return a DuckDB query for a row of a table, counted from 0, with a label.

    Unless the cells of the file have types, the row is that of the corrected table that the page Take away writes.

    >>> print(format_row_query(DataSet("a.csv", "a.csv", ("x", "y"), None, 9, "", {2: "b"}, "y"), 2, "y", "it's"))
    select * replace ('it''s' as "y") from read_csv('a-corrected.csv', delim = ',', quote = '"', header = true,
    all_varchar = true) limit 1 offset 2
    """
    table = quote_text(data.name)
    if not data.name.endswith(TYPED_ENDINGS):
        options = "delim = ',', quote = '\"', header = true, all_varchar = true"
        table = f"read_csv({quote_text(data.training_name)}, {options})"
    return f"select * replace ({quote_text(label)} as {quote_name(target)}) from {table} limit 1 offset {row}"


def format_corrected_query(data: DataSet) -> str:
    """Return a DuckDB query for a table with its corrected labels; empty where its cells have no types.

    >>> data = DataSet("a.parquet", "a.parquet", ("x", "y"), None, 9, "", {2: "b", 4: None}, "y")
    >>> print(format_corrected_query(data))
    select * replace (case row_number() over () when 3 then 'b' when 5 then null else "y" end as "y") from 'a.parquet'
    """
    if not data.name.endswith(TYPED_ENDINGS) or not data.labels:
        return ""
    column = quote_name(data.labelled)
    labels = [
        f"when {row + 1} then {'null' if label is None else quote_text(label)}"
        for row, label in sorted(data.labels.items())
    ]
    changed = f"case row_number() over () {' '.join(labels)} else {column} end"
    return f"select * replace ({changed} as {column}) from {quote_text(data.name)}"


def quote_query(query: str) -> str:
    """Return a query as a word of a command line: in double quotes, in which its own quotes stay readable.

    >>> print(quote_query("select 'a$b' as \\"x\\""))
    "select 'a\\$b' as \\"x\\""
    """
    if "!" in query:  # shells at a terminal replace it within double quotes
        return shlex.quote(query)
    return '"' + re.sub(r'([\\"$`])', r"\\\1", query) + '"'


def write_python_query(query: str) -> str:
    """Return a query as a literal of Python, without escapes where it can be.

    >>> print(write_python_query("select 'a'"))
    \"\"\"select 'a'\"\"\"
    """
    is_plain = query.isprintable() and "\\" not in query and '"""' not in query and not query.endswith('"')
    return f'"""{query}"""' if is_plain else repr(query)
