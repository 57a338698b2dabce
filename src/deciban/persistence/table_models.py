"""Table models in model files: their columns, their options and their fitted models."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from deciban import persistence
from deciban.errors import InputError
from deciban.families.family import Family
from deciban.families.marginal_likelihood import with_alpha
from deciban.generative import GenerativeModel
from deciban.ledger import Block
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import JOINABLE_ROLES, ROLES, Column, Feature, Layout, is_combination
from deciban.model.model import Model
from deciban.model.model_options import Options, Origin
from deciban.persistence import Section
from deciban.persistence.generative_models import read_scorer, write_scorer
from deciban.persistence.ledgers import read_level_arrays
from deciban.sources.arrow_cells import DATE_PARTS
from deciban.text import Words

TARGET_TYPES = (
    "string", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "halffloat", "float", "double",
)  # fmt: skip
"""Arrow types of the target column that a file may name."""


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, atomically; refuse one that could not be read again."""
    section = Section({"kind": "table", "target": model.target, "target_type": model.target_type}, eager=False)
    section.put("weights", model.weights).put("rows", model.ledger.n_rows)
    write_columns(section, model.columns, model.options.words)
    section.add("options", _write_options(model.options, model.layout))
    section.put("origin", asdict(model.origin))
    section.put("held_out", model.quality)
    section.add("belief", write_scorer(model.scorer))
    read_model(section)
    persistence.write(path, section.header, section.arrays)


def write_columns(section: Section, columns: Sequence[Column], words: Words) -> None:
    """Add the columns with their roles, and a fingerprint of how they are read, to a section."""
    section.put("reader", compute_fingerprint(columns, words))
    parts = []
    for column in columns:
        part = Section({"name": column.name, "role": column.role, "reason": column.reason})
        part.put_all({n: list(getattr(column, n)) for n in ("block", "parts") if getattr(column, n)})
        parts.append(part.put("numeric", True) if column.numeric else part)
    section.add_all("columns", parts)


def compute_fingerprint(columns: Sequence[Column], words: Words) -> str:
    """Return a hash of how a table is read: equal for equal columns in equal roles with the same tokenizer."""
    description: list[Any] = [
        [
            column.name,
            column.role,
            list(column.parts),
            *([list(column.block)] if column.block else []),
            *(["numeric"] if column.numeric else []),
        ]
        for column in columns
    ]
    if any(column.role == "text" for column in columns):
        description.append(words.fingerprint)
    return hashlib.sha256(json.dumps(description).encode()).hexdigest()[:16]


def _write_options(options: Options, layout: Layout) -> Section:
    names = ("alpha", "parameter_prior", "unseen", "most_levels")
    section = Section({name: getattr(options, name) for name in names})
    if options.covariance is not None:
        section.put("covariance", options.covariance)
    if options.bounded:
        section.put("bounded", True)
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
    origin = section.part("origin")
    counts = origin.integer("rows_read"), origin.integer("rows_without_class")
    return Model(
        section.text("target"),
        columns,
        options,
        scorer=scorer,
        target_type=section.text("target_type", among=TARGET_TYPES),
        weights=None if section.value("weights") is None else section.text("weights"),
        origin=Origin(*counts, origin.text("created"), origin.text("source")),
        quality=None if section.value("held_out") is None else section.part("held_out").header,
    )


def _check_families(
    section: Section, options: Options, columns: Sequence[Column], families: Sequence[Family]
) -> None:
    """Check that the families are those of columns and options; pseudo-counts that were chosen may have any value."""
    try:
        expected = options.assumption(Layout(tuple(columns))).families
    except InputError as error:
        section.refuse(str(error))

    def is_expected(family: Any, wanted: Any) -> bool:
        if type(wanted) is not type(family) or not hasattr(wanted, "alpha"):
            return bool(wanted == family)
        equal_alpha = options.auto or np.array_equal(wanted.alpha, family.alpha)
        return equal_alpha and bool(with_alpha(wanted, 1.0) == with_alpha(family, 1.0))

    if len(expected) != len(families) or not all(map(is_expected, families, expected)):
        section.refuse("the families are not those of its columns and options")


def read_columns(section: Section, blocks: Sequence[Block], words: Words) -> tuple[Column, ...]:
    """Read the columns, which must be those of the ledger's blocks."""
    columns = tuple(_read_column(part) for part in section.parts("columns"))
    if len({column.name for column in columns}) < len(columns):
        section.refuse("two columns have the same name")
    _check_joined(section, columns)
    _check_layout(section, columns, blocks)
    _check_words(section, blocks, words)
    if section.has("reader") and section.text("reader") != compute_fingerprint(columns, words):
        section.refuse("the columns are not those that the fingerprint of the reader names")
    return columns


def _read_column(section: Section) -> Column:
    parts = section.value("parts") if section.has("parts") else []
    if not isinstance(parts, list) or not all(isinstance(p, str) and p in DATE_PARTS for p in parts):
        section.refuse(f"'parts' should be some of {sorted(DATE_PARTS)}")
    role = section.text("role", among=ROLES)
    block = section.value("block") if section.has("block") else []
    if not isinstance(block, list) or not all(isinstance(name, str) for name in block):
        section.refuse("'block' should be a list of names")
    reason, numeric = section.text("reason"), section.has("numeric") and section.flag("numeric")
    if numeric and role not in ("flag", "category"):
        section.refuse(f"the levels of a {role} cannot be numbers")
    return Column(section.text("name"), role, reason, tuple(parts), tuple(block), numeric)  # type: ignore[arg-type]


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
    try:
        return Options(
            "auto" if section.value("alpha") == "auto" else section.number("alpha", minimum=0),
            section.number("parameter_prior", minimum=0),
            section.text("unseen"),  # type: ignore[arg-type]
            section.integer("most_levels", minimum=1),
            scorer.assumption.prior,
            Words.from_dict(section.part("words").header) if section.has("words") else Words(),
            section.optional(section.text, "covariance"),  # type: ignore[arg-type]
            section.has("bounded") and section.flag("bounded"),
        )
    except InputError as error:
        section.refuse(str(error))
