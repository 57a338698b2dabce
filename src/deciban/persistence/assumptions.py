"""Families and class priors in model files: what was assumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, get_args

import numpy as np

from deciban.families.bernoulli import Bernoulli
from deciban.families.binned import Binned
from deciban.families.categorical import Categorical, Unseen
from deciban.families.class_prior import ClassPrior
from deciban.families.class_prior import Kind as PriorKind
from deciban.families.complement import Complement
from deciban.families.family import Alpha, Family
from deciban.families.gaussian import Covariance, Gaussian
from deciban.families.joint import Joint
from deciban.families.multinomial import Multinomial
from deciban.families.poisson import Poisson
from deciban.families.text_family import Event, Text
from deciban.families.word_selection import By
from deciban.persistence import Section

FAMILIES: dict[str, Callable[..., Any]] = {
    family.__name__: family
    for family in (Bernoulli, Binned, Categorical, Complement, Gaussian, Joint, Multinomial, Poisson, Text)
}
"""The families that files may name."""

ONE_EACH = {"Bernoulli", "Binned", "Categorical", "Complement", "Multinomial", "Poisson"}
"""Families that take a pseudo-count for each feature."""

MAX_PSEUDO_COUNT = 1e290
"""Largest pseudo-count, number of imagined rows or added share of variance: those of 10⁷ features have a sum."""

MOST_LEVELS = 1 << 24
"""Levels that all features of a family together may be known to have."""


def written(family: Family, width: int) -> Section:
    """A family's assumptions as a section; refused where they could not be read again."""
    section = Section().put("family", type(family).__name__)
    for field in fields(family):  # type: ignore[arg-type]
        value = getattr(family, field.name)
        if isinstance(value, tuple):
            section.put(field.name, np.array(value, dtype=np.int64))
        elif isinstance(value, np.ndarray):
            section.put(field.name, value.astype(np.float64))
        else:
            section.put(field.name, value)
    read(section, width)
    return section


def read(section: Section, width: int) -> Family:
    """The family of a section, for so many features."""
    name = section.text("family", among=FAMILIES)
    known: Any = fields(FAMILIES[name])  # type: ignore[arg-type]
    strange = section.header.keys() - {"family"} - {field.name for field in known}
    if strange:
        section.refuse(f"a {name} has no {min(strange)!r}")
    values = {field.name: FIELDS[field.name](section, width) for field in known if section.has(field.name)}
    lacking = [field.name for field in known if field.name not in values and field.default is MISSING]
    if lacking:
        section.refuse(f"there is no {lacking[0]!r}")
    if name not in ONE_EACH and isinstance(values.get("alpha"), np.ndarray):
        section.refuse(f"a {name} has one pseudo-count for all features")
    family: Family = FAMILIES[name](**values)
    return family


def _alpha(section: Section, width: int) -> Alpha:
    if "alpha" in section.header:
        return section.number("alpha", least=0, most=MAX_PSEUDO_COUNT)
    return section.floats("alpha", (width,), least=0, most=MAX_PSEUDO_COUNT)


def _threshold(section: Section, width: int) -> float | None:
    if section.value("threshold") is None:
        return None
    return section.number("threshold", least=float("-inf"), most=float("inf"))


def _min_levels(section: Section, width: int) -> tuple[int, ...] | None:
    if "min_levels" in section.header:
        return None if section.value("min_levels") is None else section.refuse("'min_levels' should be an array")
    least = section.wholes("min_levels", (width,), most=MOST_LEVELS)
    if least.sum() > MOST_LEVELS:
        section.refuse(f"more than {MOST_LEVELS} levels are said to be known")
    return tuple(least.tolist())


def _shrinkage(section: Section, width: int) -> Any:
    if section.value("shrinkage") in (None, "oas"):
        return section.value("shrinkage")
    return section.number("shrinkage", least=0, most=1)


def _most(section: Section, width: int) -> int | None:
    return None if section.value("most") is None else section.whole("most", least=1)


FIELDS: dict[str, Callable[[Section, int], Any]] = {
    "alpha": _alpha,
    "threshold": _threshold,
    "norm": lambda section, width: section.flag("norm"),
    "unseen": lambda section, width: section.text("unseen", among=get_args(Unseen)),
    "min_levels": _min_levels,
    "holes": lambda section, width: section.text("holes", among=["level", "unseen"]),
    "most": _most,
    "covariance": lambda section, width: section.text("covariance", among=get_args(Covariance)),
    "shrinkage": _shrinkage,
    "prior_rows": lambda section, width: section.number("prior_rows", least=0, most=MAX_PSEUDO_COUNT),
    "reading": lambda section, width: section.text("reading"),
    "event": lambda section, width: section.text("event", among=get_args(Event)),
    "least": lambda section, width: section.number("least", least=0),
    "by": lambda section, width: section.text("by", among=get_args(By)),
    "idf": lambda section, width: section.flag("idf"),
    "var_smoothing": lambda section, width: section.number("var_smoothing", least=0, most=MAX_PSEUDO_COUNT),
}
"""How each field of a family is read; a name means the same in all of them."""


def written_prior(prior: ClassPrior) -> Section:
    """A class prior as a section."""
    section = Section().put("kind", prior.kind).put("alpha", prior.alpha)
    return section if prior.given is None else section.put("given", np.array(prior.given, dtype=np.float64))


def read_prior(section: Section, n_classes: int) -> ClassPrior:
    """The class prior of a section."""
    kind: Any = section.text("kind", among=get_args(PriorKind))
    alpha = section.number("alpha", least=0, most=MAX_PSEUDO_COUNT)
    if kind != "given":
        return ClassPrior(kind, alpha)
    given = section.floats("given", (n_classes,), least=0, most=1)
    if not np.isclose(given.sum(), 1.0):
        section.refuse(f"the class priors add up to {given.sum():g}, and should to 1")
    return ClassPrior(kind, alpha, tuple(given.tolist()))
