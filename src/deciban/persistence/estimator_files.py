"""Facades in model files: their arguments, and what they believe."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import persistence as files
from deciban._lazy import HOMES
from deciban.errors import DecibanError, ModelFileError
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.persistence import Section
from deciban.persistence import generative_models as recall
from deciban.persistence import ledgers as ledger_files
from deciban.scorer import Scorer
from deciban.text import Words

Classifier = Any
"""An estimator of `deciban.estimators`, which is a layer above."""

ESTIMATORS = {
    name: home for name, home in HOMES.items() if home.startswith("deciban.estimators.") and name[0].isupper()
}
"""The estimators that a file may name, and their modules."""

WIDEST_LABELS = 1 << 24
"""Bytes that the classes may take as texts of fixed width."""

MOST_THREADS = 4096
"""Largest n_jobs that is believed of a file."""


def save(estimator: Classifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted facade to a file, whole or not at all."""
    name, module = type(estimator).__name__, type(estimator).__module__
    if ESTIMATORS.get(name) != module:
        raise ModelFileError(f"{module}.{name} cannot be saved; only deciban's own can be, {sorted(ESTIMATORS)}")
    believed = estimator._fitted()
    section = Section({"kind": "estimator", "estimator": name, "rows": float(believed.rows.sum())}, eager=False)
    section.add("parameters", _written_parameters(estimator, _imagined(believed)))
    section.put("labels", estimator.classes_.dtype.str).put("number", estimator._dtype.name)
    section.add("belief", recall.written(believed))
    estimator._write(section)
    _estimator(section)
    files.write(path, section.header, section.arrays)


def opened(contents: files.Contents) -> Classifier:
    """The facade of a file."""
    return _estimator(contents.section())


def _estimator(section: Section) -> Classifier:
    name = section.text("estimator", among=ESTIMATORS)
    believed = recall.recalled(section.part("belief"))
    blocks, classes = believed.outline.blocks, believed.outline.classes
    parameters = _read_parameters(section.part("parameters"), _imagined(believed))
    estimator = _made(section, name, parameters)
    estimator.classes_ = _labels(section, classes)
    estimator._read(section, blocks)
    estimator._dtype = np.dtype(section.text("number", among=["float32", "float64"]))
    estimator._check_read(section, believed)
    estimator._scorer = believed
    return estimator


def _made(section: Section, name: str, parameters: dict[str, Any]) -> Classifier:
    """The facade with these arguments, unfitted."""
    try:
        made: Classifier = getattr(import_module(ESTIMATORS[name]), name)(**parameters)
    except TypeError as error:
        section.refuse(str(error))
    return made


def _imagined(believed: Scorer) -> Ledger | None:
    """The imagined examples of a belief."""
    return believed.assumption.imagined if isinstance(believed, GenerativeModel) else None


def _labels(section: Section, classes: tuple[Any, ...]) -> NDArray[Any]:
    """The classes as the array that they were."""
    kind = section.text("labels")
    if not re.fullmatch(r"[<>|][biufUSO]\d{0,8}", kind, re.ASCII):
        section.refuse("'labels' should be a kind of array")
    try:
        dtype = np.dtype(kind)
        if dtype.itemsize * len(classes) > WIDEST_LABELS:
            section.refuse(f"the classes would take {dtype.itemsize * len(classes)} bytes")
        labels = np.array(classes, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        section.refuse(f"the classes are not of kind {kind}: {error}")
    if labels.tolist() != list(classes):
        section.refuse(f"the classes are not of kind {kind}")
    return labels


def _written_parameters(estimator: Classifier, imagined: Ledger | None) -> Section:
    section = Section()
    for name, value in estimator.get_params(deep=False).items():
        if value is imagined and imagined is not None:
            section.add(name, Section({"type": "imagined"}))
        else:
            section.add(name, _written_value(name, value))
    return section


def _written_value(name: str, value: Any) -> Section:
    if isinstance(value, Ledger):
        return Section({"type": "ledger"}).add("value", ledger_files.written(value))
    if value is None or isinstance(value, (bool, np.bool_, str)):
        return Section({"type": "plain", "value": bool(value) if isinstance(value, np.bool_) else value})
    if ESTIMATORS.get(type(value).__name__) == type(value).__module__:
        told = _written_parameters(value, None)
        return Section({"type": "facade", "estimator": type(value).__name__}).add("value", told)
    if isinstance(value, Integral):
        return Section({"type": "plain", "value": int(value)})
    if isinstance(value, Real):
        return Section({"type": "number"}).put("value", float(value))
    if isinstance(value, (list, tuple)):
        items = [_written_value(name, item) for item in value]
        return Section({"type": type(value).__name__}).add_all("value", items)
    if isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair):
        return Section({"type": "texts"}).add("value", Section(dict(value)))
    if isinstance(value, Words) or (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        return _written_words(name, value)
    if isinstance(value, Mapping):
        pairs = Section({"type": "pairs"}).add("keys", _written_value(name, list(value)))
        return pairs.add("values", _written_value(name, list(value.values())))
    if hasattr(value, "__array__"):
        return Section({"type": "array"}).put("value", _plain_array(name, np.asarray(value)))
    raise _unwritable(name, value)


def _written_words(name: str, value: Words | Mapping[str, Any]) -> Section:
    """A reading of texts, as such or as a mapping of its arguments."""
    told, kind = (value.to_dict(), "words") if isinstance(value, Words) else (value, "mapping")
    parts = Section()
    for argument, inner in told.items():
        parts.add(argument, _written_value(name, inner))
    return Section({"type": kind}).add("value", parts)


def _plain_array(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "biuf" or (array.dtype == np.uint64 and array.size and array.max() >= 1 << 63):
        raise _unwritable(name, array)
    return array.astype({"b": np.bool_, "f": np.float64}.get(array.dtype.kind, np.int64))


def _unwritable(name: str, value: Any) -> ModelFileError:
    return ModelFileError(
        f"the argument {name}={value!r} cannot be written to a model file: it is a {type(value).__name__}. "
        f"Hint: give it as a number, a text, a list or an array."
    )


def _read_parameters(section: Section, imagined: Ledger | None) -> dict[str, Any]:
    values = {name: _read_value(section.part(name), imagined) for name in section.header}
    jobs = values.get("n_jobs")
    if isinstance(jobs, int) and abs(jobs) > MOST_THREADS:
        section.refuse(f"n_jobs={jobs} is beyond {MOST_THREADS}")
    return values


def _read_value(section: Section, imagined: Ledger | None) -> Any:
    kind = section.text("type", among=VALUES)
    if kind == "imagined":
        return imagined if imagined is not None else section.refuse("there are no imagined examples")
    return VALUES[kind](section)


def _read_plain(section: Section) -> Any:
    value = section.value("value")
    return value if value is None or isinstance(value, (bool, int, str)) else section.refuse("it is no plain value")


def _read_number(section: Section) -> float:
    return math.nan if section.value("value") == "nan" else section.number("value", -math.inf, math.inf)


def _read_array(section: Section) -> NDArray[Any]:
    found = section.arrays.get(f"{section.name}value")
    return section.refuse("there is no array") if found is None else found


def _read_list(section: Section) -> list[Any]:
    return [_read_value(item, None) for item in section.parts("value")]


def _read_texts(section: Section) -> dict[str, str]:
    texts = section.part("value")
    return {name: texts.text(name) for name in texts.header}


def _read_mapping(section: Section) -> dict[str, Any]:
    parts = section.part("value")
    return {name: _read_value(parts.part(name), None) for name in parts.header}


def _read_pairs(section: Section) -> dict[Any, Any]:
    try:
        return dict(zip(*(_read_value(section.part(name), None) for name in ("keys", "values")), strict=True))
    except (TypeError, ValueError) as error:
        section.refuse(f"it is no mapping: {error}")


def _read_facade(section: Section) -> Classifier:
    """A facade that another has for an argument."""
    return _made(section, section.text("estimator", among=ESTIMATORS), _read_parameters(section.part("value"), None))


def _read_words(section: Section) -> Words:
    try:
        return Words.from_dict(_read_mapping(section))
    except DecibanError as error:
        section.refuse(f"it is no reading of texts: {error}")


VALUES: Mapping[str, Callable[[Section], Any]] = {
    "plain": _read_plain,
    "number": _read_number,
    "array": _read_array,
    "ledger": lambda section: ledger_files.read(section.part("value")),
    "list": _read_list,
    "texts": _read_texts,
    "mapping": _read_mapping,
    "pairs": _read_pairs,
    "words": _read_words,
    "facade": _read_facade,
    "tuple": lambda section: tuple(_read_list(section)),
    "imagined": lambda section: None,
}
"""How an argument is read, by its type in the file."""
