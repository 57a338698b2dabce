"""RECALL: beliefs in model files, written as sections and read when they are needed."""

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
from deciban.linear.boosted_model import Boosted
from deciban.linear.fitted_model import FittedModel
from deciban.linear.sample_weights import ALGORITHMS
from deciban.persistence import Section
from deciban.persistence import assumptions as family_files
from deciban.persistence import calibration_maps as calibration_files
from deciban.persistence import ledgers as ledger_files
from deciban.persistence import linear_models as learned_files
from deciban.persistence import score_forms as form_files
from deciban.persistence.score_forms import LEAST
from deciban.scorer import Scorer, Solved
from deciban.scores import Lookup, ScoreForm
from deciban.scores.calibration import Calibration
from deciban.scores.novelty import Novelty
from deciban.sources.level_lookup import Known


class Recalled(GenerativeModel):
    """A belief as a file has it: the ledger is looked at when it is needed, and what was solved need not be again."""

    _section: Section

    def __init__(
        self, assumption: Assumption, section: Section, calibration: Calibration | None, novelty: Novelty | None
    ) -> None:
        vars(self).update(assumption=assumption, _section=section, calibration=calibration, novelty=novelty)
        if section.eager:  # a small file is read in full, so that it is sound from now on
            self.ledger, section.has("solved") and self.solved

    @cached_property
    def ledger(self) -> Ledger:
        """What is remembered, read when it is first asked for."""
        return ledger_files.read(self._section.part("ledger"))

    @cached_property
    def schema(self) -> Schema:
        """The names of what is counted; the sums stay unread."""
        if "ledger" in vars(self):
            return self.ledger.schema
        return ledger_files.read_schema(self._section.part("ledger").part("schema"))

    @cached_property
    def outline(self) -> Schema:
        """The names of classes and features: a million names of levels stay unread."""
        section = self._section.part("ledger")
        return Schema(ledger_files.read_classes(section), ledger_files.read_features(section))

    @cached_property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels where they lie in the file."""
        if "ledger" in vars(self):
            return super().level_names
        return [Known(names) for names in ledger_files.level_arrays(self._section.part("ledger"))]

    def unsolved(self) -> GenerativeModel:
        """The same as if nothing had been solved when the file was written."""
        return GenerativeModel(self.assumption, self.ledger)

    @cached_property
    def solved(self) -> Solved:
        """What was solved when the file was written; the ledger stays unread."""
        if not self._section.has("solved"):
            return self.unsolved().solved
        section, ledger = self._section.part("solved"), self._section.part("ledger")
        K, blocks = len(ledger_files.read_classes(ledger)), ledger_files.read_outline(ledger)
        forms, counted = section.parts("forms"), ledger.parts("parts")
        if not len(forms) == len(counted) == len(blocks):
            section.refuse(f"there are {len(forms)} score forms for {len(blocks)} blocks of features")
        read = tuple(_read_form(form, block, K) for form, block in zip(forms, blocks))
        for part, form, family, sums in zip(forms, read, self.assumption.families, counted):
            if isinstance(form, Lookup):
                _check_levels(part, form, family, sums)
        return Solved(*form_files.read_priors(section, K), read, self.assumption.needs)

    def __reduce__(self) -> Any:
        return GenerativeModel, (self.assumption, self.ledger, self.calibration, self.novelty)


def written(scorer: Scorer) -> Section:
    """Whatever scores rows as a section of a model file."""
    if isinstance(scorer, FittedModel):
        return _written_learned(scorer)
    assert isinstance(scorer, GenerativeModel)
    return _written_belief(scorer)


def _written_learned(learned: FittedModel) -> Section:
    """What was fitted, and the belief that it rests on, or else the names of what it weighs."""
    section = Section().add("learned", learned_files.written(learned))
    if learned.calibration is not None:
        section.add("calibration", calibration_files.written(learned.calibration))
    if isinstance(learned, Boosted):
        section.add("rounds", _written_rounds(learned))
    if learned.basis is not None:
        return section.add("basis", _written_belief(learned.basis))
    return section.add("schema", ledger_files.written_schema(learned.schema))


def _recalled_learned(section: Section) -> FittedModel:
    basis = recalled_belief(section.part("basis")) if section.has("basis") else None
    schema = ledger_files.read_schema(section.part("schema")) if basis is None else basis.outline
    learned = learned_files.read(section.part("learned"), schema, basis)
    if section.has("rounds"):
        learned = _recalled_rounds(section.part("rounds"), learned)
    return learned.told(calibration=_read_calibration(section, len(schema.classes)))


def _written_rounds(learned: Boosted) -> Section:
    """The learners of all rounds, with their shares and errors."""
    section = Section().put("shares", learned.shares).put("errors", learned.errors)
    return section.add_all("learners", [_written_belief(belief) for belief in learned.rounds])


def _recalled_rounds(section: Section, learned: FittedModel) -> Boosted:
    rounds = tuple(map(recalled_belief, section.parts("learners")))
    widths = [block.width for block in learned.outline.blocks]
    for belief in rounds:
        outline = belief.outline
        if outline.classes != learned.outline.classes or [block.width for block in outline.blocks] != widths:
            section.refuse("a learner knows other classes or features than all of them together")
    if not rounds or learned.account.settings.get("algorithm") not in ALGORITHMS:
        section.refuse("there should be a learner, and an algorithm that boosts it")
    shares = section.floats("shares", (len(rounds),), least=LEAST)
    told = {field.name: getattr(learned, field.name) for field in fields(learned)}
    errors = section.floats("errors", (len(rounds),), least=0, most=1)
    return Boosted(**told, rounds=rounds, shares=shares, errors=errors)


def _written_belief(belief: GenerativeModel) -> Section:
    """Assumption, ledger and, if it can be solved, what follows from them."""
    assumption, blocks = belief.assumption, belief.ledger.schema.blocks
    families = [family_files.written(f, block.width) for f, block in zip(assumption.families, blocks)]
    section = Section().put("missing", assumption.missing).add_all("families", families)
    section.add("prior", family_files.written_prior(assumption.prior))
    section.add("ledger", ledger_files.written(belief.ledger))
    if assumption.imagined is not None:
        section.add("imagined", ledger_files.written(assumption.imagined))
    if belief.calibration is not None:
        section.add("calibration", calibration_files.written(belief.calibration))
    if belief.novelty is not None:
        section.add("novelty", calibration_files.written_novelty(belief.novelty))
    with suppress(DecibanError):  # what cannot be solved now will be, or be refused, when the file is used
        section.add("solved", _written_solved(belief.solved, [block.width for block in blocks]))
    return section


def _written_solved(solved: Solved, widths: Sequence[int]) -> Section:
    section = Section().put("prior", solved.prior).put("log_prior", solved.log_prior)
    form_files.read_priors(section, len(solved.prior))
    return section.add_all("forms", [form_files.written(form, d) for form, d in zip(solved.forms, widths)])


def _read_form(section: Section, block: Block, K: int) -> ScoreForm:
    section.text("form", among=form_files.SOLVED[block.kind])
    return form_files.read(section, K, block.width)


def _check_levels(section: Section, form: Lookup, family: Any, counted: Section) -> None:
    """All levels that are counted or known to exist have scores: so a small file speaks of few."""
    sizes = np.diff(counted.wholes("offset", (len(form.offset),)))
    if (np.diff(form.offset) < np.maximum(sizes, family.min_levels or 0)).any():
        section.refuse("fewer levels have scores than were counted or are known to exist")


def recalled(section: Section) -> Scorer:
    """What scores rows, as a section tells it."""
    return _recalled_learned(section) if section.has("learned") else recalled_belief(section)


def recalled_belief(section: Section) -> GenerativeModel:
    """The belief of a section."""
    ledger, families = section.part("ledger"), section.parts("families")
    K, blocks = len(ledger_files.read_classes(ledger)), ledger_files.read_outline(ledger)
    if len(families) != len(blocks):
        section.refuse(f"there are {len(families)} families for {len(blocks)} blocks of features")
    read = tuple(family_files.read(family, block.width) for family, block in zip(families, blocks))
    for part, needs, block in zip(families, (family.needs() for family in read), blocks):
        if (needs.kind, needs.reading) != (block.kind, block.reading):
            part.refuse(f"it takes {needs.kind} of {needs.reading}, not {block.kind} of {block.reading}")
    imagined = ledger_files.read(section.part("imagined")) if section.has("imagined") else None
    prior = family_files.read_prior(section.part("prior"), K)
    missing = section.text("missing", among=["skip", "error"])
    calibration = _read_calibration(section, K)
    novelty = calibration_files.read_novelty(section.part("novelty")) if section.has("novelty") else None
    return Recalled(Assumption(read, prior, imagined, missing), section, calibration, novelty)


def _read_calibration(section: Section, K: int) -> Calibration | None:
    return calibration_files.read(section.part("calibration"), K) if section.has("calibration") else None
