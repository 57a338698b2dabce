"""Table models in model files: their columns, their options and their fitted models."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from deciban import persistence
from deciban.errors import InputError
from deciban.families.family import Family
from deciban.generative import GenerativeModel
from deciban.ledger import Block
from deciban.ledger.extremes import MAX_COUNTED_ROWS, N_VALUES, Extremes
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import JOINABLE_ROLES, ROLES, Column, Feature, Layout, is_combination
from deciban.model.learned_rows import MAX_SOURCES, N_BUCKETS, LearnedRows
from deciban.model.model import Model
from deciban.model.model_options import Options, Origin
from deciban.persistence import Section
from deciban.persistence.container import read_bytes, write_bytes
from deciban.persistence.generative_models import read_scorer, write_scorer
from deciban.persistence.ledgers import read_level_arrays
from deciban.persistence.section import MAX_EXACT_INTEGER
from deciban.sources.arrow_cells import DATE_PARTS
from deciban.sources.date_formats import ORDERS, DateFormat
from deciban.sources.number_formats import MAX_UNIT_CHARACTERS, OTHER_MARK, THOUSANDS, NumberFormat
from deciban.text import Words

TARGET_TYPES = (
    "string", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "halffloat", "float", "double",
)  # fmt: skip
"""Arrow types of the target column that a file may name."""


ORIGIN_FIELDS = ("rows_read", "rows_without_class", "created", "source")
"""The fields of an origin that every file has."""

MAX_FILE_CELLS = 1 << 12
"""Largest number of cells of a column in a file."""

EXTREMES_ARRAYS = ("value", "rows", "limit")
"""The arrays of the extremes of numbers."""


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, atomically; refuse one that could not be read again."""
    section = _write_model(model)
    read_model(section)
    persistence.write(path, section.header, section.arrays)


def dump_model(model: Model) -> bytes:
    """Return the bytes of the file of a model; unlike `save`, without reading them back."""
    section = _write_model(model)
    return write_bytes(section.header, section.arrays)


def load_model(content: bytes) -> Model:
    """Return the model of bytes that `dump_model` has returned; ModelFileError if they are not what was written."""
    return read_model(read_bytes(content, "model").section())


def _write_model(model: Model) -> Section:
    section = Section({"kind": "table", "target": model.target, "target_type": model._target_type}, eager=False)
    section.put("weights", model.weights).put("rows", model.ledger.n_rows)
    write_columns(section, model.columns, model.options.words)
    section.add("options", _write_options(model.options, model._layout))
    section.add("origin", write_origin(model.origin, model._layout))
    section.put("held_out", model.quality)
    return section.add("belief", write_scorer(model._scorer))


def write_columns(section: Section, columns: Sequence[Column], words: Words) -> None:
    """Add the columns with their roles, and a fingerprint of how they are read, to a section."""
    section.put("reader", compute_fingerprint(columns, words))
    section.add_all("columns", [Section(describe_column(column)) for column in columns])


def describe_column(column: Column) -> dict[str, Any]:
    """Return a column as JSON values: its name and role, and how it is read where that is not as usual."""
    described: dict[str, Any] = {"name": column.name, "role": column.role, "reason": column.reason}
    described |= {name: list(getattr(column, name)) for name in ("block", "parts", "cells") if getattr(column, name)}
    return described | _describe_format(column) | ({"numeric": True} if column.numeric else {})


def compute_fingerprint(columns: Sequence[Column], words: Words) -> str:
    """Return a hash of how a table is read: equal for equal columns in equal roles with the same tokenizer."""
    description: list[Any] = []
    for column in columns:  # what a column does not have is left out: older files have fingerprints without it
        optional = (list(column.block), _describe_format(column), "numeric" if column.numeric else None)
        description.append([column.name, column.role, list(column.parts), *(each for each in optional if each)])
    if any(column.role == "text" for column in columns):
        description.append(words.fingerprint)
    return hashlib.sha256(json.dumps(description).encode()).hexdigest()[:16]


def _describe_format(column: Column) -> dict[str, Any]:
    """Return how the numbers or dates of a column are written, for a header; empty where as programs write them."""
    if isinstance(column.format, NumberFormat):
        return {"number_format": asdict(column.format)}
    return {} if column.format is None else {"date_order": column.format.order}


def _write_options(options: Options, layout: Layout) -> Section:
    names = ("alpha", "parameter_prior", "unseen", "most_levels")
    section = Section({name: getattr(options, name) for name in names})
    for name in ("covariance", "mixing", "shrinkage"):
        if getattr(options, name) is not None:
            section.put(name, getattr(options, name))
    if options.markers:
        section.put("markers", list(options.markers))
    if options.bounded:
        section.put("bounded", True)
    if options.dependence != "forest":
        section.put("dependence", options.dependence)
    if options.survey_weights:
        section.put("survey_weights", True)
    return section.put("words", options.words.to_dict()) if layout.texts else section


def read_model(section: Section) -> Model:
    """Read the table model of a file's outermost section."""
    scorer = read_scorer(section.part("belief"))
    assert isinstance(scorer, (GenerativeModel, FittedModel))
    if isinstance(scorer, FittedModel) and scorer.basis is None:
        section.refuse("a fitted model of a table needs the ledger of its columns, and that is not there")
    options = _read_options(section.part("options"), scorer)
    columns = read_columns(section, scorer.outline.blocks, options.words)
    _check_families(section, options, columns, scorer.assumption.families)
    return Model(
        section.text("target"),
        columns,
        options,
        scorer=scorer,
        target_type=section.text("target_type", among=TARGET_TYPES),
        weights=None if section.value("weights") is None else section.text("weights"),
        origin=read_origin(section.part("origin"), Layout(columns)),
        quality=None if section.value("held_out") is None else section.part("held_out").header,
    )


def write_origin(origin: Origin, layout: Layout) -> Section:
    """Return the section of the origin of a model, or of the summary of rows."""
    section = Section({name: getattr(origin, name) for name in ORIGIN_FIELDS})
    section.put("markers", {name: dict(counts) for name, counts in origin.markers.items()})
    if origin.extremes is not None and layout.number_names:
        extremes = origin.extremes.reorder(layout.number_names)
        section.add("extremes", Section().put_all({name: getattr(extremes, name) for name in EXTREMES_ARRAYS}))
    if origin.learned is not None:
        section.add("learned", _write_learned(origin.learned))
    return section


def read_origin(section: Section, layout: Layout) -> Origin:
    """Read the origin of a model of this layout."""
    columns = section.part("markers") if section.has("markers") else Section()
    cells = {name: columns.part(name) for name in columns.header}
    markers = {name: {text: counts.integer(text) for text in counts.header} for name, counts in cells.items()}
    rows = section.integer("rows_read"), section.integer("rows_without_class")
    extremes = _read_extremes(section.part("extremes"), layout) if section.has("extremes") else None
    learned = _read_learned(section.part("learned")) if section.has("learned") else None
    return Origin(*rows, section.text("created"), section.text("source"), markers, extremes, learned)


def _read_extremes(section: Section, layout: Layout) -> Extremes:
    """Read the least and greatest values of numbers: ascending, ∞ where there is none, which then has no rows."""
    names = layout.number_names
    shape = (2, len(names), N_VALUES)
    value = section.floats("value", shape, minimum=-np.inf, maximum=np.inf)
    rows = section.integers("rows", shape, maximum=MAX_COUNTED_ROWS)
    limit = section.floats("limit", shape[:2], minimum=-np.inf, maximum=np.inf)
    is_value = np.isfinite(value)
    ascends = (value[..., 1:] > value[..., :-1]) | ~is_value[..., 1:]
    if not ascends.all() or (is_value != (rows > 0)).any() or (is_value & (value > limit[..., None])).any():
        section.refuse("the extremes should ascend up to their limit, each with its rows")
    return Extremes(names, value, rows, limit)


def _write_learned(learned: LearnedRows) -> Section:
    """Write the sketch of the learned rows; the first of `rows` and `totals` are those of all sources together."""
    rows, totals = zip((learned.n_rows, learned.total), *learned.sources)
    arrays = {"buckets": np.array(learned.buckets, dtype=np.int64), "rows": np.array(rows, dtype=np.int64)}
    return Section().put_all(arrays | {"totals": np.array(totals, dtype=np.uint64).view(np.int64)})


def _read_learned(section: Section) -> LearnedRows:
    buckets = section.integers("buckets", (N_BUCKETS,), minimum=-MAX_EXACT_INTEGER)
    rows, totals = section.integers("rows", (None,)), section.array("totals", np.int64, (None,))
    if len(rows) != len(totals) or not 1 <= len(rows) <= 1 + MAX_SOURCES:
        section.refuse(f"there should be as many 'rows' as 'totals', at least 1 and at most {1 + MAX_SOURCES}")
    all_rows, *sources = zip(rows.tolist(), totals.view(np.uint64).tolist())
    return LearnedRows(*all_rows, tuple(buckets.tolist()), tuple(sources))


def _check_families(
    section: Section, options: Options, columns: Sequence[Column], families: Sequence[Family]
) -> None:
    """Check that the families are those of columns and options, with one pseudo-count for all columns of a kind."""
    try:
        expected = options.assumption(Layout(tuple(columns))).families
    except InputError as error:
        section.refuse(str(error))
    if any(np.ndim(getattr(family, "alpha", 0)) for family in families) or expected != families:
        section.refuse("the families are not those of its columns and options")


def read_columns(section: Section, blocks: Sequence[Block], words: Words) -> tuple[Column, ...]:
    """Read the columns, which must be those of the ledger's blocks."""
    columns = read_column_list(section)
    _check_layout(section, columns, blocks)
    _check_words(section, blocks, words)
    if section.has("reader") and section.text("reader") != compute_fingerprint(columns, words):
        section.refuse("the columns are not those that the fingerprint of the reader names")
    return columns


def read_column_list(section: Section) -> tuple[Column, ...]:
    """Read the columns of a table; refuse those that no table has."""
    columns = tuple(_read_column(part) for part in section.parts("columns"))
    if len({column.name for column in columns}) < len(columns):
        section.refuse("two columns have the same name")
    _check_joined(section, columns)
    return columns


def _read_list(section: Section, name: str, kind: type = str) -> list[Any]:
    """Read a list whose items are of one type from the header; an empty one where the file has none."""
    items = section.value(name) if section.has(name) else []
    if not isinstance(items, list) or not all(type(item) is kind for item in items):
        section.refuse(f"{name!r} should be a list of {'names' if kind is str else 'numbers'}")
    return items


def _read_column(section: Section) -> Column:
    parts, block = _read_list(section, "parts"), _read_list(section, "block")
    if not DATE_PARTS.keys() >= set(parts):
        section.refuse(f"'parts' should be some of {sorted(DATE_PARTS)}")
    role = section.text("role", among=ROLES)
    reason, numeric = section.text("reason"), section.has("numeric") and section.flag("numeric")
    if numeric and role not in ("flag", "category"):
        section.refuse(f"the levels of a {role} cannot be numbers")
    return Column(
        section.text("name"), role, reason, tuple(parts), tuple(block),  # type: ignore[arg-type]
        _read_format(section, role, numeric), numeric=numeric, cells=_read_cells(section, role),
    )  # fmt: skip


def _read_cells(section: Section, role: str) -> tuple[float, ...] | tuple[str, ...]:
    """Read the cells on which the dependence of a column is counted: ascending cuts, or names of levels."""
    kind: type = float if role in ("number", "binned", "count") else str
    cells = _read_list(section, "cells", kind)
    if len(cells) > MAX_FILE_CELLS:
        section.refuse(f"'cells' should be at most {MAX_FILE_CELLS}")
    if any(not a < b for a, b in pairwise(cells)) or (kind is float and not np.isfinite(cells).all()):
        section.refuse("'cells' should be in order, each once")
    if cells and role in ("date", "text", "skip"):
        section.refuse(f"a {role} has no cells")
    return tuple(cells)


def _read_format(section: Section, role: str, numeric: bool) -> NumberFormat | DateFormat | None:
    """Read how numbers or dates are written; a role that has none is refused."""
    if section.has("date_order"):
        if role != "date":
            section.refuse(f"a {role} has no order of dates")
        return DateFormat(section.text("date_order", among=ORDERS[1:]))  # type: ignore[arg-type]
    if not section.has("number_format"):
        return None
    part = section.part("number_format")
    decimal, thousands = part.text("decimal", among=OTHER_MARK), part.text("thousands", among=THOUSANDS)
    unit = part.text("unit")
    is_number = numeric or role in ("number", "binned", "count")
    if not is_number or decimal == thousands or len(unit) > MAX_UNIT_CHARACTERS:
        section.refuse("the format of its numbers is impossible")
    if re.search(r"[\d\s]", unit) or not unit.isprintable():
        section.refuse("the unit of its numbers holds a digit, a space or a control character")
    return NumberFormat(decimal, thousands, unit)


def _check_joined(section: Section, columns: tuple[Column, ...]) -> None:
    """Check that columns of a joint block name each other, and are all numbers, or all flags and categories."""
    known = {column.name: column for column in columns}
    for column in (column for column in columns if column.block):
        others = [known[name] for name in column.block if name in known]
        if len(others) < max(2, len(column.block)) or any(other.block != column.block for other in others):
            section.refuse(f"{column.name!r} is joined with columns that are not joined with it")
        if list(column.block) != sorted(set(column.block)) or column.name not in column.block:
            section.refuse(f"the columns that {column.name!r} is joined with are not in order")
        kinds = {JOINABLE_ROLES.get(other.role) for other in others}
        if len(kinds) > 1 or None in kinds:
            section.refuse(f"{column.name!r} is joined with columns of another kind")


def _check_layout(section: Section, columns: tuple[Column, ...], blocks: Sequence[Block]) -> None:
    """Check that the columns are those that the ledger counts, block by block."""
    layout = Layout(columns)
    expected = [(k, None if k == "bags" else tuple(f.name for f in features)) for k, features in layout.blocks]
    if expected != [(block.kind, None if block.kind == "bags" else block.names) for block in blocks]:
        section.refuse("the columns are not those that the ledger counts")
    scorer = section.part("belief")
    schema = (scorer.part("basis") if scorer.has("basis") else scorer).part("ledger").part("schema")
    if any(b.text("kind") == "levels" and not b.has("levels") for b in schema.parts("blocks")):
        section.refuse("the levels of the categories have no names")
    if any(feature.part or feature.joined for feature in layout.levels):
        _check_level_names(section, layout.levels, read_level_arrays(schema))


def _check_words(section: Section, blocks: Sequence[Block], words: Words) -> None:
    """Check that words are counted by name, or by hashes of as many bits as the options say."""
    for block in (block for block in blocks if block.kind == "bags"):
        if block.reading != words.reading:
            section.refuse(f"texts are read as {words.reading}, and {block.reading} are counted")
        if (block.names is None) != (words.hashed is not None):
            section.refuse("the ledger and the options differ on whether words are counted by hash or by name")
        if words.hashed is not None and block.width != words.n_columns:
            section.refuse(f"{block.width} hashes are counted, and not 2 to the power of {words.hashed}")


def _check_level_names(section: Section, features: Sequence[Feature], names: Sequence[Any]) -> None:
    """Check that the levels of dates are months, weekdays and hours, and those of joint columns are combinations."""
    for feature, levels in zip(features, names, strict=True):
        if feature.joined and not all(is_combination(name, len(feature.joined)) for name in levels.to_pylist()):
            section.refuse(f"{feature.name!r} has a level that is not a combination of levels")
        known = feature.fixed_levels
        if feature.part and (len(levels) > len(known) or not set(levels.to_pylist()) <= set(known)):
            section.refuse(f"{feature.name!r} has a level that is not a {feature.part}")


def _read_options(section: Section, scorer: GenerativeModel | FittedModel) -> Options:
    """Read the options; the class prior is that of the model. Files of earlier versions lack some."""
    markers = _read_list(section, "markers")
    if not all(markers):
        section.refuse("'markers' should be texts that are not empty")
    try:
        return Options(
            "auto" if section.value("alpha") == "auto" else section.number("alpha", minimum=0),
            section.number("parameter_prior", minimum=0),
            section.text("unseen"),  # type: ignore[arg-type]
            section.integer("most_levels", minimum=1),
            scorer.assumption.prior,
            Words.from_dict(section.part("words").header) if section.has("words") else Words(),
            section.optional(section.text, "covariance"),  # type: ignore[arg-type]
            tuple(markers),
            section.has("bounded") and section.flag("bounded"),
            section.optional(section.number, "mixing", 0, 1),
            section.optional(section.number, "shrinkage", 0, 1),
            section.text("dependence") if section.has("dependence") else "forest",  # type: ignore[arg-type]
            section.has("survey_weights") and section.flag("survey_weights"),
        )
    except InputError as error:
        section.refuse(str(error))
