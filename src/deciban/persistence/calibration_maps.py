"""Calibration and novelty in model files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deciban.persistence import Section
from deciban.scores.calibration import MAX_LOG_ODDS, Calibration, CalibrationMap, Isotonic, Platt, Temperature
from deciban.scores.novelty import MAX_QUANTILES, Novelty

MIN_SLOPE, MAX_SLOPE = 1e-9, 1e9
"""Bounds of a temperature and of the slope of a Platt map."""

MAX_BIAS_NATS = 1e9
"""Largest bias of a calibration map, in nats."""


def write_calibration(calibration: Calibration) -> Section:
    """Return the section of a calibration; refuse one that could not be read again."""
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
    read_calibration(section, len(calibration.log_prior))
    return section


def read_calibration(section: Section, K: int) -> Calibration:
    """Read the calibration of a section, for K classes."""
    if K < 2:
        section.refuse(f"there is nothing to calibrate with {K} class")
    calibration_map = MAP_READERS[section.text("method", among=MAP_READERS)](section, K)
    log_prior = section.floats("log_prior", (K,), least=-np.inf, most=0.0)
    if np.isneginf(log_prior).all():
        section.refuse("every class has prior probability 0")
    losses = [section.number(name, least=0) for name in ("before", "after") if section.has(name)]
    rows = section.integer("rows")
    return Calibration(calibration_map, log_prior, rows, *(losses if len(losses) == 2 else ()))


def _read_temperature(section: Section, K: int) -> Temperature:
    return Temperature(section.number("t", least=MIN_SLOPE, most=MAX_SLOPE))


def _read_platt(section: Section, K: int) -> Platt:
    bias = section.floats("bias", (K,), least=-MAX_BIAS_NATS, most=MAX_BIAS_NATS)
    return Platt(section.number("slope", least=MIN_SLOPE, most=MAX_SLOPE), bias)


def _read_isotonic(section: Section, K: int) -> Isotonic:
    claimed = section.floats("claimed", (None,), least=-MAX_LOG_ODDS, most=MAX_LOG_ODDS)
    true = section.floats("true", (len(claimed),), least=-MAX_BIAS_NATS, most=MAX_BIAS_NATS)
    start = section.offsets("start", 1 if K == 2 else K, len(claimed))
    if (np.diff(start) < 2).any():
        section.refuse("a line should have two knots or more")
    first = np.isin(np.arange(1, len(claimed)), start)
    if not ((np.diff(claimed) > 0) | first).all() or not ((np.diff(true) >= 0) | first).all():
        section.refuse("the lines should rise")
    return Isotonic(start, claimed, true)


MAP_READERS: dict[str, Callable[[Section, int], CalibrationMap]] = {
    "temperature": _read_temperature,
    "platt": _read_platt,
    "isotonic": _read_isotonic,
}
"""The reader of each calibration map, by its method."""


def write_novelty(novelty: Novelty) -> Section:
    """Return the section of a novelty detector: the quantiles of the log-densities of usual rows."""
    section = Section().put("quantiles", novelty.quantiles).put("rows", novelty.rows)
    read_novelty(section)
    return section


def read_novelty(section: Section) -> Novelty:
    """Read the novelty detector of a section."""
    quantiles = section.floats("quantiles", (None,), least=-np.inf)
    if not 1 <= len(quantiles) <= MAX_QUANTILES or (quantiles[1:] < quantiles[:-1]).any():
        section.refuse(f"'quantiles' should be 1 to {MAX_QUANTILES} numbers that rise")
    return Novelty(quantiles, section.integer("rows", least=1))
