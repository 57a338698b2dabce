"""`export_model`: a table model as SQL, ONNX, JavaScript or JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from deciban.atomic_write import atomic_write
from deciban.docstrings import document
from deciban.errors import InputError, did_you_mean
from deciban.export.portable import make_document

if TYPE_CHECKING:
    from deciban.export.sql_expressions import Dialect
    from deciban.model.model import Model

Target = Literal["sql", "onnx", "js", "json"]

TARGETS: tuple[Target, ...] = get_args(Target)


@document()
def export_model(
    model: Model,
    to: Target,
    path: str | os.PathLike[str] | None = None,
    *,
    dialect: Dialect = "duckdb",
    table: str = "data",
    schema: str | None = None,
    keys: Sequence[str] = (),
    evidence: bool = False,
    classes: tuple[Any, Any] | None = None,
    tokens: Mapping[str, str] | None = None,
) -> str | bytes:
    """Return a table model as SQL, ONNX, JavaScript or JSON, for systems that do not run Python.

    Parameters
    ----------
    model : Model
        The model, made by `deciban.train` or `deciban.load`.
    to : 'sql', 'onnx', 'js' or 'json'
        One SELECT; an ONNX file in double precision; an ES module without dependencies; or the score form as JSON,
        which `deciban.load` reads.
    path : path or None
        The file to write, atomically; None: nothing is written.
    dialect : 'duckdb', 'postgres', 'sqlite', 'spark', 'bigquery' or 'snowflake'
        The dialect of SQL.
    table : str
        The table that the SQL reads.
    schema : str or None
        The schema that the table is in; None: the database's own.
    keys : sequence of str
        The columns of the table that the result keeps.
    evidence : bool
        Whether the SQL gives the evidence of each column, in decibans.
    classes : (for, against) or None
        The classes that the evidence compares; None: the two most probable ones of each row.
    tokens : mapping of str to str or None
        The table of the tokens of each text, with the columns `row`, `token` and `count`; by default COLUMN_tokens.

    Returns
    -------
    str or bytes
        The contents of the file; bytes for ONNX.

    Examples
    --------
    >>> import deciban
    >>> fruit = {"taste": ["sour", "sweet"] * 6, "kind": ["lemon", "plum"] * 6}
    >>> model = deciban.train(fruit, target="kind", judge=False)
    >>> sql = deciban.export_model(model, "sql", table="fruit", keys=["id"])
    >>> sql.startswith("WITH")
    True
    """
    if to not in TARGETS:
        raise InputError(
            f"a model is exported to one of {', '.join(TARGETS)}, not {to!r}{did_you_mean(str(to), TARGETS)}"
        )
    portable = make_document(_check_model(model))
    contents: str | bytes
    if to == "sql":
        from deciban.export.sql import SqlOptions, write_sql
        from deciban.model.table_explanations import find_class_pair

        pair = None if classes is None else find_class_pair(model, classes)
        contents = write_sql(
            portable, SqlOptions(dialect, table, schema, tuple(keys), evidence, pair, dict(tokens or {}))
        )
    elif to == "onnx":
        from deciban.export.onnx_graph import write_onnx

        contents = write_onnx(portable)
    else:
        from deciban.export.javascript import write_javascript, write_json

        contents = write_javascript(portable) if to == "js" else write_json(portable) + "\n"
    if path is not None:
        with atomic_write(path) as unfinished:
            unfinished.write_bytes(contents.encode() if isinstance(contents, str) else contents)
    return contents


def _check_model(model: Any) -> Model:
    """Return a table model; refuse anything else."""
    from deciban.model.model import Model

    if isinstance(model, Model):
        return model
    raise InputError(
        f"a {type(model).__name__} has no named columns, and cannot be exported. "
        f"Hint: deciban.train(table, target=…) makes models that can"
    )
