"""Generative and fitted models in model files: written as sections, and read when they are needed.

A generative model consists of its assumptions (a family for each block, and a class prior), its ledger and its
solution. A fitted model is written with the report of how it was fitted.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from functools import cached_property
from typing import Any

import numpy as np

from deciban.errors import DecibanError
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Block, Ledger, Needs, Schema
from deciban.linear.boosting import Boosted
from deciban.linear.fitted_model import LEARNERS, Account, FittedModel
from deciban.linear.sample_weights import ALGORITHMS
from deciban.persistence import Section, ledgers, score_forms
from deciban.persistence.family_sections import read_class_prior, read_family, write_class_prior, write_family
from deciban.persistence.section import MAX_NUMBER
from deciban.scorer import Scorer, Solved
from deciban.scores import AveragedEdges, Edges, Lookup
from deciban.scores.calibration import Calibration
from deciban.scores.posterior import Novelty
from deciban.sources.arrow_cells import LevelNames

AllowedForms = Mapping[str, tuple[str, ...]]
"""The names of the score forms that each kind of block may have."""


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
        return ledgers.read_ledger(self._section.part("ledger"))

    @cached_property
    def schema(self) -> Schema:
        """The names of classes, features and levels; the statistics are not read."""
        if "ledger" in vars(self):
            return self.ledger.schema
        return ledgers.read_schema(self._section.part("ledger").part("schema"))

    @cached_property
    def outline(self) -> Schema:
        """The names of classes and features; the names of levels, perhaps a million, are not read."""
        schema = self._section.part("ledger").part("schema")
        return Schema(ledgers.read_classes(schema), ledgers.read_blocks(schema, names=True))

    @cached_property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels of each categorical feature, as sequences over the bytes of the file."""
        if "ledger" in vars(self):
            return super().level_names
        schema = self._section.part("ledger").part("schema")
        return [LevelNames(names) for names in ledgers.read_level_arrays(schema)]

    def unsolved(self) -> GenerativeModel:
        """Return the model of the assumption and ledger alone: without stored solution, calibration and novelty."""
        return GenerativeModel(self.assumption, self.ledger)

    @cached_property
    def solved(self) -> Solved:
        """The solution that the file holds, read without the ledger; that of the ledger if the file holds none."""
        if not self._section.has("solved"):
            return self.unsolved().solved
        section, ledger = self._section.part("solved"), self._section.part("ledger")
        schema = ledger.part("schema")
        K, blocks = len(ledgers.read_classes(schema)), ledgers.read_blocks(schema)
        form_sections, statistics = section.parts("forms"), ledger.parts("parts")
        if not len(form_sections) == len(statistics) == len(blocks):
            section.refuse(f"there are {len(form_sections)} score forms for {len(blocks)} blocks of features")
        forms = _read_forms(form_sections, blocks, K, score_forms.SOLVED_FORMS)
        for part, form, family, statistic in zip(form_sections, forms, self.assumption.families, statistics):
            if isinstance(form, Lookup):  # every level that is counted or declared has a score
                sizes = np.diff(statistic.integers("offset", (len(form.offset),)))
                if (np.diff(form.offset) < np.maximum(sizes, family.min_levels or 0)).any():  # type: ignore[attr-defined]
                    part.refuse("fewer levels have scores than were counted or are known to exist")
            if isinstance(form, (AveragedEdges, Edges)) and form.log_ratio.shape[2] != getattr(family, "n_cells", 0):
                part.refuse("the scores of pairs are not those of as many cells as were counted")
        return Solved(*score_forms.read_priors(section, K), forms, self.assumption.needs)

    def __reduce__(self) -> Any:
        return GenerativeModel, (self.assumption, self.ledger, self.calibration, self.novelty)


def write_scorer(scorer: Scorer) -> Section:
    """Return the section of a generative or fitted model."""
    if not isinstance(scorer, FittedModel):
        assert isinstance(scorer, GenerativeModel)
        return _write_generative_model(scorer)
    section = Section().add("learned", write_fitted_model(scorer))
    if scorer.calibration is not None:
        section.add("calibration", score_forms.write_calibration(scorer.calibration))
    if isinstance(scorer, Boosted):
        rounds = Section().put("shares", scorer.shares).put("errors", scorer.errors)
        rounds.add_all("learners", [_write_generative_model(model) for model in scorer.rounds])
        section.add("rounds", rounds)
    if scorer.basis is not None:
        return section.add("basis", _write_generative_model(scorer.basis))
    return section.add("schema", ledgers.write_schema(scorer.schema))


def read_scorer(section: Section) -> Scorer:
    """Read the generative or fitted model of a section."""
    if not section.has("learned"):
        return _read_generative_model(section)
    basis = _read_generative_model(section.part("basis")) if section.has("basis") else None
    schema = ledgers.read_schema(section.part("schema")) if basis is None else basis.outline
    model = read_fitted_model(section.part("learned"), schema, basis)
    if section.has("rounds"):
        model = _read_rounds(section.part("rounds"), model)
    return model.with_maps(calibration=_read_optional_calibration(section, len(schema.classes)))


def _read_rounds(section: Section, fitted: FittedModel) -> Boosted:
    rounds = tuple(map(_read_generative_model, section.parts("learners")))
    widths = [block.width for block in fitted.outline.blocks]
    for model in rounds:
        outline = model.outline
        if outline.classes != fitted.outline.classes or [block.width for block in outline.blocks] != widths:
            section.refuse("a learner has other classes or features than the boosted model")
    if not rounds or fitted.account.settings.get("algorithm") not in ALGORITHMS:
        section.refuse("there should be a learner, and an algorithm that boosts it")
    shares = section.floats("shares", (len(rounds),), minimum=score_forms.MIN_POSITIVE)
    errors = section.floats("errors", (len(rounds),), minimum=0, maximum=1)
    values = {field.name: getattr(fitted, field.name) for field in fields(fitted)}
    return Boosted(**values, rounds=rounds, shares=shares, errors=errors)


def _write_generative_model(model: GenerativeModel) -> Section:
    """Return the section of a generative model: assumption, ledger and, if it can be solved, its solution."""
    assumption, blocks = model.assumption, model.ledger.schema.blocks
    families = [write_family(f, block.width) for f, block in zip(assumption.families, blocks)]
    section = Section().put("missing", assumption.missing).add_all("families", families)
    section.add("prior", write_class_prior(assumption.prior))
    section.add("ledger", ledgers.write_ledger(model.ledger))
    if assumption.pseudo_observations is not None:
        section.add("imagined", ledgers.write_ledger(assumption.pseudo_observations))
    if model.calibration is not None:
        section.add("calibration", score_forms.write_calibration(model.calibration))
    if model.novelty is not None:
        section.add("novelty", score_forms.write_novelty(model.novelty))
    with suppress(DecibanError):  # a ledger that cannot be solved now is solved, or refused, when the file is used
        solved = Section().put("prior", model.solved.prior).put("log_prior", model.solved.log_prior)
        score_forms.read_priors(solved, len(model.solved.prior))
        section.add("solved", solved.add_all("forms", _write_forms(model.solved, blocks)))
    return section


def _write_forms(solved: Solved, blocks: Sequence[Block]) -> list[Section]:
    return [score_forms.write_score_form(form, block.width) for form, block in zip(solved.forms, blocks)]


def _read_forms(parts: Sequence[Section], blocks: Sequence[Block], K: int, among: AllowedForms) -> tuple[Any, ...]:
    """Read the score form of each block, which must be one of those that its kind of block may have."""
    for part, block in zip(parts, blocks):
        part.text("form", among=among[block.kind])
    return tuple(score_forms.read_score_form(part, K, block.width) for part, block in zip(parts, blocks))


def _read_generative_model(section: Section) -> GenerativeModel:
    ledger, parts = section.part("ledger"), section.parts("families")
    schema = ledger.part("schema")
    K, blocks = len(ledgers.read_classes(schema)), ledgers.read_blocks(schema)
    if len(parts) != len(blocks):
        section.refuse(f"there are {len(parts)} families for {len(blocks)} blocks of features")
    families = tuple(read_family(part, block.width) for part, block in zip(parts, blocks))
    for part, needs, block in zip(parts, (family.needs() for family in families), blocks):
        if (needs.kind, needs.reading) != (block.kind, block.reading):
            part.refuse(f"it takes {needs.kind} of {needs.reading}, not {block.kind} of {block.reading}")
    imagined = ledgers.read_ledger(section.part("imagined")) if section.has("imagined") else None
    prior = read_class_prior(section.part("prior"), K)
    missing = section.text("missing", among=["skip", "error"])
    calibration = _read_optional_calibration(section, K)
    novelty = score_forms.read_novelty(section.part("novelty")) if section.has("novelty") else None
    return StoredGenerativeModel(Assumption(families, prior, imagined, missing), section, calibration, novelty)


def _read_optional_calibration(section: Section, K: int) -> Calibration | None:
    return score_forms.read_calibration(section.part("calibration"), K) if section.has("calibration") else None


def write_fitted_model(model: FittedModel) -> Section:
    """Return the section of a fitted model: forms, priors, intercepts, needs, weight of the rows by class, report.

    The section is read back once, so that no model is written that could not be read. The caller writes the schema,
    or the generative model that it is based on.
    """
    solved = model.solved
    assert solved.bias is not None
    section = Section().put("rows", model.rows).put("prior", solved.prior)
    section.put("log_prior", solved.log_prior).put("bias", solved.bias)
    section.add_all("forms", _write_forms(solved, model.outline.blocks))
    needs = [{name: getattr(n, name) for name in ("signed", "skips", "unit", "threshold")} for n in solved.needs]
    parts = [Section().put_all({name: v for name, v in values.items() if v is not None}) for values in needs]
    section.add_all("needs", parts)
    section.add("account", _write_account(model.account))
    read_fitted_model(section, model.outline)
    return section


def read_fitted_model(section: Section, schema: Schema, basis: GenerativeModel | None = None) -> FittedModel:
    """Read a model that was fitted to the classes and blocks of features of this schema."""
    K, blocks = len(schema.classes), schema.blocks
    rows = section.floats("rows", (K,), minimum=0, maximum=MAX_NUMBER)
    if not rows.any():
        section.refuse("there are no rows of any class")
    priors = score_forms.read_priors(section, K)
    forms, needs = section.parts("forms"), section.parts("needs")
    if not len(forms) == len(needs) == len(blocks):
        section.refuse(f"there are {len(forms)} score forms and {len(needs)} needs for {len(blocks)} blocks")
    solved = Solved(
        *priors,
        _read_forms(forms, blocks, K, score_forms.FITTED_FORMS),
        tuple(_read_needs(part, block) for part, block in zip(needs, blocks)),
        section.floats("bias", (K,)),
    )
    return FittedModel(schema, solved, rows, _read_account(section.part("account")), basis)


def _read_needs(section: Section, block: Block) -> Needs:
    """Read how the values of a block are read: threshold, sign, missing values and unit; the kind is the block's."""
    threshold = section.optional(section.number, "threshold", -np.inf, np.inf)
    flags = {name: section.flag(name) for name in ("signed", "skips", "unit")}
    return Needs(block.kind, threshold, **flags, words=block.reading if block.kind == "bags" else "")


def _write_account(account: Account) -> Section:
    """Return the section of the report of a fit; evidence weights have the key "trust" in files."""
    values = asdict(account)
    weights, settings = values.pop("trust"), values.pop("settings")
    section = Section().add("settings", Section().put_all(settings)).put_all(values)
    if weights is not None:
        section.put_texts("trusted", list(weights)).put("trust", np.array(list(weights.values()), dtype=np.float64))
    return section


def _read_account(section: Section) -> Account:
    learner: Any = section.text("learner", among=LEARNERS)
    settings = section.part("settings")
    for name, value in settings.header.items():
        if value is not None and not isinstance(value, (bool, int, float, str)):
            settings.refuse(f"the setting {name!r} is not a plain value")
    weights = None
    if section.has("trust"):
        names = section.texts("trusted")
        weights = dict(zip(names, section.floats("trust", (len(names),)).tolist()))
    return Account(
        learner,
        {name: np.inf if value == "inf" else value for name, value in settings.header.items()},
        section.number("objective", -np.inf, np.inf, allow_nan=True),
        section.number("loss", -np.inf, np.inf, allow_nan=True),
        section.integer("n_iter"),
        section.flag("converged"),
        section.flag("separable"),
        section.integer("n_parameters"),
        weights,
    )
