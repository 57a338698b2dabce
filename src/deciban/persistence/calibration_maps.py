"""Calibration and novelty in model files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deciban.persistence import Section
from deciban.scores.calibration import FARTHEST, Calibration, CalibrationMap, Isotonic, Platt, Temperature
from deciban.scores.novelty import KEPT, Novelty

LEAST_SLOPE, MOST_SLOPE = 1e-9, 1e9
MOST_BIAS = 1e9
"""What a map adds at most, in nats."""


def written(calibration: Calibration) -> Section:
    """A calibration as a section; refused where it could not be read again."""
    section = Section().put("method", calibration.method).put("log_prior", calibration.log_prior)
    match calibration.map:
        case Temperature(t):
            section.put("t", t)
        case Platt(slope, bias):
            section.put("slope", slope).put("bias", bias)
        case Isotonic(start, claimed, true):
            section.put("start", start).put("claimed", claimed).put("true", true)
    section.put("rows", calibration.rows)
    if np.isfinite([calibration.before, calibration.after]).all():
        section.put("before", calibration.before).put("after", calibration.after)
    read(section, len(calibration.log_prior))
    return section


def read(section: Section, K: int) -> Calibration:
    """The calibration of a section, for K classes."""
    if K < 2:
        section.refuse(f"there is nothing to calibrate with {K} class")
    found = MAPS[section.text("method", among=MAPS)](section, K)
    log_prior = section.floats("log_prior", (K,), least=-np.inf, most=0.0)
    if np.isneginf(log_prior).all():
        section.refuse("no class has a chance before any evidence")
    losses = [section.number(name, least=0) for name in ("before", "after") if section.has(name)]
    rows = section.whole("rows")
    return Calibration(found, log_prior, rows, *(losses if len(losses) == 2 else ()))


def _temperature(section: Section, K: int) -> Temperature:
    return Temperature(section.number("t", least=LEAST_SLOPE, most=MOST_SLOPE))


def _platt(section: Section, K: int) -> Platt:
    bias = section.floats("bias", (K,), least=-MOST_BIAS, most=MOST_BIAS)
    return Platt(section.number("slope", least=LEAST_SLOPE, most=MOST_SLOPE), bias)


def _isotonic(section: Section, K: int) -> Isotonic:
    claimed = section.floats("claimed", (None,), least=-FARTHEST, most=FARTHEST)
    true = section.floats("true", (len(claimed),), least=-MOST_BIAS, most=MOST_BIAS)
    start = section.starts("start", 1 if K == 2 else K, len(claimed))
    if (np.diff(start) < 2).any():
        section.refuse("a line should have two knots or more")
    first = np.isin(np.arange(1, len(claimed)), start)
    if not ((np.diff(claimed) > 0) | first).all() or not ((np.diff(true) >= 0) | first).all():
        section.refuse("the lines should rise")
    return Isotonic(start, claimed, true)


MAPS: dict[str, Callable[[Section, int], CalibrationMap]] = {
    "temperature": _temperature,
    "platt": _platt,
    "isotonic": _isotonic,
}
"""How each map is read, by its name in the file."""


def written_novelty(novelty: Novelty) -> Section:
    """What is usual, as a section."""
    section = Section().put("quantiles", novelty.quantiles).put("rows", novelty.rows)
    read_novelty(section)
    return section


def read_novelty(section: Section) -> Novelty:
    """What is usual, of a section."""
    quantiles = section.floats("quantiles", (None,), least=-np.inf)
    if not 1 <= len(quantiles) <= KEPT or (quantiles[1:] < quantiles[:-1]).any():
        section.refuse(f"'quantiles' should be 1 to {KEPT} numbers that rise")
    return Novelty(quantiles, section.whole("rows", least=1))
