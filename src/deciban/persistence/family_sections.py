"""Families and class priors in model files: the assumptions of a generative model, written as sections."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_args

import numpy as np

from deciban.families.binned import Binned
from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.families.covariances import ShrinkageTarget
from deciban.families.family import Alpha, ClassPrior, Family, PriorKind
from deciban.families.gaussian import Covariance, Gaussian
from deciban.families.level_families import Categorical, Joint, Unseen
from deciban.families.pair_families import Aode, Tree
from deciban.families.text_family import By, Event, Text
from deciban.persistence import Section

FAMILIES: dict[str, Callable[..., Any]] = {
    family.__name__: family
    for family in (
        Aode,
        Bernoulli,
        Binned,
        Categorical,
        Complement,
        Gaussian,
        Joint,
        Multinomial,
        Poisson,
        Text,
        Tree,
    )
}
"""The families that files may name."""

FieldReader = Callable[[Section, str, int], Any]
"""A function that reads the field of a family from a section, by its name, for a number of features."""

PER_FEATURE_ALPHA_FAMILIES = {"Bernoulli", "Binned", "Categorical", "Complement", "Multinomial", "Poisson"}
"""Families that accept an array with a pseudo-count for each feature."""

MAX_PSEUDO_COUNT = 1e290
"""Largest pseudo-count, count of pseudo-observations or added share of variance: those of 10⁷ features have a sum."""

MAX_LEVELS = 1 << 24
"""Largest sum of `min_levels` over all features of a family."""


def write_family(family: Family, width: int) -> Section:
    """Return the section of a family with `width` features; refuse a family that could not be read again."""
    section = Section().put("family", type(family).__name__)
    for field in fields(family):  # type: ignore[arg-type]
        value = getattr(family, field.name)
        if isinstance(value, (tuple, np.ndarray)):
            value = np.array(value, dtype=np.int64 if isinstance(value, tuple) else np.float64)
        section.put(field.name, value)
    read_family(section, width)
    return section


def read_family(section: Section, width: int) -> Family:
    """Read the family of a section, for `width` features."""
    name = section.text("family", among=FAMILIES)
    family_fields: Any = fields(FAMILIES[name])  # type: ignore[arg-type]
    unknown = section.header.keys() - {"family"} - {field.name for field in family_fields}
    if unknown:
        section.refuse(f"a {name} has no {min(unknown)!r}")
    values = {f.name: FIELD_READERS[f.name](section, f.name, width) for f in family_fields if section.has(f.name)}
    absent = [field.name for field in family_fields if field.name not in values and field.default is MISSING]
    if absent:
        section.refuse(f"there is no {absent[0]!r}")
    if name not in PER_FEATURE_ALPHA_FAMILIES and isinstance(values.get("alpha"), np.ndarray):
        section.refuse(f"a {name} has one pseudo-count for all features")
    family: Family = FAMILIES[name](**values)
    return family


def _read_alpha(section: Section, name: str, width: int) -> Alpha:
    """Read the pseudo-count of all features, or an array with one for each."""
    if name in section.header:
        return section.number(name, minimum=0, maximum=MAX_PSEUDO_COUNT)
    return section.floats(name, (width,), minimum=0, maximum=MAX_PSEUDO_COUNT)


def _read_min_levels(section: Section, name: str, width: int) -> tuple[int, ...] | None:
    """Read the least number of levels of each feature; None where the family has none."""
    if name in section.header:
        return None if section.value(name) is None else section.refuse(f"{name!r} should be an array")
    min_levels = section.integers(name, (width,), maximum=MAX_LEVELS)
    if min_levels.sum() > MAX_LEVELS:
        section.refuse(f"{name!r} adds up to more than {MAX_LEVELS}")
    return tuple(min_levels.tolist())


def _make_field_reader(read: Callable[..., Any], *plain: str | None, **bounds: Any) -> FieldReader:
    """Return a reader of a field by a method of `Section`; the values in `plain` need no check."""

    def read_field(section: Section, name: str, width: int) -> Any:
        value = section.value(name)
        is_plain = value is None or isinstance(value, str)
        return value if is_plain and value in plain else read(section, name, **bounds)

    return read_field


FIELD_READERS: dict[str, FieldReader] = {
    "alpha": _read_alpha,
    "min_levels": _read_min_levels,
    "threshold": _make_field_reader(Section.number, None, minimum=-np.inf, maximum=np.inf),
    "most": _make_field_reader(Section.integer, None, minimum=1),
    "shrinkage": _make_field_reader(Section.number, None, "oas", minimum=0, maximum=1),
    "shrinkage_target": _make_field_reader(Section.text, among=get_args(ShrinkageTarget)),
    "mixing": _make_field_reader(Section.number, minimum=0, maximum=1),
    "n_components": _make_field_reader(Section.integer, None, minimum=1),
    "least": _make_field_reader(Section.number, minimum=0),
    "prior_rows": _make_field_reader(Section.number, minimum=0, maximum=MAX_PSEUDO_COUNT),
    "var_smoothing": _make_field_reader(Section.number, minimum=0, maximum=MAX_PSEUDO_COUNT),
    "bounded": _make_field_reader(Section.flag),
    "norm": _make_field_reader(Section.flag),
    "n_cells": _make_field_reader(Section.integer, minimum=1, maximum=MAX_LEVELS),
    "pooled": _make_field_reader(Section.flag),
    "pairs_only": _make_field_reader(Section.flag),
    "idf": _make_field_reader(Section.flag),
    "reading": _make_field_reader(Section.text),
    "unseen": _make_field_reader(Section.text, among=get_args(Unseen)),
    "holes": _make_field_reader(Section.text, among=["level", "unseen"]),
    "covariance": _make_field_reader(Section.text, among=get_args(Covariance)),
    "event": _make_field_reader(Section.text, among=get_args(Event)),
    "by": _make_field_reader(Section.text, among=get_args(By)),
}
"""The reader of each field of a family; a field of the same name is read alike in all families."""


def write_class_prior(prior: ClassPrior) -> Section:
    """Return the section of a class prior."""
    section = Section().put("kind", prior.kind).put("alpha", prior.alpha)
    return section if prior.given is None else section.put("given", np.array(prior.given, dtype=np.float64))


def read_class_prior(section: Section, n_classes: int) -> ClassPrior:
    """Read the class prior of a section; refuse given priors that do not add up to 1."""
    kind: Any = section.text("kind", among=get_args(PriorKind))
    alpha = section.number("alpha", minimum=0, maximum=MAX_PSEUDO_COUNT)
    if kind != "given":
        return ClassPrior(kind, alpha)
    given = section.floats("given", (n_classes,), minimum=0, maximum=1)
    if not np.isclose(given.sum(), 1.0):
        section.refuse(f"the class priors add up to {given.sum():g}, and should to 1")
    return ClassPrior(kind, alpha, tuple(given.tolist()))
