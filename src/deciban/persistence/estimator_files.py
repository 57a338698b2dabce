"""Estimators in model files: their constructor arguments and their fitted models."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import persistence
from deciban._lazy import HOMES
from deciban.errors import DecibanError, ModelFileError
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.persistence import Section
from deciban.persistence.generative_models import read_scorer, write_scorer
from deciban.persistence.ledgers import read_ledger, write_ledger
from deciban.scorer import Scorer
from deciban.text import Words

Classifier = Any
"""An estimator of `deciban.estimators`, which is a layer above."""

ESTIMATORS = {
    name: home for name, home in HOMES.items() if home.startswith("deciban.estimators.") and name[0].isupper()
}
"""The estimators that a file may name, and their modules."""

MAX_LABELS_BYTES = 1 << 24
"""Largest number of bytes that the classes may take as texts of fixed width."""

MAX_N_JOBS = 4096
"""Largest n_jobs that is accepted from a file."""


def save(estimator: Classifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file, atomically; refuse one that could not be read again."""
    name, module = type(estimator).__name__, type(estimator).__module__
    if ESTIMATORS.get(name) != module:
        raise ModelFileError(f"{module}.{name} cannot be saved; only deciban's own can be, {sorted(ESTIMATORS)}")
    scorer = estimator._check_fitted()
    section = Section({"kind": "estimator", "estimator": name, "rows": float(scorer.rows.sum())}, eager=False)
    section.add("parameters", _write_parameters(estimator, _get_pseudo_observations(scorer)))
    section.put("labels", estimator.classes_.dtype.str).put("number", estimator._dtype.name)
    section.add("belief", write_scorer(scorer))
    estimator._write_state(section)
    read_model(section)
    persistence.write(path, section.header, section.arrays)


def read_model(section: Section) -> Classifier:
    """Read the estimator of a file's outermost section."""
    name = section.text("estimator", among=ESTIMATORS)
    scorer = read_scorer(section.part("belief"))
    blocks, classes = scorer.outline.blocks, scorer.outline.classes
    parameters = _read_parameters(section.part("parameters"), _get_pseudo_observations(scorer))
    estimator = _construct(section, name, parameters)
    estimator.classes_ = _read_labels(section, classes)
    estimator._read_state(section, blocks)
    estimator._dtype = np.dtype(section.text("number", among=["float32", "float64"]))
    estimator._check_loaded(section, scorer)
    estimator._scorer = scorer
    return estimator


def _construct(section: Section, name: str, parameters: dict[str, Any]) -> Classifier:
    """Return the unfitted estimator of this name with these arguments."""
    with _refuse_errors(section):
        estimator = getattr(import_module(ESTIMATORS[name]), name)
        return estimator(**{**getattr(estimator, "_parameters_of_old_files", {}), **parameters})


def _get_pseudo_observations(scorer: Scorer) -> Ledger | None:
    """Return the ledger of pseudo-observations, if there is one."""
    return scorer.assumption.pseudo_observations if isinstance(scorer, GenerativeModel) else None


def _read_labels(section: Section, classes: tuple[Any, ...]) -> NDArray[Any]:
    """Return the classes as an array of the dtype that they had."""
    kind = section.text("labels")
    if not re.fullmatch(r"[<>|][biufUSO]\d{0,8}", kind, re.ASCII):
        section.refuse("'labels' should be a dtype")
    with _refuse_errors(section, f"the classes are not of dtype {kind}: "):
        dtype = np.dtype(kind)
        if dtype.itemsize * len(classes) > MAX_LABELS_BYTES:
            section.refuse(f"the classes would take {dtype.itemsize * len(classes)} bytes")
        labels = np.array(classes, dtype=dtype)
    if labels.tolist() != list(classes):
        section.refuse(f"the classes are not of dtype {kind}")
    return labels


def _write_parameters(estimator: Classifier, pseudo: Ledger | None) -> Section:
    section = Section()
    for name, value in estimator.get_params(deep=False).items():
        if value is pseudo and value is not None:
            section.add(name, Section({"type": "imagined"}))
        else:
            section.add(name, _write_value(name, value))
    return section


def _write_value(name: str, value: Any) -> Section:
    if isinstance(value, Ledger):
        return Section({"type": "ledger"}).add("value", write_ledger(value))
    if value is None or isinstance(value, (bool, np.bool_, str)):
        return Section({"type": "plain", "value": bool(value) if isinstance(value, np.bool_) else value})
    if ESTIMATORS.get(type(value).__name__) == type(value).__module__:
        section = Section({"type": "facade", "estimator": type(value).__name__})
        return section.add("value", _write_parameters(value, None))
    if isinstance(value, Integral):
        return Section({"type": "plain", "value": int(value)})
    if isinstance(value, Real):
        return Section({"type": "number"}).put("value", float(value))
    if isinstance(value, (list, tuple)):
        items = [_write_value(name, item) for item in value]
        return Section({"type": type(value).__name__}).add_all("value", items)
    if isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair):
        return Section({"type": "texts"}).add("value", Section(dict(value)))
    if isinstance(value, Words) or (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        arguments, kind = (value.to_dict(), "words") if isinstance(value, Words) else (value, "mapping")
        parts = Section()
        for argument, inner in arguments.items():
            parts.add(argument, _write_value(name, inner))
        return Section({"type": kind}).add("value", parts)
    if isinstance(value, Mapping):
        pairs = Section({"type": "pairs"}).add("keys", _write_value(name, list(value)))
        return pairs.add("values", _write_value(name, list(value.values())))
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "biuf" and not (array.dtype == np.uint64 and array.size and array.max() >= 1 << 63):
            dtype = {"b": np.bool_, "f": np.float64}.get(array.dtype.kind, np.int64)
            return Section({"type": "array"}).put("value", array.astype(dtype))
    raise ModelFileError(
        f"the argument {name}={value!r} cannot be written to a model file: it is a {type(value).__name__}. "
        f"Hint: give it as a number, a text, a list or an array."
    )


def _read_parameters(section: Section, pseudo: Ledger | None) -> dict[str, Any]:
    values = {name: _read_value(section.part(name), pseudo) for name in section.header}
    jobs = values.get("n_jobs")
    if isinstance(jobs, int) and abs(jobs) > MAX_N_JOBS:
        section.refuse(f"n_jobs={jobs} is beyond {MAX_N_JOBS}")
    return values


def _read_value(section: Section, pseudo: Ledger | None = None) -> Any:
    """Read an argument by its type in the file."""
    match section.text("type", among=VALUE_TYPES):
        case "imagined":
            return section.refuse("there are no pseudo-observations") if pseudo is None else pseudo
        case "plain":
            value = section.value("value")
            is_plain = value is None or isinstance(value, (bool, int, str))
            return value if is_plain else section.refuse("it is not a plain value")
        case "number":
            return section.number("value", -math.inf, math.inf, allow_nan=True)
        case "array":
            found = section.arrays.get(f"{section.name}value")
            return section.refuse("there is no array") if found is None else found
        case "ledger":
            return read_ledger(section.part("value"))
        case "list":
            return [_read_value(item) for item in section.parts("value")]
        case "tuple":
            return tuple(_read_value(item) for item in section.parts("value"))
        case "texts":
            texts = section.part("value")
            return {name: texts.text(name) for name in texts.header}
        case "pairs":
            with _refuse_errors(section, "it is not a mapping: "):
                return dict(zip(*(_read_value(section.part(name)) for name in ("keys", "values")), strict=True))
        case "facade":  # an estimator that is an argument of another
            name = section.text("estimator", among=ESTIMATORS)
            return _construct(section, name, _read_parameters(section.part("value"), None))
        case kind:
            parts = section.part("value")
            mapping = {name: _read_value(parts.part(name)) for name in parts.header}
            if kind == "mapping":
                return mapping
            with _refuse_errors(section, "it is not a tokenizer: "):
                return Words.from_dict(mapping)


@contextmanager
def _refuse_errors(section: Section, beginning: str = "") -> Iterator[None]:
    """Refuse a section where the block raises an error; the message has this beginning, then that of the error."""
    try:
        yield
    except ModelFileError:
        raise
    except (TypeError, ValueError, OverflowError, DecibanError) as error:
        section.refuse(f"{beginning}{error}")


VALUE_TYPES = (
    "plain", "number", "array", "ledger", "list", "texts", "mapping", "pairs", "words", "facade", "tuple", "imagined",
)  # fmt: skip
"""The types of arguments that a file may name."""
