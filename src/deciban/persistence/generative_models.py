"""Generative and fitted models in model files: written as sections, and read when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from deciban.errors import DecibanError
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Block, Ledger, Schema
from deciban.linear.boosting import Boosted
from deciban.linear.fitted_model import FittedModel
from deciban.linear.sample_weights import ALGORITHMS
from deciban.persistence import Section
from deciban.persistence.assumptions import read_class_prior, read_family, write_class_prior, write_family
from deciban.persistence.fitted_models import read_fitted_model, write_fitted_model
from deciban.persistence.ledgers import (
    read_blocks_without_levels,
    read_blocks_without_names,
    read_classes,
    read_ledger,
    read_level_arrays,
    read_schema,
    write_ledger,
    write_schema,
)
from deciban.persistence.score_forms import (
    MIN_POSITIVE,
    SOLVED_FORMS,
    read_calibration,
    read_novelty,
    read_priors,
    read_score_form,
    write_calibration,
    write_novelty,
    write_score_form,
)
from deciban.scorer import Scorer, Solved
from deciban.scores import Lookup, ScoreForm
from deciban.scores.calibration import Calibration
from deciban.scores.novelty import Novelty
from deciban.sources.level_encoder import LevelNames


class StoredGenerativeModel(GenerativeModel):
    """A generative model in a file: its ledger is read on first use, and its stored solution is not solved again."""

    _section: Section

    def __init__(
        self, assumption: Assumption, section: Section, calibration: Calibration | None, novelty: Novelty | None
    ) -> None:
        vars(self).update(assumption=assumption, _section=section, calibration=calibration, novelty=novelty)
        if section.eager:  # a small file is read in full, so that errors in it are found now
            self.ledger, section.has("solved") and self.solved

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger, read on first use."""
        return read_ledger(self._section.part("ledger"))

    @cached_property
    def schema(self) -> Schema:
        """The names of classes, features and levels; the statistics are not read."""
        if "ledger" in vars(self):
            return self.ledger.schema
        return read_schema(self._section.part("ledger").part("schema"))

    @cached_property
    def outline(self) -> Schema:
        """The names of classes and features; the names of levels, perhaps a million, are not read."""
        section = self._section.part("ledger")
        return Schema(read_classes(section), read_blocks_without_levels(section))

    @cached_property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels over the file's own bytes."""
        if "ledger" in vars(self):
            return super().level_names
        return [LevelNames(names) for names in read_level_arrays(self._section.part("ledger"))]

    def unsolved(self) -> GenerativeModel:
        """Return the model without the solution that the file holds."""
        return GenerativeModel(self.assumption, self.ledger)

    @cached_property
    def solved(self) -> Solved:
        """The solution that the file holds; the ledger is not read."""
        if not self._section.has("solved"):
            return self.unsolved().solved
        section, ledger = self._section.part("solved"), self._section.part("ledger")
        K, blocks = len(read_classes(ledger)), read_blocks_without_names(ledger)
        form_sections, statistics = section.parts("forms"), ledger.parts("parts")
        if not len(form_sections) == len(statistics) == len(blocks):
            section.refuse(f"there are {len(form_sections)} score forms for {len(blocks)} blocks of features")
        forms = tuple(_read_solved_form(part, block, K) for part, block in zip(form_sections, blocks))
        for part, form, family, statistic in zip(form_sections, forms, self.assumption.families, statistics):
            if isinstance(form, Lookup):
                _check_levels(part, form, family, statistic)
        return Solved(*read_priors(section, K), forms, self.assumption.needs)

    def __reduce__(self) -> Any:
        return GenerativeModel, (self.assumption, self.ledger, self.calibration, self.novelty)


def write_scorer(scorer: Scorer) -> Section:
    """Return the section of a generative or fitted model."""
    if not isinstance(scorer, FittedModel):
        assert isinstance(scorer, GenerativeModel)
        return _write_generative_model(scorer)
    section = Section().add("learned", write_fitted_model(scorer))
    if scorer.calibration is not None:
        section.add("calibration", write_calibration(scorer.calibration))
    if isinstance(scorer, Boosted):
        section.add("rounds", _write_rounds(scorer))
    if scorer.basis is not None:
        return section.add("basis", _write_generative_model(scorer.basis))
    return section.add("schema", write_schema(scorer.schema))


def read_scorer(section: Section) -> Scorer:
    """Read the generative or fitted model of a section."""
    if not section.has("learned"):
        return _read_generative_model(section)
    basis = _read_generative_model(section.part("basis")) if section.has("basis") else None
    schema = read_schema(section.part("schema")) if basis is None else basis.outline
    model = read_fitted_model(section.part("learned"), schema, basis)
    if section.has("rounds"):
        model = _read_rounds(section.part("rounds"), model)
    return model.with_maps(calibration=_read_optional_calibration(section, len(schema.classes)))


def _write_rounds(boosted: Boosted) -> Section:
    """Return the section of the models of all boosting rounds, with their shares and errors."""
    section = Section().put("shares", boosted.shares).put("errors", boosted.errors)
    return section.add_all("learners", [_write_generative_model(model) for model in boosted.rounds])


def _read_rounds(section: Section, fitted: FittedModel) -> Boosted:
    rounds = tuple(map(_read_generative_model, section.parts("learners")))
    widths = [block.width for block in fitted.outline.blocks]
    for model in rounds:
        outline = model.outline
        if outline.classes != fitted.outline.classes or [block.width for block in outline.blocks] != widths:
            section.refuse("a learner has other classes or features than the boosted model")
    if not rounds or fitted.account.settings.get("algorithm") not in ALGORITHMS:
        section.refuse("there should be a learner, and an algorithm that boosts it")
    shares = section.floats("shares", (len(rounds),), least=MIN_POSITIVE)
    errors = section.floats("errors", (len(rounds),), least=0, most=1)
    values = {field.name: getattr(fitted, field.name) for field in fields(fitted)}
    return Boosted(**values, rounds=rounds, shares=shares, errors=errors)


def _write_generative_model(model: GenerativeModel) -> Section:
    """Return the section of a generative model: assumption, ledger and, if it can be solved, its solution."""
    assumption, blocks = model.assumption, model.ledger.schema.blocks
    families = [write_family(f, block.width) for f, block in zip(assumption.families, blocks)]
    section = Section().put("missing", assumption.missing).add_all("families", families)
    section.add("prior", write_class_prior(assumption.prior))
    section.add("ledger", write_ledger(model.ledger))
    if assumption.imagined is not None:
        section.add("imagined", write_ledger(assumption.imagined))
    if model.calibration is not None:
        section.add("calibration", write_calibration(model.calibration))
    if model.novelty is not None:
        section.add("novelty", write_novelty(model.novelty))
    with suppress(DecibanError):  # a ledger that cannot be solved now is solved, or refused, when the file is used
        section.add("solved", _write_solution(model.solved, [block.width for block in blocks]))
    return section


def _write_solution(solved: Solved, widths: Sequence[int]) -> Section:
    section = Section().put("prior", solved.prior).put("log_prior", solved.log_prior)
    read_priors(section, len(solved.prior))
    return section.add_all("forms", [write_score_form(form, d) for form, d in zip(solved.forms, widths)])


def _read_solved_form(section: Section, block: Block, K: int) -> ScoreForm:
    section.text("form", among=SOLVED_FORMS[block.kind])
    return read_score_form(section, K, block.width)


def _check_levels(section: Section, form: Lookup, family: Any, statistic: Section) -> None:
    """Refuse a form without scores for every level that is counted or declared."""
    sizes = np.diff(statistic.integers("offset", (len(form.offset),)))
    if (np.diff(form.offset) < np.maximum(sizes, family.min_levels or 0)).any():
        section.refuse("fewer levels have scores than were counted or are known to exist")


def _read_generative_model(section: Section) -> GenerativeModel:
    ledger, parts = section.part("ledger"), section.parts("families")
    K, blocks = len(read_classes(ledger)), read_blocks_without_names(ledger)
    if len(parts) != len(blocks):
        section.refuse(f"there are {len(parts)} families for {len(blocks)} blocks of features")
    families = tuple(read_family(part, block.width) for part, block in zip(parts, blocks))
    for part, needs, block in zip(parts, (family.needs() for family in families), blocks):
        if (needs.kind, needs.reading) != (block.kind, block.reading):
            part.refuse(f"it takes {needs.kind} of {needs.reading}, not {block.kind} of {block.reading}")
    imagined = read_ledger(section.part("imagined")) if section.has("imagined") else None
    prior = read_class_prior(section.part("prior"), K)
    missing = section.text("missing", among=["skip", "error"])
    calibration = _read_optional_calibration(section, K)
    novelty = read_novelty(section.part("novelty")) if section.has("novelty") else None
    return StoredGenerativeModel(Assumption(families, prior, imagined, missing), section, calibration, novelty)


def _read_optional_calibration(section: Section, K: int) -> Calibration | None:
    return read_calibration(section.part("calibration"), K) if section.has("calibration") else None
