"""Values of a portable document: lists of numbers and texts, and calibrations, each checked as it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.persistence import Section, score_forms
from deciban.persistence.section import MAX_NUMBER
from deciban.scores.calibration import Calibration


def read_calibration(section: Section, K: int) -> Calibration:
    """Read the calibration map and its class prior: lists become arrays, checked as those of model files."""
    arrays = {"log_prior": read_numbers(section, "log_prior", K, minimum=-np.inf)}
    if section.value("method") == "platt":
        arrays["bias"] = read_numbers(section, "bias", K)
    elif section.value("method") == "isotonic":
        curves = section.parts("curves")
        claimed = [read_numbers(curve, "claimed", None) for curve in curves]
        true = [read_numbers(curve, "true", len(x)) for curve, x in zip(curves, claimed)]
        arrays |= {"claimed": np.concatenate([[], *claimed]), "true": np.concatenate([[], *true])}
        arrays["start"] = np.cumsum([0, *map(len, claimed)], dtype=np.int64)
    header = {name: value for name, value in section.header.items() if name in ("method", "t", "slope")}
    named = {section.name + name: array for name, array in arrays.items()}
    return score_forms.read_calibration(Section({**header, "rows": 0}, named, section.name, section.file), K)


def read_texts(section: Section, name: str) -> list[str]:
    """Return a list of texts; refuse anything else."""
    texts = section.value(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        section.refuse(f"{name!r} should be a list of texts")
    return texts


def read_rising(section: Section, name: str, n: int | None = None, strict: bool = True) -> Array:
    """Return n numbers (None: any number of them) in ascending order, with `strict` each once; refuse others."""
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
