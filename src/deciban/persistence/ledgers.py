"""Ledgers, schemas and vocabularies in model files; what is read is checked to be consistent."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from deciban._typing import Array
from deciban.errors import ModelFileError
from deciban.ledger.counts import Bags, Counts, Tallies
from deciban.ledger.grid import INFINITY_BITS, MANTISSA_BITS, MIN_CELL_BITS, Grid, cell_widths
from deciban.ledger.hashing import SURROGATES, Bytes, Offsets, hash_words
from deciban.ledger.ledger import Ledger
from deciban.ledger.levels import Cells, Levels
from deciban.ledger.moments import Moments
from deciban.ledger.pairs import Pairs
from deciban.ledger.scatter import Scatter
from deciban.ledger.schema import Block, Kind, Label, Schema
from deciban.ledger.statistic import MAX_SQUARABLE, Statistic
from deciban.ledger.vocabulary import Vocabulary
from deciban.persistence import Section
from deciban.persistence.section import MAX_EXACT_INTEGER, MAX_NUMBER, Shape


def write_ledger(ledger: Ledger, verify: bool = True) -> Section:
    """Return the section of a ledger; refuse one that could not be read again, unless `verify` is false."""
    section = Section().add("schema", write_schema(ledger.schema)).put("rows", ledger.rows)
    if ledger.squares.any():
        section.put("squares", ledger.squares)
    statistics = []
    for part in ledger.parts:
        arrays = {name: a for name, a in part.arrays().items() if name not in OPTIONAL_ARRAYS or a.any()}
        statistics.append(Section().put("statistic", type(part).__name__).put_all(arrays))
    section.add_all("parts", statistics)
    if verify:
        read_ledger(section)
    return section


def read_ledger(section: Section, eager: bool = True) -> Ledger:
    """Read the ledger of a section; its schema and statistics must be consistent.

    Unless `eager`, the hashes of words are not computed again, which takes longer than all else: the checksums of a
    ledger that was sent by another process of the same program show that it is as it was.
    """
    schema = read_schema(section.part("schema"), eager)
    K, parts = len(schema.classes), section.parts("parts")
    if len(parts) != len(schema.blocks):
        section.refuse(f"there are {len(parts)} statistics for {len(schema.blocks)} blocks of features")
    rows = _read_weights(section, "rows", (K,))
    squares = _read_weights(section, "squares", (K,)) if section.has("squares") else None
    statistics = tuple(_read_statistic(part, block, K) for part, block in zip(parts, schema.blocks))
    return Ledger(schema, rows, statistics, squares)  # type: ignore[arg-type]


def read_classes(schema: Section) -> tuple[Label, ...]:
    """Read the classes of a schema, and nothing else; refuse none, and repeated ones."""
    classes = tuple(_parse_label(schema, text) for text in schema.texts("classes"))
    if not classes or len(set(classes)) < len(classes):
        schema.refuse("there should be one class or more, each once")
    return classes


def read_blocks(schema: Section, names: bool = False, levels: bool = False) -> tuple[Block, ...]:
    """Read the blocks of a schema; a million names of features or of levels take a while, and are read on request."""
    return tuple(_read_block(section, names, levels) for section in schema.parts("blocks"))


def _read_block(section: Section, names: bool, levels: bool) -> Block:
    kind: Any = section.text("kind", among=get_args(Kind))
    width = section.integer("width", minimum=0 if kind == "bags" else 1)  # texts may have no words
    block = Block(kind, width, reading=section.text("reading"))
    if names and section.has("names"):
        features = _read_vocabulary(section, width) if kind == "bags" else tuple(section.texts("names"))
        if len(features) != width:
            section.refuse(f"there are {len(features)} names for {width} features")
        block = replace(block, names=features)
    if levels and section.has("levels"):
        texts = section.texts("levels")
        starts = section.offsets("level_starts", width, len(texts)).tolist()
        block = replace(block, levels=tuple(tuple(texts[a:b]) for a, b in pairwise(starts)))
        if any(len(set(level)) < len(level) for level in block.levels or ()):
            section.refuse("a feature has a level twice")
    return block


def read_level_arrays(schema: Section) -> list[Any]:
    """Read the level names of each categorical feature as pyarrow arrays over the file's own bytes."""
    found: list[Any] = []
    for block in schema.parts("blocks"):
        if block.has("levels") and block.text("kind") == "levels":
            names = block.texts("levels", as_arrow=True)
            starts = block.offsets("level_starts", block.integer("width"), len(names)).tolist()
            found += [names.slice(a, b - a) for a, b in pairwise(starts)]
    return found


def read_schema(schema: Section, eager: bool = True) -> Schema:
    """Read a schema in full, also of a large file; unless `eager`, the hashes of words are not computed again."""
    schema = Section(schema.header, schema.arrays, schema.name, schema.file, eager)
    return Schema(read_classes(schema), read_blocks(schema, names=True, levels=True))


def write_schema(schema: Schema) -> Section:
    """Return the section of a schema: the names of the classes and features of a ledger or a fitted model."""
    section = Section().put_texts("classes", [_format_label(label) for label in schema.classes])
    return section.add_all("blocks", [_write_block(block) for block in schema.blocks])


def _format_label(label: Label) -> str:
    """Return a class label as JSON, which keeps its type; refuse labels other than texts, bytes and numbers."""
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, bytes):
        plain = {"bytes": plain.decode("latin-1")}
    elif not isinstance(plain, (str, int, float)) or plain != plain:
        raise ModelFileError(
            f"the class {label!r} is a {type(label).__name__}, and model files name classes by texts and numbers. "
            f"Hint: learn with such labels."
        )
    return json.dumps(plain)


def _parse_label(section: Section, text: str) -> Label:
    try:
        label = json.loads(text)
    except (ValueError, RecursionError):
        section.refuse("a class is named by something that is not JSON")
    if isinstance(label, dict) and label.keys() == {"bytes"} and isinstance(label["bytes"], str):
        try:
            return label["bytes"].encode("latin-1")
        except UnicodeEncodeError:
            section.refuse("a class is named by bytes that are not Latin-1")
    if not isinstance(label, (str, int, float)) or label != label:
        section.refuse("a class is named by something that is neither a text nor a number")
    if isinstance(label, int) and abs(label) > MAX_NUMBER:
        section.refuse(f"a class is named by a whole number beyond {MAX_NUMBER:g}")
    return label


def _write_block(block: Block) -> Section:
    section = Section().put("kind", block.kind).put("width", block.width).put("reading", block.reading)
    if isinstance(block.names, Vocabulary):
        section.put("names/utf8", block.names.blob).put("names/offsets", block.names.offsets)
        section.put("names/hashes", block.names.hashes.view(np.int64))  # files hold signed whole numbers
    elif block.names is not None:
        section.put_texts("names", block.names)
    if block.levels is not None:
        section.put_texts("levels", [name for names in block.levels for name in names])
        section.put("level_starts", np.cumsum([0, *map(len, block.levels)], dtype=np.int64))
    return section


def _read_vocabulary(section: Section, width: int) -> Vocabulary:
    """Read a vocabulary of `width` words over the file's own bytes; refuse one that could not have been written."""
    blob: Bytes = section.array("names/utf8", np.uint8, (None,))
    offsets = section.offsets("names/offsets", width, len(blob))
    hashes = section.array("names/hashes", np.int64, (width,)).view(np.uint64)
    words = Vocabulary(blob, offsets, hashes)
    if not _is_utf8(blob, offsets):
        section.refuse("'names' has a word that is not UTF-8")
    equal = np.flatnonzero(hashes[1:] == hashes[:-1]).tolist()
    if (hashes[1:] < hashes[:-1]).any() or not all(words.word(i) < words.word(i + 1) for i in equal):
        section.refuse("'names' should be in the order of their hashes, each word once")
    if section.eager and not np.array_equal(hash_words(blob, offsets), hashes):
        section.refuse("'names' has hashes that are not those of its words")
    return words


def _is_utf8(blob: Bytes, offsets: Offsets) -> bool:
    """Return whether all bytes are UTF-8, and no word begins within a character."""
    starts = offsets[:-1][offsets[:-1] < len(blob)]
    if ((blob[starts] & 0xC0) == 0x80).any():
        return False
    cuts = offsets[np.searchsorted(offsets, np.arange(0, len(blob), DECODE_BATCH_BYTES))].tolist()
    try:
        for a, b in zip(cuts, [*cuts[1:], len(blob)]):
            blob[a:b].tobytes().decode("utf-8", SURROGATES)
    except UnicodeDecodeError:
        return False
    return True


def _read_statistic(section: Section, block: Block, K: int) -> Statistic:
    name, d = section.text("statistic", among=STATISTICS), block.width
    if STATISTICS[name] != block.kind:
        section.refuse(f"{name} do not count {block.kind}")
    part: Statistic
    match name:
        case "Counts":
            total = _read_weights(section, "total", (K, d))
            part = Counts(total, _read_weights(section, "weight", (K, 1), (K, d)))
        case "Levels":
            table = _read_weights(section, "table", (K, None))
            part = Levels(table, section.offsets("offset", d, table.shape[1]))
        case "Cells":
            cell = section.integers("cell", (None, d), maximum=MAX_FILE_LEVEL_CODE)
            part = Cells(cell, _read_weights(section, "count", (K, len(cell))))
        case "Bags":
            occurrences = _read_tallies(section, K, d)
            has_documents = section.has("documents/total")
            part = Bags(occurrences, _read_tallies(section, K, d, "documents/") if has_documents else occurrences)
        case _:
            part = READERS[name](section, K, d)
    if block.levels is not None:
        n_names = np.array([len(names) for names in block.levels], dtype=np.int64)
        if not isinstance(part, (Levels, Cells)) or (part.sizes > n_names).any():
            section.refuse("more levels are counted than have names")
    return part


def _read_weights(section: Section, name: str, *shapes: Shape) -> Array:
    """Read weights or counts: none negative (−0, which NumPy's generators refuse, becomes 0), with a finite sum."""
    weights = section.floats(name, *shapes, minimum=0, maximum=MAX_NUMBER)
    return np.abs(weights) if np.signbit(weights).any() else weights


def _read_tallies(section: Section, K: int, d: int, prefix: str = "") -> Tallies:
    total = _read_weights(section, f"{prefix}total", (None,))
    start = section.offsets(f"{prefix}start", d, len(total))
    class_code = section.integers(f"{prefix}klass", (len(total),), maximum=K - 1, dtype=np.int32)
    if not _is_increasing(class_code, start):
        section.refuse("the classes of a feature should be in order, each once")
    return Tallies(start, class_code, total, _read_weights(section, "weight", (K, 1)))


def _read_moments(section: Section, K: int, d: int) -> Moments:
    weight = _read_weights(section, "weight", (K, 1), (K, d))
    mean, low_mean = (
        section.floats(n, (K, d), minimum=-MAX_SQUARABLE, maximum=MAX_SQUARABLE) for n in ("mean", "rest")
    )
    m2 = section.floats("m2", (K, d), minimum=0, maximum=MAX_NUMBER)
    with np.errstate(over="ignore"):
        if not (m2 + weight * mean**2).sum() <= MAX_NUMBER or (m2 > weight * MAX_SQUARABLE**2).any():
            section.refuse("the numbers and their weights are so large that their squares have no finite sum or mean")
    low = _read_low_part(section, "weight_rest", weight), _read_low_part(section, "m2_rest", m2)
    return Moments(weight, mean, low_mean, m2, *low)


def _read_low_part(section: Section, name: str, high: Array) -> Array:
    """Read the low-order part of `high`, at most half a unit in its last place; a file omits it where it is zero."""
    if not section.has(name):
        return np.zeros_like(high)
    low = section.floats(name, high.shape)
    with np.errstate(over="ignore"):
        if (high + low != high).any():
            section.refuse(f"{name} should be what is below the last place of {name.removesuffix('_rest')}")
    return low


def _read_scatter(section: Section, K: int, d: int) -> Scatter:
    weight = section.floats("weight", (K, 1, 1), (K, d, d), minimum=0, maximum=MAX_EXACT_INTEGER)
    shape = (K, d, weight.shape[2])
    mean, rest = (
        section.floats(n, shape, minimum=-MAX_SCATTER_VALUE, maximum=MAX_SCATTER_VALUE) for n in ("mean", "rest")
    )
    comoment = section.floats("comoment", (K, d, d), minimum=-(MAX_SCATTER_VALUE**2), maximum=MAX_SCATTER_VALUE**2)
    if (np.diagonal(comoment, axis1=1, axis2=2) < 0).any():
        section.refuse("a sum of squares is negative")
    rests = _read_low_part(section, "weight_rest", weight), _read_low_part(section, "comoment_rest", comoment)
    return Scatter(weight, mean, rest, comoment, *rests)


def _read_grid(section: Section, K: int, d: int) -> Grid:
    cell = section.integers("cell", (None,), minimum=-INFINITY_BITS, maximum=INFINITY_BITS - 1)
    offset = section.offsets("offset", d, len(cell))
    bits = section.integers("bits", (d,), minimum=MIN_CELL_BITS, maximum=MANTISSA_BITS)
    grid = Grid(cell, offset, _read_weights(section, "table", (K, len(cell))), bits)
    if not _is_increasing(cell, offset) or (cell & (cell_widths(bits)[grid.owner] - 1)).any():
        section.refuse("the cells of a feature should be in order, each once, and begin where its bits say")
    return grid


def _read_pairs(section: Section, K: int, d: int) -> Pairs:
    single = _read_weights(section, "single", (K, d, None))
    V = single.shape[2]
    return Pairs(single, _read_weights(section, "pair", (K, d * (d - 1) // 2, V, V)))


def _is_increasing(values: Any, starts: Any) -> bool:
    """Return whether the values increase within each of the consecutive ranges that begin at `starts`."""
    falls = values[1:] <= values[:-1]
    inner_starts = starts[1:-1]
    falls[inner_starts[(inner_starts > 0) & (inner_starts < len(values))] - 1] = False
    return not falls.any()


OPTIONAL_ARRAYS = {"weight_rest", "m2_rest", "comoment_rest"}
"""Arrays that a file omits where they are zero; files of earlier versions have none."""

DECODE_BATCH_BYTES = 1 << 20
"""Bytes of a vocabulary that are decoded together when it is checked that they are text."""

MAX_SCATTER_VALUE = 1e140
"""Largest mean in a scatter: sums of squares of larger numbers may overflow, and then no covariance is factorised."""

MAX_FILE_LEVEL_CODE = 1 << 32
"""Largest level code of a joint table that is accepted."""

STATISTICS: dict[str, Kind] = {
    "Counts": "counts", "Tallies": "counts", "Levels": "levels", "Moments": "moments", "Scatter": "scatter",
    "Cells": "cells", "Grid": "grid", "Bags": "bags", "Pairs": "pairs",
}  # fmt: skip
"""The kind of block that each statistic counts, by the statistic's name in the file."""

READERS: dict[str, Callable[[Section, int, int], Statistic]] = {
    "Tallies": _read_tallies, "Moments": _read_moments, "Scatter": _read_scatter, "Grid": _read_grid,
    "Pairs": _read_pairs,
}  # fmt: skip
"""The readers of statistics whose arrays depend on each other."""
