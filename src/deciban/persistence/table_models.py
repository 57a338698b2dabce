"""Table models in model files: their columns, their options, and what they believe."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban import generative as belief
from deciban import persistence as files
from deciban.errors import InputError
from deciban.families.family import Family
from deciban.families.marginal_likelihood import with_alpha
from deciban.ledger import Block
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import JOINABLE, ROLES, Column, Feature, Layout
from deciban.model.combinations import is_combination
from deciban.model.model import Model
from deciban.model.model_algebra import Origin
from deciban.model.model_options import Options
from deciban.persistence import Section
from deciban.persistence import generative_models as recall
from deciban.persistence.ledgers import level_arrays
from deciban.sources.arrow_cells import DATE_PARTS
from deciban.text import Words

TARGET_TYPES = (
    "string", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "halffloat", "float", "double",
)  # fmt: skip
"""Kinds of label that a file may name."""


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, whole or not at all."""
    section = Section({"kind": "table", "target": model.target, "target_type": model.target_type}, eager=False)
    section.put("weights", model.weights).put("rows", model.ledger.n_rows)
    write_columns(section, model.columns, model.options.words)
    section.add("options", _written_options(model.options, model.layout))
    section.put("origin", {name: getattr(model.origin, name) for name in Origin.__dataclass_fields__})
    section.put("held_out", model.quality)
    section.add("belief", recall.written(model.scorer))
    _model(section)
    files.write(path, section.header, section.arrays)


def write_columns(section: Section, columns: Sequence[Column], words: Words) -> None:
    """Write the columns with their roles, and a fingerprint of how they are read."""
    section.put("reader", fingerprint(columns, words))
    section.add_all("columns", [_written_column(column) for column in columns])


def fingerprint(columns: Sequence[Column], words: Words) -> str:
    """A short name for how a table is read: the same for the same columns in the same roles, texts read alike."""
    told: list[Any] = [
        [column.name, column.role, list(column.parts), *([list(column.block)] if column.block else [])]
        for column in columns
    ]
    if any(column.role == "text" for column in columns):
        told.append(words.fingerprint)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _written_column(column: Column) -> Section:
    made = Section({"name": column.name, "role": column.role, "reason": column.reason})
    made = made.put("block", list(column.block)) if column.block else made
    return made.put("parts", list(column.parts)) if column.parts else made


def _written_options(options: Options, layout: Layout) -> Section:
    names = ("alpha", "parameter_prior", "unseen", "most_levels")
    section = Section({name: getattr(options, name) for name in names})
    if options.covariance is not None:
        section.put("covariance", options.covariance)
    return section.put("words", options.words.to_dict()) if layout.texts else section


def opened(contents: files.Contents) -> Model:
    """The model of a file."""
    return _model(contents.section())


def _model(section: Section) -> Model:
    believed = recall.recalled(section.part("belief"))
    assert isinstance(believed, (belief.GenerativeModel, FittedModel))
    if isinstance(believed, FittedModel) and believed.basis is None:
        section.refuse("weights of a table's columns rest on what was counted of them, and that is not there")
    options = _options(section.part("options"), believed)
    columns = read_columns(section, believed.outline.blocks, options.words)
    _check_families(section, options, columns, believed.assumption.families)
    return Model(
        section.text("target"),
        columns,
        options,
        belief=believed,
        target_type=section.text("target_type", among=TARGET_TYPES),
        weights=None if section.value("weights") is None else section.text("weights"),
        origin=_origin(section.part("origin")),
        quality=None if section.value("held_out") is None else section.part("held_out").header,
    )


def _check_families(
    section: Section, options: Options, columns: Sequence[Column], believed: Sequence[Family]
) -> None:
    """The families must be those of columns and options; pseudo-counts that were chosen are what they are."""
    try:
        asked = options.assumption(Layout(tuple(columns))).families
    except InputError as error:
        section.refuse(str(error))
    if len(asked) != len(believed) or not all(_same(a, b, options.auto) for a, b in zip(asked, believed)):
        section.refuse("the families are not those of its columns and options")


def _same(asked: Any, believed: Any, auto: bool) -> bool:
    """Whether two families assume the same, perhaps but for a pseudo-count that was chosen."""
    if type(asked) is not type(believed) or not hasattr(asked, "alpha"):
        return bool(asked == believed)
    alike = auto or np.array_equal(asked.alpha, believed.alpha)
    return alike and bool(with_alpha(asked, 1.0) == with_alpha(believed, 1.0))


def read_columns(section: Section, blocks: Sequence[Block], words: Words) -> tuple[Column, ...]:
    """The columns, which must be those of the ledger's blocks."""
    columns = tuple(_column(part) for part in section.parts("columns"))
    if len({column.name for column in columns}) < len(columns):
        section.refuse("two columns have the same name")
    _check_joined(section, columns)
    _check_layout(section, columns, blocks)
    _check_words(section, blocks, words)
    if section.has("reader") and section.text("reader") != fingerprint(columns, words):
        section.refuse("the columns are not those that the fingerprint of the reader names")
    return columns


def _column(section: Section) -> Column:
    parts = section.value("parts") if section.has("parts") else []
    if not isinstance(parts, list) or not all(isinstance(p, str) and p in DATE_PARTS for p in parts):
        section.refuse(f"'parts' should be some of {sorted(DATE_PARTS)}")
    role = section.text("role", among=ROLES)
    block = section.value("block") if section.has("block") else []
    if not isinstance(block, list) or not all(isinstance(name, str) for name in block):
        section.refuse("'block' should be a list of names")
    reason = section.text("reason")
    return Column(section.text("name"), role, reason, tuple(parts), tuple(block))  # type: ignore[arg-type]


def _check_joined(section: Section, columns: tuple[Column, ...]) -> None:
    """Columns that are joined name each other, and are numbers, or flags and categories."""
    known = {column.name: column for column in columns}
    for column in (column for column in columns if column.block):
        others = [known[name] for name in column.block if name in known]
        if len(others) < max(2, len(column.block)) or any(other.block != column.block for other in others):
            section.refuse(f"{column.name!r} is joined with columns that are not joined with it")
        if list(column.block) != sorted(set(column.block)) or column.name not in column.block:
            section.refuse(f"the columns that {column.name!r} is joined with are not in order")
        kinds = {JOINABLE.get(other.role) for other in others}
        if len(kinds) > 1 or None in kinds:
            section.refuse(f"{column.name!r} is joined with columns of another kind")


def _check_layout(section: Section, columns: tuple[Column, ...], blocks: Sequence[Block]) -> None:
    """The columns must be those that the ledger counts, block by block."""
    layout = Layout(columns)
    told = [(kind, None if kind == "bags" else tuple(f.name for f in features)) for kind, features in layout.blocks]
    if told != [(block.kind, None if block.kind == "bags" else block.names) for block in blocks]:
        section.refuse("the columns are not those that the ledger counts")
    believed = section.part("belief")
    ledger = (believed.part("basis") if believed.has("basis") else believed).part("ledger")
    if any(b.text("kind") == "levels" and not b.has("levels") for b in ledger.part("schema").parts("blocks")):
        section.refuse("the levels of the categories have no names")
    if any(feature.part or feature.joined for feature in layout.levels):
        _check_level_names(section, layout.levels, level_arrays(ledger))


def _check_words(section: Section, blocks: Sequence[Block], words: Words) -> None:
    """Words have names, or as many places as hashes of so many bits."""
    for block in (block for block in blocks if block.kind == "bags"):
        if block.reading != words.reading:
            section.refuse(f"texts are read as {words.reading}, and {block.reading} are counted")
        if (block.names is None) != (words.hashed is not None):
            section.refuse("words are counted by their hashes, or by their names; not as the options say")
        if words.hashed is not None and block.width != words.n_columns:
            section.refuse(f"{block.width} hashes are counted, and not 2 to the power of {words.hashed}")


def _check_level_names(section: Section, features: Sequence[Feature], names: Sequence[Any]) -> None:
    """The levels of dates are months, weekdays and hours, those of columns that are joined combinations of levels."""
    for feature, levels in zip(features, names, strict=True):
        if feature.joined and not all(is_combination(name, len(feature.joined)) for name in levels.to_pylist()):
            section.refuse(f"{feature.name!r} has a level that is no combination of levels")
        known = feature.fixed_levels
        if feature.part and (len(levels) > len(known) or not set(levels.to_pylist()) <= set(known)):
            section.refuse(f"{feature.name!r} has a level that is no {feature.part}")


def _options(section: Section, believed: belief.GenerativeModel | FittedModel) -> Options:
    try:
        return Options(
            "auto" if section.value("alpha") == "auto" else section.number("alpha", least=0),
            section.number("parameter_prior", least=0),
            section.text("unseen"),  # type: ignore[arg-type]
            section.whole("most_levels", least=1),
            believed.assumption.prior,
            read_words(section.part("words")) if section.has("words") else Words(),
            section.text("covariance") if section.has("covariance") else None,  # type: ignore[arg-type]
        )
    except InputError as error:
        section.refuse(str(error))


def read_words(section: Section) -> Words:
    """How texts are read, as a file says."""
    try:
        return Words.from_dict(section.header)
    except InputError as error:
        section.refuse(str(error))


def _origin(section: Section) -> Origin:
    counts = (section.whole("rows_read"), section.whole("rows_without_class"))
    return Origin(*counts, section.text("created"), section.text("source"))
