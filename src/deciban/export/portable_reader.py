"""Reading a portable document: a model that predicts and explains as the one that was exported, without its ledger.

Nothing in a document is trusted: every value is read by name, type and bounds.
"""

from __future__ import annotations

import copy
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, ModelFileError, UndefinedError
from deciban.export.portable import FORMAT_NAME, FORMAT_VERSION
from deciban.export.portable_values import read_calibration, read_numbers, read_rising, read_texts
from deciban.ledger import Block, Schema, Vocabulary
from deciban.linear.fitted_model import LEARNERS, Account, FittedModel
from deciban.model.columns import Feature, FeatureBlock, Layout, is_combination
from deciban.model.model import Model
from deciban.model.model_options import Options, parse_class_prior
from deciban.model.unseen_values import UnseenValueMonitor
from deciban.persistence import Section
from deciban.persistence.file_header import parse_json
from deciban.persistence.score_forms import MIN_POSITIVE, read_priors
from deciban.persistence.section import MAX_NUMBER, escape_and_shorten
from deciban.persistence.table_models import TARGET_TYPES, read_column_list
from deciban.scorer import Solved
from deciban.scores import ScoreForm
from deciban.scores.bounded_forms import MAX_FEATURE_EVIDENCE, BoundedDiagonal, BoundedRates, LimitedFull
from deciban.scores.form_algebra import Summed, sum_forms
from deciban.scores.gaussian_forms import Full
from deciban.scores.linear import ImpossibleValues, Linear
from deciban.scores.lookup import Lookup, Steps
from deciban.scores.pair_form import Edges
from deciban.text import Words

MAX_DOCUMENT_BYTES = 1 << 30
"""Largest document that is read."""

NO_LEDGER = (
    "an exported model {what}: it has the scores of what was learned, and not the counts. "
    "Hint: the model file that it was exported from has both"
)

BLOCK_KINDS: Mapping[str, tuple[str, ...]] = {
    "moments": ("gaussian", "linear"),
    "grid": ("bins",),
    "counts": ("poisson", "linear"),
    "levels": ("levels",),
    "scatter": ("joint_gaussian", "linear"),
    "bags": ("text",),
}
"""The kinds of terms that the features of each kind of block may have."""

TERM_KINDS = {"pair", "constant", *(kind for kinds in BLOCK_KINDS.values() for kind in kinds)}
"""The kinds of terms that a document may have."""


class ExportedScorer(FittedModel):
    """The score forms of a portable document; it has no ledger."""

    def refuse_sums(self, what: str) -> NoReturn:
        """Raise an error: an exported model has no sums to add or subtract."""
        raise UndefinedError(NO_LEDGER.format(what=what))


class ExportedModel(Model):
    """A model read from a portable document: it predicts and explains, and neither learns more nor is saved."""

    learner: str = "bayes"
    ranges: dict[str, tuple[float, float]] = {}

    def _make_unseen_monitor(self, numbers: bool = False) -> UnseenValueMonitor:
        """Return a monitor of values that were not learned: of levels and texts."""
        forms = self._scorer.solved.forms if self._layout.texts else ()
        return UnseenValueMonitor(self._layout, self._scorer.level_names, forms)

    @property
    def structure(self) -> dict[str, str]:
        """The column that each dependent column depends on; empty where all are independent given the class."""
        found: dict[str, str] = {}
        for (_, features), form in zip(self._layout.blocks, self._scorer.solved.forms):
            if isinstance(form, Edges):
                pairs = zip(features, form.parent.tolist())
                found |= {feature.name: features[p].name for feature, p in pairs if p >= 0}
        return found

    def with_priors(self, priors: Any) -> Self:
        """Return a model with other class priors: a share for each class, or a name such as 'uniform'."""
        new, scorer = copy.copy(self), self._scorer
        assert isinstance(scorer, FittedModel)
        prior = parse_class_prior(priors, scorer.outline.classes)
        new.options = replace(self.options, prior=prior)
        new._scorer = scorer.with_prior(prior.solve(scorer.rows))
        if self.calibration is not None:
            self.calibration.shift(new._scorer.solved.log_prior)  # refused here, not at the first prediction
        return new

    def __repr__(self) -> str:
        return f"<Model: {self.target} in {self.classes[:5]}, exported>"

    def save(self, path: str | Path) -> None:
        """Raise an error: a model file has the ledger, which a portable document has not."""
        raise UndefinedError(NO_LEDGER.format(what="cannot be saved as a model file"))


def load_json(path: str | os.PathLike[str]) -> ExportedModel:
    """Return the model of a JSON export; raise ModelFileError where the file is not one."""
    name = os.fspath(path)
    try:
        if os.path.getsize(name) > MAX_DOCUMENT_BYTES:
            raise ModelFileError(f"it takes more than {MAX_DOCUMENT_BYTES} bytes")
        document = parse_json(Path(name).read_bytes(), "the document")
    except ModelFileError as error:
        raise ModelFileError(f"cannot read the model file {name!r}: {escape_and_shorten(str(error))}") from None
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {name!r}: {error.strerror or error}") from None
    return read_document(document, name)


def read_document(document: dict[str, Any], name: str = "document") -> ExportedModel:
    """Return the model of a portable document; `name` stands for it in errors."""
    section = Section(document, file=name)
    section.text("format", among=[FORMAT_NAME])
    if section.integer("version", minimum=1) > FORMAT_VERSION:
        section.refuse(
            f"it has version {document['version']}, and this deciban reads {FORMAT_VERSION}. Hint: upgrade"
        )
    columns = read_column_list(section)
    layout = Layout(columns)
    options = _read_options(section, layout)
    scorer = _read_scorer(section, layout, options)
    target_type = section.text("target_type", among=TARGET_TYPES)
    model = ExportedModel(section.text("target"), columns, options, scorer=scorer, target_type=target_type)
    model.learner = section.text("learner", among=["bayes", "aode", *LEARNERS])
    return model


def _read_options(section: Section, layout: Layout) -> Options:
    """Read how unseen levels, markers of missing values and texts are treated."""
    settings = dict(section.part("words").header) if layout.texts else {}
    settings.pop("characters", None)
    try:
        words, markers = Words.from_dict(settings), tuple(read_texts(section, "markers"))
        return Options(unseen=section.text("unseen"), words=words, markers=markers)  # type: ignore[arg-type]
    except InputError as error:
        section.refuse(str(error))


def _read_scorer(section: Section, layout: Layout, options: Options) -> ExportedScorer:
    classes = tuple(read_texts(section, "classes"))
    K = len(classes)
    if not K or len(set(classes)) < K:
        section.refuse("there should be a class, and each once")
    arrays = {
        name: read_numbers(section, name, K, minimum=-np.inf) for name in ("log_prior", "prior", "rows", "bias")
    }
    priors = read_priors(Section({}, arrays, file=section.file), K)
    rows, bias = arrays["rows"], arrays["bias"]
    if rows.min() < 0 or not np.isfinite(rows).all() or not np.isfinite(bias).all():
        section.refuse("'rows' should be numbers ≥ 0, and 'bias' finite")
    terms = section.parts("terms")
    constant = [read_numbers(t, "scores", K) for t in terms if t.text("kind") == "constant"]
    reader = _BlockReader(section, terms, K, options.words, layout)
    blocks, forms = zip(*(reader.read(block) for block in layout.blocks)) if layout.blocks else ((), ())
    needs = options.assumption(layout).needs
    bias = np.sum([bias, *constant], axis=0)
    has_bias = section.text("learner") != "bayes" or bool(constant)
    solved = Solved(*priors, forms, needs, bias if has_bias or bias.any() else None)
    account = Account("logistic")  # not shown: the model names its learner
    calibration = None if section.value("calibration") is None else read_calibration(section.part("calibration"), K)
    return ExportedScorer(Schema(classes, blocks), solved, rows, account, None, calibration)


class _BlockReader:
    """The terms of a document by feature, from which the score form of each block is made."""

    def __init__(self, section: Section, terms: Sequence[Section], K: int, words: Words, layout: Layout) -> None:
        self.section, self.K, self.words, self.cells = section, K, words, layout.cells
        self.pairs = [term for term in terms if term.value("kind") == "pair"]
        self.by_feature: dict[tuple[str, ...], list[Section]] = defaultdict(list)
        for term in terms:
            kind = term.text("kind", among=TERM_KINDS)
            if kind not in ("pair", "constant"):
                names = read_texts(term, "features") if kind == "joint_gaussian" else [term.text("feature")]
                self.by_feature[tuple(names)].append(term)

    def read(self, block: FeatureBlock) -> tuple[Block, ScoreForm]:
        """Return the names and the form of a block; the terms of one kind that its features have make a form each."""
        names = tuple(feature.name for feature in block.features)
        if block.kind == "pairs":
            return Block("pairs", len(names), names), self._read_pairs(names)
        layers: dict[tuple[str, int], dict[int, Section]] = defaultdict(dict)
        keys = [(j, (name,)) for j, name in enumerate(names)] + [(0, names)] * (len(names) > 1)
        for j, key in keys:
            n_terms: dict[str, int] = defaultdict(int)
            for term in self.by_feature.get(key, ()):
                kind = term.text("kind", among=BLOCK_KINDS[block.kind])
                layers[kind, n_terms[kind]][j] = term
                n_terms[kind] += 1
        if not layers:
            self.section.refuse(f"there is no term of {names[0]!r}")
        if block.kind == "bags":
            return self._read_text(layers["text", 0][0])
        if block.kind == "levels":
            return self._read_levels(block.features, layers)
        forms = [getattr(self, f"_read_{kind}")(len(names), terms) for (kind, _), terms in layers.items()]
        kinds = {type(form) for form in forms}
        return Block(block.kind, len(names), names), sum_forms(forms) if len(kinds) == 1 else Summed(tuple(forms))

    def _read_matrix(self, d: int, terms: Mapping[int, Section], key: str, neutral: float, **bounds: float) -> Array:
        """Return a number of each class and feature, K×d; `neutral` for features without a term, or with null."""
        out = np.full((self.K, d), neutral)
        for j, term in terms.items():
            if term.value(key) is not None:
                out[:, j] = read_numbers(term, key, self.K, **bounds)
        return out

    def _read_weights(self, d: int, terms: Mapping[int, Section]) -> Array | None:
        """Return the evidence weight of each feature, 0 for features without a term; None where all are 1."""
        weights = np.zeros(d)
        for j, term in terms.items():
            weights[j] = term.number("weight")
        return None if (weights == 1).all() else weights

    def _read_gaussian(self, d: int, terms: Mapping[int, Section]) -> ScoreForm:
        """Return the form of Gaussian terms; one without a bound has the bound −∞."""
        shares = None
        if any(term.value("shares") is not None for term in terms.values()):
            shares = self._read_matrix(d, terms, "shares", 1.0 / self.K, minimum=0, maximum=1)
            if not np.allclose(shares.sum(axis=0), 1.0, atol=1e-6):
                self.section.refuse("the shares of the classes should add up to 1")
        has_offsets = any(term.value("offset") is not None for term in terms.values())
        log_tail = np.full(d, -np.inf)
        for j, term in terms.items():
            if term.value("floor") is not None:
                log_tail[j] = term.number("floor")
        return BoundedDiagonal(
            self._read_matrix(d, terms, "mean", 0.0),
            self._read_matrix(d, terms, "variance", 1.0, minimum=MIN_POSITIVE),
            self._read_weights(d, terms),
            self._read_matrix(d, terms, "offset", 0.0) if has_offsets else None,
            log_tail=log_tail,
            shares=shares,
        )

    def _read_poisson(self, d: int, terms: Mapping[int, Section]) -> ScoreForm:
        """Return the form of Poisson terms, which have one bound."""
        bounds = {term.number("bound", minimum=0) for term in terms.values()}
        if len(bounds) > 1:
            self.section.refuse("the bounds of all counts should be equal")
        rate = self._read_matrix(d, terms, "rate", 1.0, minimum=0)
        return BoundedRates(rate, bounds.pop(), self._read_weights(d, terms))

    def _read_linear(self, d: int, terms: Mapping[int, Section]) -> ScoreForm:
        """Return the form of linear terms."""
        limits = np.tile([[-MAX_NUMBER], [MAX_NUMBER]], d)
        has_limits = any(term.value("limits") is not None for term in terms.values())
        for j, term in terms.items():
            if term.value("limits") is not None:
                limits[:, j] = read_rising(term, "limits", 2, strict=False)
        has_offsets = any(term.value("offset") is not None for term in terms.values())
        return Linear(
            self._read_matrix(d, terms, "weights", 0.0),
            np.zeros(self.K),
            self._read_matrix(d, terms, "offset", 0.0) if has_offsets else None,
            impossible=self._read_impossible(d, terms),
            limits=limits if has_limits else None,
        )

    def _read_impossible(self, d: int, terms: Mapping[int, Section]) -> ImpossibleValues | None:
        """Return the classes in which a number cannot be other than 0; None where there are none."""
        on = np.zeros((self.K, d))
        for j, term in terms.items():
            flags = term.value("impossible")
            if flags is None:
                continue
            if not isinstance(flags, list) or [type(flag) for flag in flags] != [bool] * self.K:
                term.refuse("'impossible' should be true or false for each class")
            on[:, j] = flags
        return ImpossibleValues(on, np.zeros_like(on)) if on.any() else None

    def _read_bins(self, d: int, terms: Mapping[int, Section]) -> ScoreForm:
        """Return the form of bins; a feature without a term has one bin."""
        cuts, scores = [], []
        for j in range(d):
            own = read_rising(terms[j], "cuts") if j in terms else np.zeros(0)
            cuts.append(own)
            shape = self.K, len(own) + 1
            scores.append(
                read_numbers(terms[j], "scores", *shape, minimum=-np.inf) if j in terms else np.zeros(shape)
            )
        start = np.cumsum([0, *map(len, cuts)], dtype=np.int64)
        return Steps(np.concatenate(cuts), start, np.concatenate(scores, axis=1))

    def _read_joint_gaussian(self, d: int, terms: Mapping[int, Section]) -> ScoreForm:
        """Return the form of joined features, whose covariances must be positive definite."""
        term = terms[0]
        mean = read_numbers(term, "mean", self.K, d)
        covariance = read_numbers(term, "covariance", None, d, d)
        if len(covariance) not in (1, self.K):
            term.refuse("there should be a covariance of each class, or one of all")
        weight = term.number("weight")
        arguments = mean, covariance, None if weight == 1 else weight
        form = Full(*arguments)
        if term.value("limits") is not None:
            limits = read_numbers(term, "limits", 2, d)
            form = LimitedFull(*arguments, limits=limits)
            term.optional(term.number, "bound", minimum=MAX_FEATURE_EVIDENCE, maximum=MAX_FEATURE_EVIDENCE)
        try:
            form.shapes  # noqa: B018
        except InputError:
            term.refuse("a covariance is not positive definite")
        return form

    def _read_pairs(self, names: Sequence[str]) -> ScoreForm:
        """Return the form of features that depend on others, whose cells are those of their columns."""
        place, cells = {name: j for j, name in enumerate(names)}, [list(self.cells[name]) for name in names]
        V = max(map(len, cells)) + 1
        parent, log_ratio = np.full(len(names), -1), np.zeros((self.K, len(names), V, V))
        for term in self.pairs:
            j, p = (place.get(term.text(key), -1) for key in ("feature", "parent"))
            if min(j, p) < 0 or j == p or parent[j] >= 0:
                term.refuse("a feature depends on one other feature that has cells, at most")
            if term.value("cells") != cells[j] or term.value("parent_cells") != cells[p]:
                term.refuse("the cells are not those of the columns")
            parent[j], shape = p, (len(cells[p]) + 1, len(cells[j]) + 1)
            log_ratio[:, j, : shape[0], : shape[1]] = read_numbers(term, "scores", self.K, *shape)
        return Edges(parent, log_ratio)

    def _read_levels(
        self, features: Sequence[Feature], layers: Mapping[tuple[str, int], Mapping[int, Section]]
    ) -> tuple[Block, ScoreForm]:
        """Return the form of levels, in which the scores of several terms of a feature are added."""
        first = layers["levels", 0]
        if len(first) < len(features):
            self.section.refuse("a feature of levels has no term")
        levels = [read_texts(first[j], "levels") for j in range(len(features))]
        for feature, names in zip(features, levels):
            _check_levels(self.section, feature, names)
        scores = [np.zeros((self.K, len(names))) for names in levels]
        unseen = np.zeros((self.K, len(levels)))
        for terms in layers.values():
            for j, term in terms.items():
                if term.value("levels") != levels[j]:
                    term.refuse("the terms of a feature should have equal levels")
                scores[j] += read_numbers(term, "scores", self.K, len(levels[j]), minimum=-np.inf)
                unseen[:, j] += read_numbers(term, "unseen", self.K, minimum=-np.inf)
        offset = np.cumsum([0, *map(len, levels)], dtype=np.int64)
        own = tuple(feature.name for feature in features)
        block = Block("levels", len(levels), own, tuple(map(tuple, levels)))
        return block, Lookup(np.concatenate(scores, axis=1), offset, unseen)

    def _read_text(self, term: Section) -> tuple[Block, ScoreForm]:
        """Return the form of the words of a text; words of which only hashes are kept are numbered."""
        words = None if term.value("words") is None else read_texts(term, "words")
        V = self.words.n_columns if words is None else len(words)
        if (words is None) != (self.words.hashed is not None) or (words and len(set(words)) < V):
            term.refuse("'words' should be all words, each once; or null where only hashes of them are kept")
        weights = read_numbers(term, "weights", self.K, V, minimum=-np.inf)
        vocabulary = None
        if words is not None:
            vocabulary = Vocabulary.of(words)
            weights = weights[:, np.argsort(vocabulary.places(words))] if V else weights
        return Block("bags", V, vocabulary, reading=self.words.reading), _make_linear_form(weights)


def _make_linear_form(weights: Array) -> Linear:
    """Return the linear form of words; a weight of −∞ is a word that is impossible in a class."""
    infinite = np.isneginf(weights)
    impossible = ImpossibleValues(infinite.astype(np.float64), np.zeros(weights.shape)) if infinite.any() else None
    return Linear(np.where(infinite, 0.0, weights), np.zeros(len(weights)), impossible=impossible)


def _check_levels(section: Section, feature: Feature, names: Sequence[str]) -> None:
    """Refuse levels that a feature cannot have."""
    known = feature.fixed_levels
    if len(set(names)) < len(names) or (known and not set(names) <= set(known)):
        section.refuse(f"{feature.name!r} has a level twice, or one that is not a {feature.part}")
    if feature.joined and not all(is_combination(name, len(feature.joined)) for name in names):
        section.refuse(f"{feature.name!r} has a level that is not a combination of levels")
