"""Score forms, calibration and novelty in model files; forms are stored solved."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.persistence import Section
from deciban.scores.bounded_forms import BoundedDiagonal, BoundedRates, LimitedFull
from deciban.scores.calibration import MAX_LOG_ODDS, Calibration, CalibrationMap, Isotonic, Platt, Temperature
from deciban.scores.form_algebra import Summed
from deciban.scores.gaussian_forms import Diagonal, Full
from deciban.scores.linear import ImpossibleValues, Linear, SparseLinear
from deciban.scores.lookup import Lookup, Steps, Table
from deciban.scores.pair_form import AveragedEdges, Edges
from deciban.scores.posterior import MAX_QUANTILES, Novelty
from deciban.scores.score_form import ScoreForm

MIN_POSITIVE = float(np.finfo(np.float64).smallest_subnormal)
"""The smallest number above zero."""

MIN_SLOPE, MAX_SLOPE = 1e-9, 1e9
"""Bounds of the slope of a Platt map; a temperature may be 0."""

MAX_BIAS_NATS = 1e9
"""Largest bias of a calibration map, in nats."""

FIELD_KEYS = {"class_code": "klass", "evidence_weight": "trust", "impossible": "barrier"}
"""The keys in files of fields that have another name there."""


def write_score_form(form: ScoreForm, n_features: int) -> Section:
    """Return the section of a score form; refuse one that could not be read again."""
    if isinstance(form, Summed):
        parts = [write_score_form(part, n_features) for part in form.forms]
        return Section({"form": "Summed"}).add_all("forms", parts)
    section = _write_fields(form).put("form", type(form).__name__)
    read_score_form(section, form.n_classes, n_features)
    return section


def _write_fields(value: Any) -> Section:
    """Return a section of all fields that are not None: arrays and tuples as arrays, forms as parts, else as JSON."""
    section = Section()
    for field in fields(value):
        content, key = getattr(value, field.name), FIELD_KEYS.get(field.name, field.name)
        if isinstance(content, ImpossibleValues):
            section.add(key, _write_fields(content))
        elif isinstance(content, tuple):
            section.put(key, np.array(content, dtype=np.int64))
        elif content is not None:
            section.put(key, content)
    return section


def read_score_form(section: Section, K: int, d: int) -> ScoreForm:
    """Read the score form of a section, for K classes and d features."""
    match section.text("form", among=FORMS):
        case "Summed":
            parts = section.parts("forms")
            if len({part.text("form", among=SUMMABLE_FORMS) for part in parts}) != 1:
                section.refuse("a sum should be of one or more forms, all of a kind")
            return Summed(tuple(read_score_form(part, K, d) for part in parts))
        case "Lookup":
            log_theta = section.floats("log_theta", (K, None), minimum=-np.inf)
            offset = section.offsets("offset", d, log_theta.shape[1])
            return Lookup(log_theta, offset, section.floats("unseen", (K, d), minimum=-np.inf))
        case "Table":
            cell, sizes = section.integers("cell", (None, d)), section.integers("sizes", (d,))
            if (cell >= sizes).any():
                section.refuse("a cell lies beyond the levels there are")
            count = section.floats("count", (K, len(cell)), minimum=0)
            alpha, smooth = section.number("alpha", minimum=0), section.flag("smooth_unseen")
            evidence_weight = section.optional(section.number, "trust")
            return Table(cell, count, tuple(sizes.tolist()), alpha, smooth, evidence_weight)
        case name:
            return READERS[name](section, K, d)


def _read_diagonal(section: Section, K: int, d: int) -> Diagonal:
    mean, variance = section.floats("mean", (K, d)), section.floats("variance", (K, d), minimum=MIN_POSITIVE)
    weights = section.optional(section.floats, "trust", (d,))
    arguments = mean, variance, weights, section.optional(section.floats, "offsets", (K, d))
    if section.text("form") == "Diagonal":
        return Diagonal(*arguments)
    shares = section.optional(section.floats, "shares", (K, d), minimum=0, maximum=1)
    if shares is not None and not np.allclose(shares.sum(axis=0), 1.0, atol=1e-6):
        section.refuse("the shares of the classes in a column should add up to 1")
    return BoundedDiagonal(*arguments, log_tail=section.floats("log_tail", (d,), minimum=-np.inf), shares=shares)


def _read_rates(section: Section, K: int, d: int) -> BoundedRates:
    rate, bound = section.floats("rate", (K, d), minimum=0), section.number("bound", minimum=0)
    return BoundedRates(rate, bound, section.optional(section.floats, "trust", (d,)))


def _read_linear(section: Section, K: int, d: int) -> Linear:
    part = section.optional(section.part, "barrier")
    return Linear(
        section.floats("weights", (K, d)),
        section.floats("bias", (K,)),
        section.optional(section.floats, "offsets", (K, d)),
        section.optional(section.number, "threshold", -np.inf, np.inf),
        section.optional(section.text, "carrier", CARRIERS),  # type: ignore[arg-type]
        part
        if part is None
        else ImpossibleValues(*(part.floats(n, (K, d), minimum=0, maximum=1) for n in ("on", "off"))),
        _read_limits(section, d),
    )


def _read_limits(section: Section, d: int) -> Array | None:
    limits = section.optional(section.floats, "limits", (2, d))
    if limits is not None and (limits[0] > limits[1]).any():
        section.refuse("a smallest value is larger than the largest one")
    return limits


def _read_sparse_linear(section: Section, K: int, d: int) -> SparseLinear:
    delta = section.floats("delta", (None,))
    return SparseLinear(
        section.offsets("start", d, len(delta)),
        section.integers("klass", (len(delta),), maximum=K - 1, dtype=np.int32),
        delta,
        section.floats("bias", (K,)),
        section.floats("slope", (K,)),
        section.floats("base", (d,)),
        section.floats("scale", (K,)),
        section.optional(section.number, "threshold", -np.inf, np.inf),
        section.optional(section.array, "hard", np.bool_, (d,)),
        section.optional(section.array, "mute", np.bool_, (d,)),
        section.optional(section.text, "carrier", CARRIERS),  # type: ignore[arg-type]
        section.optional(section.floats, "trust", (d,)),
    )


def _read_steps(section: Section, K: int, d: int) -> Steps:
    cuts = section.floats("cuts", (None,))
    start = section.offsets("start", d, len(cuts))
    falls = np.flatnonzero(cuts[1:] <= cuts[:-1]) + 1
    if not np.isin(falls, start).all():
        section.refuse("the cuts of a feature should be in order, each once")
    return Steps(cuts, start, section.floats("log_theta", (K, len(cuts) + d), minimum=-np.inf))


def _read_edges(section: Section, K: int, d: int) -> Edges:
    parent = section.integers("parent", (d,), minimum=-1, maximum=d - 1)
    log_ratio = section.floats("log_ratio", (K, d, None, None))
    if log_ratio.shape[2] != log_ratio.shape[3] or (parent == np.arange(d)).any():
        section.refuse("a feature depends on itself, or not on as many cells as it has")
    return Edges(parent, log_ratio)


def _read_averaged_edges(section: Section, K: int, d: int) -> AveragedEdges:
    log_ratio = section.floats("log_ratio", (K, d, None, d, None))
    if log_ratio.shape[2] != log_ratio.shape[4] or np.einsum("kiaib->kiab", log_ratio).any():
        section.refuse("a feature depends on itself, or not on as many cells as it has")
    return AveragedEdges(log_ratio)


def _read_full(section: Section, K: int, d: int) -> Full:
    covariance = section.floats("covariance", (K, d, d), (1, d, d))
    arguments = section.floats("mean", (K, d)), covariance, section.optional(section.number, "trust")
    form = Full(*arguments)
    if section.text("form") == "LimitedFull":
        limits = _read_limits(section, d)
        form = LimitedFull(*arguments, limits=section.refuse("there are no limits") if limits is None else limits)
    try:
        form.shapes  # noqa: B018  whoever scores needs them, and only a covariance has them
    except InputError:
        section.refuse("a covariance is not positive definite")
    return form


CARRIERS = ("log_factorial",)
"""The carrier measures that a linear form may name."""

SUMMABLE_FORMS = (
    "Diagonal", "BoundedDiagonal", "Full", "LimitedFull", "BoundedRates", "Lookup", "SparseLinear", "Table",
)  # fmt: skip
"""The forms that a sum may consist of."""

READERS: dict[str, Callable[[Section, int, int], ScoreForm]] = {
    "Linear": _read_linear, "SparseLinear": _read_sparse_linear, "Steps": _read_steps,
    "Diagonal": _read_diagonal, "BoundedDiagonal": _read_diagonal, "Full": _read_full,
    "LimitedFull": _read_full, "BoundedRates": _read_rates, "Edges": _read_edges,
    "AveragedEdges": _read_averaged_edges,
}  # fmt: skip
"""The readers of the forms that `read_score_form` does not read itself."""

FORMS = ("Lookup", "Table", "Summed", *READERS)
"""The names of the forms in files."""

SOLVED_FORMS: Mapping[str, tuple[str, ...]] = {
    "counts": ("Linear", "SparseLinear", "BoundedRates"),
    "levels": ("Lookup",),
    "moments": ("Diagonal", "BoundedDiagonal"),
    "scatter": ("Full", "LimitedFull"),
    "cells": ("Table",),
    "grid": ("Steps",),
    "pairs": ("Edges", "AveragedEdges"),
    "bags": ("SparseLinear",),
}
"""The forms that a family may solve a kind of block into; a file that names another form is invalid."""

FITTED_FORMS: Mapping[str, tuple[str, ...]] = {
    **SOLVED_FORMS,
    "counts": ("Linear", "SparseLinear", "BoundedRates", "Summed"),
    "levels": ("Lookup", "Summed"),
    "moments": ("Diagonal", "BoundedDiagonal", "Linear", "Summed"),
    "scatter": ("Full", "LimitedFull", "Linear", "Summed"),
    "cells": ("Table", "Summed"),
    "bags": ("SparseLinear", "Linear"),
}
"""The forms of a fitted model for each kind of block: also weights of numbers and words, and sums of forms."""


def read_priors(section: Section, K: int) -> tuple[Array, Array]:
    """Read the class prior π, and the log-prior that is added to the scores."""
    prior = section.floats("prior", (K,), minimum=0, maximum=1)
    if abs(prior.sum() - 1) > 1e-6:
        section.refuse(f"the class prior adds up to {prior.sum():g}, not to 1")
    log_prior = section.floats("log_prior", (K,), minimum=-np.inf, maximum=0)
    with np.errstate(divide="ignore"):
        if log_prior.any() and not np.allclose(log_prior, np.log(prior), rtol=1e-6, atol=1e-6):
            section.refuse("'log_prior' should be the logarithm of the class prior, or 0 where no prior is added")
    return prior, log_prior


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
    if calibration.is_former:
        section.put("former", True)
    if np.isfinite([calibration.before, calibration.after]).all():
        section.put("before", calibration.before).put("after", calibration.after)
    read_calibration(section, len(calibration.log_prior))
    return section


def read_calibration(section: Section, K: int) -> Calibration:
    """Read the calibration of a section, for K classes."""
    if K < 2:
        section.refuse(f"there is nothing to calibrate with {K} class")
    calibration_map = _read_map(section, K)
    log_prior = section.floats("log_prior", (K,), minimum=-np.inf, maximum=0.0)
    if np.isneginf(log_prior).all():
        section.refuse("every class has prior probability 0")
    losses = [section.number(name, minimum=0) for name in ("before", "after") if section.has(name)]
    rows = section.integer("rows")
    former = section.has("former") and section.flag("former")
    before, after = losses if len(losses) == 2 else (np.nan, np.nan)
    return Calibration(calibration_map, log_prior, rows, before, after, former)


def _read_map(section: Section, K: int) -> CalibrationMap:
    """Read the map of a calibration by its method."""
    match section.text("method", among=["temperature", "platt", "isotonic"]):
        case "temperature":
            return Temperature(section.number("t", minimum=0.0, maximum=MAX_SLOPE))
        case "platt":
            bias = section.floats("bias", (K,), minimum=-MAX_BIAS_NATS, maximum=MAX_BIAS_NATS)
            return Platt(section.number("slope", minimum=MIN_SLOPE, maximum=MAX_SLOPE), bias)
        case _:
            return _read_isotonic(section, K)


def _read_isotonic(section: Section, K: int) -> Isotonic:
    claimed = section.floats("claimed", (None,), minimum=-MAX_LOG_ODDS, maximum=MAX_LOG_ODDS)
    true = section.floats("true", (len(claimed),), minimum=-MAX_LOG_ODDS, maximum=MAX_LOG_ODDS)
    start = section.offsets("start", 1 if K == 2 else K, len(claimed))
    if (np.diff(start) < 2).any():
        section.refuse("a line should have two knots or more")
    first = np.isin(np.arange(1, len(claimed)), start)
    if not ((np.diff(claimed) > 0) | first).all() or not ((np.diff(true) >= 0) | first).all():
        section.refuse("the lines should rise")
    return Isotonic(start, claimed, true)


def write_novelty(novelty: Novelty) -> Section:
    """Return the section of a novelty detector: the quantiles of the log-densities of usual rows."""
    section = Section().put("quantiles", novelty.quantiles).put("rows", novelty.rows)
    read_novelty(section)
    return section


def read_novelty(section: Section) -> Novelty:
    """Read the novelty detector of a section."""
    quantiles = section.floats("quantiles", (None,), minimum=-np.inf)
    if not 1 <= len(quantiles) <= MAX_QUANTILES or (quantiles[1:] < quantiles[:-1]).any():
        section.refuse(f"'quantiles' should be 1 to {MAX_QUANTILES} numbers that rise")
    return Novelty(quantiles, section.integer("rows", minimum=1))
