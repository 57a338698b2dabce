"""Ledgers in model files: what is written, and what is believed of what is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from deciban._typing import Array
from deciban.errors import ModelFileError
from deciban.ledger.bags import Bags
from deciban.ledger.cells import Cells
from deciban.ledger.counts import Counts
from deciban.ledger.grid import BIAS, Grid
from deciban.ledger.ledger import Ledger
from deciban.ledger.levels import Levels
from deciban.ledger.moments import Moments
from deciban.ledger.scatter import Scatter
from deciban.ledger.schema import Block, Kind, Label, Schema
from deciban.ledger.statistic import MAX_SQUARABLE, Statistic
from deciban.ledger.tallies import Tallies
from deciban.ledger.vocabulary import Vocabulary
from deciban.persistence import Section
from deciban.persistence import vocabularies as vocabulary_written
from deciban.persistence.section import LARGEST, MAX_NUMBER, Shape


def written(ledger: Ledger) -> Section:
    """A ledger as a section; refused where it could not be read again."""
    section = Section().add("schema", written_schema(ledger.schema)).put("rows", ledger.rows)
    section.add_all("parts", [_written_part(part) for part in ledger.parts])
    read(section)
    return section


def read(section: Section) -> Ledger:
    """The ledger of a section, in which all that belongs together agrees."""
    schema = read_schema(section.part("schema"))
    K, parts = len(schema.classes), section.parts("parts")
    if len(parts) != len(schema.blocks):
        section.refuse(f"there are {len(parts)} statistics for {len(schema.blocks)} blocks of features")
    rows = _weights(section, "rows", (K,))
    return Ledger(schema, rows, tuple(_read_part(part, block, K) for part, block in zip(parts, schema.blocks)))


def read_classes(section: Section) -> tuple[Label, ...]:
    """The classes of a ledger's section alone."""
    schema = section.part("schema")
    classes = tuple(_label(schema, text) for text in schema.texts("classes"))
    if not classes or len(set(classes)) < len(classes):
        schema.refuse("there should be one class or more, each once")
    return classes


def read_blocks(section: Section) -> tuple[Block, ...]:
    """The blocks of features of a ledger's section alone."""
    return tuple(_read_block(block) for block in section.part("schema").parts("blocks"))


def read_features(section: Section) -> tuple[Block, ...]:
    """The blocks of a ledger's section with the names of their features, and without those of the levels."""
    return tuple(_features(block) for block in section.part("schema").parts("blocks"))


def level_arrays(section: Section) -> list[Any]:
    """The names of each categorical feature's levels as pyarrow arrays over the file's own bytes."""
    found: list[Any] = []
    for block in section.part("schema").parts("blocks"):
        if block.has("levels") and block.text("kind") == "levels":
            names = block.arrow("levels")
            starts = block.starts("level_starts", block.whole("width"), len(names)).tolist()
            found += [names.slice(a, b - a) for a, b in pairwise(starts)]
    return found


def read_outline(section: Section) -> tuple[Block, ...]:
    """The blocks of a ledger's section without their names: a million of these take a while."""
    return tuple(_outline(block) for block in section.part("schema").parts("blocks"))


def read_schema(section: Section) -> Schema:
    """The names of what a ledger counts."""
    outer = Section({"schema": section.header}, section.arrays, section.name[: -len("schema/")], section.file)
    return Schema(read_classes(outer), read_blocks(outer))


def written_schema(schema: Schema) -> Section:
    """The names of what a ledger counts, or fitted forms weigh."""
    section = Section().put_texts("classes", [_label_text(label) for label in schema.classes])
    return section.add_all("blocks", [_written_block(block) for block in schema.blocks])


def _label_text(label: Label) -> str:
    """A class in writing; JSON keeps its type."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, bytes):
        plain = {"bytes": plain.decode("latin-1")}
    elif not isinstance(plain, (str, int, float)) or plain != plain:
        raise ModelFileError(
            f"the class {label!r} is a {type(label).__name__}, and model files name classes by texts and numbers. "
            f"Hint: learn with such labels."
        )
    return json.dumps(plain)


def _label(section: Section, text: str) -> Label:
    try:
        label = json.loads(text)
    except (ValueError, RecursionError):
        section.refuse("a class is named by something that is no JSON")
    if isinstance(label, dict) and label.keys() == {"bytes"} and isinstance(label["bytes"], str):
        try:
            return label["bytes"].encode("latin-1")
        except UnicodeEncodeError:
            section.refuse("a class is named by bytes that are none")
    if not isinstance(label, (str, int, float)) or label != label:
        section.refuse("a class is named by something that is no text or number")
    if isinstance(label, int) and abs(label) > MAX_NUMBER:
        section.refuse(f"a class is named by a whole number beyond {MAX_NUMBER:g}")
    return label


def _written_block(block: Block) -> Section:
    section = Section().put("kind", block.kind).put("width", block.width).put("reading", block.reading)
    if isinstance(block.names, Vocabulary):
        vocabulary_written.put(section, "names", block.names)
    elif block.names is not None:
        section.put_texts("names", block.names)
    if block.levels is not None:
        section.put_texts("levels", [name for names in block.levels for name in names])
        section.put("level_starts", np.cumsum([0, *map(len, block.levels)], dtype=np.int64))
    return section


def _read_block(section: Section) -> Block:
    block = _features(section)
    return replace(block, levels=_read_levels(section, block.width))


def _features(section: Section) -> Block:
    block = _outline(section)
    if block.kind == "bags":
        words = vocabulary_written.read(section, "names", block.width) if section.has("names") else None
        return replace(block, names=words)
    names = tuple(section.texts("names")) if section.has("names") else None
    if names is not None and len(names) != block.width:
        section.refuse(f"there are {len(names)} names for {block.width} features")
    return replace(block, names=names)


def _outline(section: Section) -> Block:
    kind: Any = section.text("kind", among=get_args(Kind))
    least = 0 if kind == "bags" else 1  # texts without a word are texts
    return Block(kind, section.whole("width", least=least), reading=section.text("reading"))


def _read_levels(section: Section, width: int) -> tuple[tuple[str, ...], ...] | None:
    if not section.has("levels"):
        return None
    names = section.texts("levels")
    starts = section.starts("level_starts", width, len(names)).tolist()
    levels = tuple(tuple(names[a:b]) for a, b in pairwise(starts))
    if any(len(set(level)) < len(level) for level in levels):
        section.refuse("a feature has a level twice")
    return levels


def _written_part(part: Statistic) -> Section:
    section = Section().put("statistic", type(part).__name__)
    for name, array in part.arrays().items():
        if name not in OPTIONAL_ARRAYS or array.any():
            section.put(name, array)
    return section


def _read_part(section: Section, block: Block, K: int) -> Statistic:
    name = section.text("statistic", among=STATISTICS)
    kind, reader = STATISTICS[name]
    if kind != block.kind:
        section.refuse(f"{name} do not count {block.kind}")
    part = reader(section, K, block.width)
    if block.levels is not None:
        _check_named(section, part, block.levels)
    return part


def _check_named(section: Section, part: Statistic, levels: tuple[tuple[str, ...], ...]) -> None:
    named = np.array([len(names) for names in levels], dtype=np.int64)
    if not isinstance(part, (Levels, Cells)) or (part.sizes > named).any():
        section.refuse("more levels are counted than have names")


def _weights(section: Section, name: str, *shapes: Shape) -> Array:
    """Weights or counts: none negative (−0, which NumPy's generators refuse, is 0), and all with a finite sum."""
    weights = section.floats(name, *shapes, least=0, most=MAX_NUMBER)
    return np.abs(weights) if np.signbit(weights).any() else weights


def _counts(section: Section, K: int, d: int) -> Counts:
    return Counts(_weights(section, "total", (K, d)), _weights(section, "weight", (K, 1), (K, d)))


def _tallies(section: Section, K: int, d: int, within: str = "") -> Tallies:
    total = _weights(section, f"{within}total", (None,))
    start = section.starts(f"{within}start", d, len(total))
    klass = section.shorts(f"{within}klass", (len(total),), least=0, most=K - 1)
    if not _rising(klass, start):
        section.refuse("the classes of a feature should be in order, each once")
    return Tallies(start, klass, total, _weights(section, "weight", (K, 1)))


def _bags(section: Section, K: int, d: int) -> Bags:
    occurrences = _tallies(section, K, d)
    documents = _tallies(section, K, d, "documents/") if section.has("documents/total") else occurrences
    return Bags(occurrences, documents)


def _levels(section: Section, K: int, d: int) -> Levels:
    table = _weights(section, "table", (K, None))
    return Levels(table, section.starts("offset", d, table.shape[1]))


def _moments(section: Section, K: int, d: int) -> Moments:
    weight = _weights(section, "weight", (K, 1), (K, d))
    mean, rest = (section.floats(name, (K, d), least=-MAX_SQUARABLE, most=MAX_SQUARABLE) for name in ("mean", "rest"))
    m2 = section.floats("m2", (K, d), least=0, most=MAX_NUMBER)
    with np.errstate(over="ignore"):
        if not (m2 + weight * mean**2).sum() <= MAX_NUMBER or (m2 > weight * MAX_SQUARABLE**2).any():
            section.refuse("the numbers and their weights are so large that their squares have no sum or mean")
    low = _low_part(section, "weight_rest", weight), _low_part(section, "m2_rest", m2)
    return Moments(weight, mean, rest, m2, *low)


def _low_part(section: Section, name: str, high: Array) -> Array:
    """Read the low-order part of `high`, at most half a unit in its last place; a file omits it where it is zero."""
    if not section.has(name):
        return np.zeros_like(high)
    low = section.floats(name, high.shape)
    with np.errstate(over="ignore"):
        if (high + low != high).any():
            section.refuse(f"{name} should be what is below the last place of {name.removesuffix('_rest')}")
    return low


def _scatter(section: Section, K: int, d: int) -> Scatter:
    wide = section.array("weight", np.float64, (K, 1, 1), (K, d, d)).shape
    mean = (K, d, d if wide == (K, d, d) and d > 1 else 1)
    far = {"least": -FARTHEST, "most": FARTHEST}
    weight = section.floats("weight", wide, least=0, most=LARGEST)
    comoment = section.floats("comoment", (K, d, d), least=-(FARTHEST**2), most=FARTHEST**2)
    if (np.diagonal(comoment, axis1=1, axis2=2) < 0).any():
        section.refuse("a sum of squares is negative")
    return Scatter(
        weight,
        section.floats("mean", mean, **far),
        section.floats("rest", mean, **far),
        comoment,
        _low_part(section, "weight_rest", weight),
        _low_part(section, "comoment_rest", comoment),
    )


def _cells(section: Section, K: int, d: int) -> Cells:
    cell = section.wholes("cell", (None, d), least=0, most=MOST_LEVEL)
    return Cells(cell, _weights(section, "count", (K, len(cell))))


def _grid(section: Section, K: int, d: int) -> Grid:
    cell = section.shorts("cell", (None,), least=1 - BIAS, most=BIAS - 1)
    offset = section.starts("offset", d, len(cell))
    if not _rising(cell, offset):
        section.refuse("the cells of a feature should be in order, each once")
    return Grid(cell, offset, _weights(section, "table", (K, len(cell))))


def _rising(values: Any, starts: Any) -> bool:
    """Whether values rise within each stretch."""
    falls = values[1:] <= values[:-1]
    between = starts[1:-1]
    falls[between[(between > 0) & (between < len(values))] - 1] = False
    return not falls.any()


OPTIONAL_ARRAYS = {"weight_rest", "m2_rest", "comoment_rest"}
"""Arrays that are left out of a file where they are zero; files of earlier versions have none."""

FARTHEST = 1e140
"""Numbers beyond this have squares whose sums may have no end, and then no covariance can be factorised."""

MOST_LEVEL = 1 << 32
"""Highest level code of a joint table that is believed."""

STATISTICS: dict[str, tuple[Kind, Callable[[Section, int, int], Statistic]]] = {
    "Counts": ("counts", _counts),
    "Tallies": ("counts", _tallies),
    "Levels": ("levels", _levels),
    "Moments": ("moments", _moments),
    "Scatter": ("scatter", _scatter),
    "Cells": ("cells", _cells),
    "Grid": ("grid", _grid),
    "Bags": ("bags", _bags),
}
"""How each statistic is read, by its name in the file, and the kind of block that it counts."""
