"""Fitted score forms in model files, with the report of how they were fitted."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from deciban.generative import GenerativeModel
from deciban.ledger import Block, Needs, Schema
from deciban.linear.fitted_model import LEARNERS, Account, FittedModel, Setting
from deciban.persistence import Section
from deciban.persistence.score_forms import FITTED_FORMS, read_priors, read_score_form, write_score_form
from deciban.persistence.section import MAX_NUMBER
from deciban.scorer import Solved

INFINITY = float("inf")


def write_fitted_model(model: FittedModel) -> Section:
    """Return the section of a fitted model: forms, intercepts, the weight of each class and the report.

    The schema or the generative model that it is based on are written by the caller.
    """
    solved = model.solved
    assert solved.bias is not None
    section = Section().put("rows", model.rows).put("prior", solved.prior)
    section.put("log_prior", solved.log_prior).put("bias", solved.bias)
    widths = [block.width for block in model.outline.blocks]
    section.add_all("forms", [write_score_form(form, d) for form, d in zip(solved.forms, widths)])
    section.add_all("needs", [_write_needs(needs) for needs in solved.needs])
    section.add("account", _write_report(model.account))
    read_fitted_model(section, model.outline)
    return section


def read_fitted_model(section: Section, schema: Schema, basis: GenerativeModel | None = None) -> FittedModel:
    """Read a model that was fitted to the classes and blocks of features of this schema."""
    K, blocks = len(schema.classes), schema.blocks
    rows = section.floats("rows", (K,), least=0, most=MAX_NUMBER)
    if not rows.any():
        section.refuse("there are no rows of any class")
    priors = read_priors(section, K)
    forms, needs = section.parts("forms"), section.parts("needs")
    if not len(forms) == len(needs) == len(blocks):
        section.refuse(f"there are {len(forms)} score forms and {len(needs)} needs for {len(blocks)} blocks")
    for form, block in zip(forms, blocks):
        form.text("form", among=FITTED_FORMS[block.kind])
    solved = Solved(
        *priors,
        tuple(read_score_form(form, K, block.width) for form, block in zip(forms, blocks)),
        tuple(_read_needs(part, block) for part, block in zip(needs, blocks)),
        section.floats("bias", (K,)),
    )
    return FittedModel(schema, solved, rows, _read_report(section.part("account")), basis)


def _write_needs(needs: Needs) -> Section:
    section = Section({"signed": needs.signed, "skips": needs.skips, "unit": needs.unit})
    return section if needs.threshold is None else section.put("threshold", needs.threshold)


def _read_needs(section: Section, block: Block) -> Needs:
    threshold = section.number("threshold", -INFINITY, INFINITY) if section.has("threshold") else None
    flags = {name: section.flag(name) for name in ("signed", "skips", "unit")}
    return Needs(block.kind, threshold, **flags, words=block.reading if block.kind == "bags" else "")


def _write_report(report: Account) -> Section:
    values = asdict(report)
    trust = values.pop("trust")
    settings = Section()
    for name, value in values.pop("settings").items():
        settings.put(name, value)
    section = Section().add("settings", settings)
    for name, value in values.items():
        section.put(name, value)
    if trust is not None:
        section.put_texts("trusted", list(trust)).put("trust", np.array(list(trust.values()), dtype=np.float64))
    return section


def _read_report(section: Section) -> Account:
    learner: Any = section.text("learner", among=LEARNERS)
    return Account(
        learner,
        _read_settings(section.part("settings")),
        _read_number_or_nan(section, "objective"),
        _read_number_or_nan(section, "loss"),
        section.integer("n_iter"),
        section.flag("converged"),
        section.flag("separable"),
        section.integer("n_parameters"),
        _read_trust(section) if section.has("trust") else None,
    )


def _read_number_or_nan(section: Section, name: str) -> float:
    """Read a number that may be unknown, which is NaN."""
    return float("nan") if section.value(name) == "nan" else section.number(name, -INFINITY, INFINITY)


def _read_settings(section: Section) -> dict[str, Setting]:
    for name, value in section.header.items():
        if value is not None and not isinstance(value, (bool, int, float, str)):
            section.refuse(f"the setting {name!r} is no plain value")
    return {name: INFINITY if value == "inf" else value for name, value in section.header.items()}


def _read_trust(section: Section) -> dict[str, float]:
    names = section.texts("trusted")
    return dict(zip(names, section.floats("trust", (len(names),)).tolist()))
