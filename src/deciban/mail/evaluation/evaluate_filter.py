"""Evaluation of a filter on labelled mail: by splits, by cross-validation, or online in order of arrival.

The filter is in memory, and gives the numbers of a store with the same messages: thousands of filters learn and score
in a minute, and none leaves a file behind.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.evaluation import filter_metrics
from deciban.mail.evaluation.filter_metrics import LOST_HAM_COST, FilterMetrics, Thresholds
from deciban.mail.evaluation.labelled_mail import LabelledMail, Sizes, draw_folds, draw_split
from deciban.mail.model import mail_models, threshold_choice, weight_fitting
from deciban.mail.model.mail_models import ALPHA, DEFAULT_MODEL, MessageScores, WeightParameters
from deciban.mail.model.threshold_choice import LABELS, MIN_HAM, UNSURE_CODE, ThresholdChoice, apply_thresholds
from deciban.mail.model.verdicts import Indices, TokenRows, Verdict, VerdictBuilder
from deciban.mail.model.weight_fitting import DEFAULT_FIT_SETTINGS, FitSettings, TrainingMessages
from deciban.mail.store.store_arrays import StoreRows
from deciban.mail.store.store_schema import HAM_AT, ModelName

ALPHA_CANDIDATES: Final = (ALPHA, 0.1, 1.0)
"""The default first: it stays if no other is better."""

CLUES_PER_MISTAKE: Final = 30
"""Clues of each mistake."""

CURVE_STEP: Final = 100
"""Messages of one point of the learning curve."""

UNTRAINED_LOG_ODDS: Final = -1e-12
"""The log-odds of spam while only one label is known: a message of unknown kind is delivered."""

Progress = Callable[[], None]
"""A function that is called after each draw, fold or message of an evaluation."""


class ScoredMessages(NamedTuple):
    """Log-odds of spam of messages, the scores that the threshold for spam is compared with, and verdict codes."""

    scores: Array
    spam_scores: Array
    verdicts: NDArray[Any]


class InMemoryFilter:
    """A filter that learns messages of a collection by their indices, fits weights, and scores other messages."""

    def __init__(
        self, mail: LabelledMail, model: ModelName = DEFAULT_MODEL, settings: FitSettings = DEFAULT_FIT_SETTINGS
    ) -> None:
        self.mail, self.model, self.settings = mail, model, settings
        self.ham_at: float = HAM_AT
        self.spam_at: float | None = None
        self._choice: ThresholdChoice | None = None
        self.refits = 0
        self._known: dict[bytes, int] = {}
        self._counts, self._any = np.zeros((len(mail.words), 2)), np.zeros(len(mail.words))
        self._messages = np.zeros(2)
        self._parameters: WeightParameters | None = None
        self._own = np.zeros((len(mail.words), 1))
        self._since = 0

    def learn(self, rows: Iterable[int] | Indices) -> None:
        """Learn messages; a known one is learned once, one known under another label changes its label."""
        for i in np.asarray(rows).tolist():
            digest = self.mail.digests[i]
            before = self._known.get(digest)
            if before is not None and self.mail.codes[before] == self.mail.codes[i]:
                continue
            if before is not None:
                self._count(self._known.pop(digest), -1)
            self._known[digest] = i
            self._count(i, 1)
            self._since += 1

    def _count(self, i: int, sign: int) -> None:
        """Add a message to the counts (sign 1), or subtract it (-1)."""
        tokens, code = self.mail.tokens[i], self.mail.codes[i]
        self._counts[tokens, code] += sign
        self._any[tokens] += sign
        self._messages[code] += sign

    def is_fit_due(self) -> bool:
        """Return whether a fit is due, as `MailFilter.is_fit_due` does."""
        if self.model == "fisher" or not weight_fitting.has_enough_messages(self._messages.tolist()):
            return False
        return self._parameters is None or weight_fitting.is_growth_due(self._since, self._parameters.messages)

    def refit(self, force: bool = False) -> bool:
        """Fit as `MailFilter.refit` does; return whether the model was fitted."""
        if self.model == "fisher" or not (force or self.is_fit_due()):
            return False
        examples = TrainingMessages.from_rows(self._rows())
        found = weight_fitting.fit(examples, self.model, self.settings) if examples else None
        if examples is None or found is None:
            return False
        self._parameters, self._since = found.parameters, 0
        self._own = np.zeros_like(self._own)
        self._own[examples.numbers, 0] = found.columns[0]
        self.refits += 1
        return True

    def _rows(self) -> StoreRows:
        """Return the learned messages as a store gives them."""
        learned = list(self._known.values())
        tokens = [np.sort(self.mail.tokens[i]) for i in learned]
        n = len(learned)
        return StoreRows(
            label_names=LABELS, labels=self.mail.codes[learned].astype(np.int64), weights=np.ones(n),
            times=np.zeros(n), digests=list(self._known),
            indptr=np.cumsum([0, *map(len, tokens)], dtype=np.int64),
            indices=np.concatenate([np.zeros(0, dtype=np.int64), *tokens]),
            numbers=np.arange(len(self.mail.words)), changes=n,
        )  # fmt: skip

    @property
    def parameters(self) -> WeightParameters:
        """Return the fitted weights, or the initial ones before the first fit."""
        if self._parameters is not None:
            return self._parameters
        first = WeightParameters.initial(LABELS, int(self._messages.sum()))
        chosen = self.settings
        return replace(first, alpha=chosen.alpha, power=chosen.power, cap=chosen.cap, conflict=chosen.conflict)

    @property
    def has_both_labels(self) -> bool:
        """Return whether messages of both labels were learned."""
        return bool(self._messages.all())

    def _score(self, rows: list[int]) -> tuple[MessageScores, Indices]:
        """Return the scores of some messages, and their tokens that are known, message after message."""
        known = [tokens[self._any[tokens] > 0] for tokens in (self.mail.tokens[i] for i in rows)]
        at = np.concatenate([np.zeros(0, dtype=np.int64), *known])
        counts, totals, parameters = self._counts[at], self._messages, self.parameters
        scores = mail_models.token_scores(self.model, counts, totals, parameters, self._own[at])
        sizes, lengths = list(map(len, known)), [len(self.mail.tokens[i]) for i in rows]
        found = mail_models.score_messages(self.model, counts, totals, parameters, scores, sizes, lengths)
        return found, at

    def scores(self, rows: Iterable[int] | Indices) -> Array:
        """Return the log-odds of spam, in nats, of some messages; 0 while only one label is known."""
        wanted = np.asarray(rows).tolist()
        if not self.has_both_labels:
            return np.zeros(len(wanted))
        return np.array([score for (score,) in self._score(wanted)[0].totals])

    @property
    def thresholds(self) -> Thresholds:
        """Return the thresholds as `MailFilter.thresholds` does; they are chosen when they are first needed."""
        if self.spam_at is not None or self._parameters is None or self.model == "fisher":
            return self.ham_at, threshold_choice.resolve_spam_at(self.ham_at, self.spam_at, None)
        n_ham = int(self._messages[0])
        if n_ham >= MIN_HAM and not (self._choice and self._choice.is_recent(n_ham)):
            self._choice = threshold_choice.choose_thresholds(
                self._rows(), 1.0, self.model, self.ham_at, settings=self.settings
            )
        return self.ham_at, threshold_choice.resolve_spam_at(self.ham_at, None, self._choice)

    def judge(self, rows: Iterable[int] | Indices) -> "ScoredMessages":
        """Return the scores and the verdict codes of some messages; unsure while too few were learned."""
        wanted = np.asarray(rows).tolist()
        if self._messages.min() < mail_models.MIN_MESSAGES_PER_LABEL:
            scores = self.scores(wanted)
            return ScoredMessages(scores, scores, np.full(len(wanted), UNSURE_CODE))
        found = self._score(wanted)[0]
        scores, spam_scores = np.array(found.totals)[:, 0], found.spam_scores
        return ScoredMessages(scores, spam_scores, apply_thresholds(scores, self.thresholds, spam_scores))

    def verdict(self, i: int, clues: int) -> Verdict:
        """Return the verdict on a message with its clues; both labels must have been learned."""
        learned = dict(zip(LABELS, map(int, self._messages)))
        found, at = self._score([i])
        builder = VerdictBuilder(learned, self.model, self.thresholds)
        return next(builder.build(found, TokenRows(at, self.mail.words, self._counts), {}, clues))


def train_filter(
    mail: LabelledMail, learn: Indices, model: ModelName, settings: FitSettings = DEFAULT_FIT_SETTINGS
) -> InMemoryFilter:
    """Return a filter that learned some messages and was fitted to them."""
    trained = InMemoryFilter(mail, model, settings)
    trained.learn(learn)
    trained.refit(force=True)
    return trained


def choose_settings(
    mail: LabelledMail, learn: Indices, choose: Indices, model: ModelName, lost_ham_cost: float = LOST_HAM_COST
) -> tuple[InMemoryFilter, dict[float, float]]:
    """Learn some messages with the α and the thresholds that are best on others; return the log-loss of each α too.

    α is chosen by log-loss, which every message contributes to; thresholds by the costs of verdicts.
    """
    codes = mail.codes[choose]
    candidates = ALPHA_CANDIDATES if model in ("evidence", "bayes") else ALPHA_CANDIDATES[:1]
    found = {alpha: train_filter(mail, learn, model, FitSettings(alpha=alpha)) for alpha in candidates}
    scores = {alpha: trained.scores(choose) for alpha, trained in found.items()}
    tried = {alpha: float(filter_metrics.log_losses(scores[alpha], codes == 1).mean()) for alpha in candidates}
    best = min(tried, key=tried.__getitem__)
    found[best].ham_at, found[best].spam_at = filter_metrics.choose_by_cost(scores[best], codes, lost_ham_cost)
    return found[best], tried


@dataclass(frozen=True)
class Mistake:
    """A message on the wrong side of p = ½, with its verdict and clues."""

    name: str
    label: str
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the mistake in the terms of JSON."""
        return {"path": self.name, "label": self.label, **self.verdict.to_dict()}


def find_mistakes(trained: InMemoryFilter, rows: NDArray[Any]) -> tuple[Mistake, ...]:
    """Return the mistakes among some messages, those of largest absolute log-odds first."""
    mail, scores = trained.mail, trained.scores(rows)
    wrong = np.flatnonzero((scores >= 0) != (mail.codes[rows] == 1))
    worst = rows[wrong[np.argsort(-np.abs(scores[wrong]), kind="stable")]].tolist()
    return tuple(Mistake(mail.names[i], LABELS[mail.codes[i]], trained.verdict(i, CLUES_PER_MISTAKE)) for i in worst)


@dataclass(frozen=True)
class SplitReport:
    """The result of learning one part of the mail, choosing settings by another and testing by a third."""

    model: str
    sizes: Sizes
    seed: int
    tried: dict[float, float]
    """The log-loss of each α on the messages to choose by."""
    thresholds: Thresholds
    metrics: FilterMetrics
    mistakes: tuple[Mistake, ...]

    @property
    def alpha(self) -> float:
        """The α that was chosen."""
        return min(self.tried, key=self.tried.__getitem__)

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the terms of JSON."""
        return {
            "model": self.model, "split": list(self.sizes), "seed": self.seed, "alpha": self.alpha,
            "tried": [{"alpha": alpha, "log_loss": loss} for alpha, loss in self.tried.items()],
            "ham_at": self.thresholds[0], "spam_at": self.thresholds[1], **self.metrics.to_dict(),
            "mistakes": [mistake.to_dict() for mistake in self.mistakes],
        }  # fmt: skip


def evaluate_split(
    mail: LabelledMail, sizes: Sizes, seed: int = 0, model: ModelName = DEFAULT_MODEL,
    lost_ham_cost: float = LOST_HAM_COST,
) -> SplitReport:  # fmt: skip
    """Learn, choose settings and test by one random split."""
    learn, choose, test = draw_split(mail.codes, sizes, seed)
    trained, tried = choose_settings(mail, learn, choose, model, lost_ham_cost)
    scored = trained.judge(test)
    metrics = FilterMetrics.compute(scored.scores, mail.codes[test], scored.verdicts)
    return SplitReport(model, sizes, seed, tried, trained.thresholds, metrics, find_mistakes(trained, test))


@dataclass(frozen=True)
class DrawsReport:
    """The results of many random splits."""

    draws: tuple[SplitReport, ...]

    def spread(self, name: str) -> tuple[float, float]:
        """Return mean and standard deviation over the draws of a metric that `FilterMetrics.to_dict` names."""
        values = [draw.metrics.to_dict()[name] for draw in self.draws]
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return means and standard deviations, and every draw, in the terms of JSON."""
        spread = {name: dict(zip(("mean", "deviation"), self.spread(name))) for name in SPREAD}
        return {"draws": len(self.draws), **spread, "each": [draw.to_dict() for draw in self.draws]}


SPREAD: Final = ("error", "one_minus_auc", "log_loss", "ham_lost", "spam_missed", "unsure")
"""The metrics of which reports give mean and standard deviation."""


def evaluate_draws(
    mail: LabelledMail, sizes: Sizes, seeds: Sequence[int], model: ModelName = DEFAULT_MODEL,
    lost_ham_cost: float = LOST_HAM_COST, progress: Progress = lambda: None,
) -> DrawsReport:  # fmt: skip
    """Evaluate one random split for each seed."""
    found = []
    for seed in seeds:
        found.append(evaluate_split(mail, sizes, seed, model, lost_ham_cost))
        progress()
    return DrawsReport(tuple(found))


@dataclass(frozen=True)
class FoldsReport:
    """The result of cross-validation: every message is scored by a filter that learned the other folds."""

    model: str
    folds: int
    seed: int
    metrics: FilterMetrics
    mistakes: tuple[Mistake, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the terms of JSON."""
        report = {"model": self.model, "folds": self.folds, "seed": self.seed, **self.metrics.to_dict()}
        return report | {"mistakes": [mistake.to_dict() for mistake in self.mistakes]}


def evaluate_folds(
    mail: LabelledMail, n_folds: int = 10, seed: int = 0, model: ModelName = DEFAULT_MODEL,
    progress: Progress = lambda: None,
) -> FoldsReport:  # fmt: skip
    """Cross-validate with the default α and thresholds."""
    scores, verdicts = np.zeros(len(mail)), np.zeros(len(mail), dtype=np.int64)
    mistakes: list[Mistake] = []
    for learn, test in draw_folds(mail.codes, n_folds, seed):
        trained = train_filter(mail, learn, model)
        scores[test], _, verdicts[test] = trained.judge(test)
        mistakes += find_mistakes(trained, test)
        progress()
    mistakes.sort(key=lambda mistake: -abs(mistake.verdict.decibans))
    return FoldsReport(model, n_folds, seed, FilterMetrics.compute(scores, mail.codes, verdicts), tuple(mistakes))


class CurvePoint(NamedTuple):
    """A hundred messages or, at the end, fewer, up to the `upto`-th: their numbers, and the numbers of wrong ones."""

    upto: int
    ham: int
    spam: int
    ham_wrong: int
    spam_wrong: int


@dataclass(frozen=True)
class OnlineReport:
    """The result of TREC's protocol: each message is scored by those before it, then learned with its label.

    Until a message of each label was learned, messages count as taken for ham: they would be delivered.
    """

    model: str
    refits: int
    metrics: FilterMetrics
    curve: tuple[CurvePoint, ...]
    scores: Array
    """The log-odds of spam of each message on arrival."""
    spam_scores: Array
    """The scores that the threshold for spam was compared with."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the terms of JSON."""
        curve = [point._asdict() for point in self.curve]
        return {"model": self.model, "refits": self.refits, **self.metrics.to_dict(), "curve": curve}


def evaluate_online(
    mail: LabelledMail, model: ModelName = DEFAULT_MODEL, progress: Progress = lambda: None
) -> OnlineReport:
    """Score and learn message after message, in the order of the collection."""
    trained = InMemoryFilter(mail, model)
    scores, spam_scores, verdicts = np.zeros(len(mail)), np.zeros(len(mail)), np.zeros(len(mail), dtype=np.int64)
    for i in range(len(mail)):
        (scores[i],), (spam_scores[i],), (verdicts[i],) = trained.judge([i])
        if not trained.has_both_labels:
            scores[i] = UNTRAINED_LOG_ODDS
        trained.learn([i])
        trained.refit()
        progress()
    metrics = FilterMetrics.compute(scores, mail.codes, verdicts)
    curve = _compute_curve(scores, mail.codes == 1)
    return OnlineReport(model, trained.refits, metrics, curve, scores, spam_scores)


Report = SplitReport | DrawsReport | OnlineReport | FoldsReport
"""The result of an evaluation by any of these methods."""


def _compute_curve(scores: Array, spam: NDArray[np.bool_]) -> tuple[CurvePoint, ...]:
    """Count messages and wrong ones for each CURVE_STEP messages; the last point may have fewer."""
    wrong = (scores >= 0) != spam
    kinds = np.stack([~spam, spam, ~spam & wrong, spam & wrong], axis=1)
    parts = [kinds[start : start + CURVE_STEP] for start in range(0, len(kinds), CURVE_STEP)]
    ends = np.cumsum([len(part) for part in parts]).tolist()
    return tuple(CurvePoint(end, *part.sum(axis=0).tolist()) for end, part in zip(ends, parts))
