"""Values of a portable document: lists of numbers and texts, and calibrations, each checked as it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.persistence import Section
from deciban.persistence.score_forms import MAX_BIAS_NATS, MAX_SLOPE, MIN_SLOPE
from deciban.persistence.section import MAX_NUMBER
from deciban.scores.calibration import MAX_LOG_ODDS, Calibration, CalibrationMap, Isotonic, Platt, Temperature


def read_calibration(section: Section, K: int) -> Calibration:
    """Read the calibration map and its class prior."""
    if K < 2:
        section.refuse("there is nothing to calibrate with one class")
    log_prior = read_numbers(section, "log_prior", K, minimum=-np.inf, maximum=0.0)
    if np.isneginf(log_prior).all():
        section.refuse("every class has prior probability 0")
    return Calibration(_read_map(section, K), log_prior)


def _read_map(section: Section, K: int) -> CalibrationMap:
    match section.text("method", among=["temperature", "platt", "isotonic"]):
        case "temperature":
            return Temperature(section.number("t", minimum=MIN_SLOPE, maximum=MAX_SLOPE))
        case "platt":
            bias = read_numbers(section, "bias", K, minimum=-MAX_BIAS_NATS, maximum=MAX_BIAS_NATS)
            return Platt(section.number("slope", minimum=MIN_SLOPE, maximum=MAX_SLOPE), bias)
    curves = section.parts("curves")
    if len(curves) != (1 if K == 2 else K):
        section.refuse("there should be a curve for each class, or one for two classes")
    claimed = [read_rising(curve, "claimed") for curve in curves]
    true = [read_rising(curve, "true", len(x), strict=False) for curve, x in zip(curves, claimed)]
    if min(map(len, claimed)) < 2 or max(np.abs(x).max() for x in claimed) > MAX_LOG_ODDS:
        section.refuse("a curve should have two points or more, within bounds")
    start = np.concatenate([[0], np.cumsum([len(x) for x in claimed])]).astype(np.int64)
    return Isotonic(start, np.concatenate(claimed), np.concatenate(true))


def read_texts(section: Section, name: str) -> list[str]:
    """Return a list of texts."""
    texts = section.value(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        section.refuse(f"{name!r} should be a list of texts")
    return texts


def read_rising(section: Section, name: str, n: int | None = None, strict: bool = True) -> Array:
    """Return numbers in ascending order, with `strict` each once."""
    numbers = read_numbers(section, name, n)
    steps = np.diff(numbers)
    if (steps <= 0).any() if strict else (steps < 0).any():
        section.refuse(f"{name!r} should rise")
    return numbers


def read_numbers(
    section: Section, name: str, *shape: int | None, minimum: float = -MAX_NUMBER, maximum: float = MAX_NUMBER
) -> Array:
    """Return nested lists of numbers as an array of this shape, None being any length; null is −∞ where allowed."""
    flat: list[Any] = [section.value(name)]
    sizes: list[int] = []
    for length in shape:
        lengths = {len(each) if isinstance(each, list) else -1 for each in flat}
        expected = lengths if length is None else {length}
        is_other = len(lengths) > 1 or lengths != expected or -1 in lengths
        if is_other and (lengths or length is None):
            section.refuse(f"{name!r} should be lists of {shape} numbers")
        sizes.append(lengths.pop() if lengths else int(length or 0))
        flat = [item for each in flat for item in each]
    if not all(type(value) in (int, float) or (value is None and minimum == -np.inf) for value in flat):
        section.refuse(f"{name!r} should be numbers")
    array = np.array([-np.inf if value is None else value for value in flat], dtype=np.float64).reshape(sizes)
    return Section({}, {name: array}, file=section.file).floats(name, array.shape, minimum=minimum, maximum=maximum)
