"""Boosted naive Bayes: one generative model per round, each on rows weighted by the errors of those before it."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array, Codes
from deciban.errors import DecibanWarning, InputError, UndefinedError, renumber_rows
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Ledger, Schema
from deciban.ledger.statistic import place_classes
from deciban.linear.fitted_model import Account, FittedModel
from deciban.linear.sample_weights import ALGORITHMS, WEIGHTINGS, Algorithm, RoundResult, select_class_scores
from deciban.scores import DECIBAN, Boundary, Conic, Explanation, finish
from deciban.scores.form_algebra import scale_form, sum_forms
from deciban.scores.posterior import Finish, normalise

NO_FORM_OF_VOTES = (
    "learners that vote have no {what}: a vote jumps where the learner's prediction changes. "
    "Hint: algorithm='logistic', or 'SAMME.R', adds the learners' scores; explain(X) shows each learner's vote"
)

NO_BETTER_THAN_CHANCE = (
    "the first learner is no better than chance (error {error:.3g}, {K} classes), so there is nothing to build on: "
    "the model is that learner alone. Hint: other columns, or another learner"
)


@dataclass(frozen=True, eq=False)
class Boosted(FittedModel):
    """The learners of all rounds in order, with their shares and errors.

    Where the learners' scores are added, `solved` is their sum: one form for each block, with all the methods of a
    form. Where they vote its forms are zero, and the votes are counted.
    """

    rounds: tuple[GenerativeModel, ...] = ()
    shares: Array = field(default_factory=lambda: np.zeros(0))
    errors: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def combine(
        cls,
        schema: Schema,
        rounds: Sequence[GenerativeModel],
        shares: Array,
        errors: Array,
        rows: Array,
        account: Account,
        basis: GenerativeModel | None = None,
    ) -> "Boosted":
        """Combine the learners of these rounds into one model; `rows` is the weight of each class.

        `account.settings` name the algorithm; `basis` is kept as it is.
        """
        algorithm = cast(Algorithm, account.settings["algorithm"])
        if algorithm == "SAMME":
            forms, bias = [scale_form(form, 0.0) for form in rounds[0].solved.forms], np.zeros(len(rows))
        else:
            weights = compute_learner_weights(algorithm, shares, len(rows))
            by_block = zip(*(model.solved.forms for model in rounds))
            forms = [sum_forms([scale_form(form, t) for form, t in zip(same, weights)]) for same in by_block]
            bias = np.stack([b.solved.log_prior for b in rounds]).T @ weights
        solved = FittedModel.of(schema, forms, rounds[0].solved.needs, bias, rows, account).solved
        return cls(schema, solved, rows, account, basis, rounds=tuple(rounds), shares=shares, errors=errors)

    @property
    def algorithm(self) -> Algorithm:
        """SAMME, SAMME.R or logistic."""
        return cast(Algorithm, self.account.settings["algorithm"])

    @property
    def is_voting(self) -> bool:
        """Whether the learners vote; otherwise their scores are added."""
        return self.algorithm == "SAMME"

    def iterate_scores(self, parts: Sequence[Any], threads: int) -> Iterator[Array]:
        """Yield the scores of all classes after each round, n×K."""
        scores = RunningScores(self.algorithm, parts[0].shape[0], len(self.rows))
        for model, share in zip(self.rounds, self.shares.tolist()):
            yield scores.add(model, share, parts, threads)

    def _apply(self, parts: Sequence[Any], log_prior: Array, wanted: Finish, threads: int) -> NDArray[Any]:
        if not self.is_voting:
            return super()._apply(parts, log_prior, wanted, threads)
        *_, counted = self.iterate_scores(parts, threads)
        return finish(counted + self.solved.start(log_prior), log_prior, wanted)[0]

    def _explain_pair(
        self, parts: Sequence[Any], labels: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp], threads: int
    ) -> Explanation:
        """See `Scorer.explain`; where learners vote there is an entry for each round."""
        if not self.is_voting:
            return super()._explain_pair(parts, labels, k, l, threads)
        winners = np.stack([model.scores(parts, "winner", threads) for model in self.rounds], axis=1)
        names = [f"round {m}" for m in range(1, len(self.rounds) + 1)]
        with np.errstate(over="ignore", invalid="ignore"):
            each = compute_learner_weights("SAMME", self.shares, len(labels)) * DECIBAN
            evidence = each * (winners == k[:, None]) - each * (winners == l[:, None])
            start = self.solved.start(self.solved.log_prior) * DECIBAN
            prior = start[k] - start[l]
            return Explanation(evidence, prior, prior + evidence.sum(axis=1), labels[k], labels[l], names)

    def boundary(self) -> Boundary:
        """See `Scorer.boundary`."""
        if self.is_voting:
            raise UndefinedError(NO_FORM_OF_VOTES.format(what="weights"))
        return super().boundary()

    def conic(self) -> Conic:
        """See `Scorer.conic`."""
        if self.is_voting:
            raise UndefinedError(NO_FORM_OF_VOTES.format(what="quadratic form"))
        return super().conic()


class RunningScores:
    """The scores of rows after some rounds."""

    def __init__(self, algorithm: Algorithm, n: int, n_classes: int) -> None:
        self._algorithm, self._shares = algorithm, 0.0
        self._total: Array = np.zeros((n, n_classes))

    def add(self, model: GenerativeModel, share: float, parts: Sequence[Any], threads: int) -> Array:
        """Add one learner with this share; return the scores of all classes by all learners so far, n×K, in nats."""
        if self._algorithm == "SAMME":
            winner = model.scores(parts, "winner", threads)
            self._total[np.arange(len(winner)), winner] += share
        else:
            self._total += share * model.scores(parts, "joint", threads)
        self._shares += share
        return self._total * compute_score_per_share(self._algorithm, self._shares, self._total.shape[1])


def compute_score_per_share(algorithm: Algorithm, total_share: float, n_classes: int) -> float:
    """Return the score of a share of 1 where all shares sum to `total_share`; p is the softmax of the scores.

    Votes: p ∝ exp f/(K − 1), f the mean of 1 for the class voted for and −1/(K − 1) for the others, as in
    scikit-learn. Scores: their mean, so that p is the geometric mean of the learners'. Fitted shares count unchanged.
    """
    if algorithm == "logistic":
        return 1.0
    K = max(n_classes, 2)
    return (K / (K - 1) ** 2 if algorithm == "SAMME" else 1.0) / total_share


def compute_learner_weights(algorithm: Algorithm, shares: Array, n_classes: int) -> Array:
    """Return the weight of each learner in the score."""
    return shares * compute_score_per_share(algorithm, float(shares.sum()), n_classes)


class Examples(NamedTuple):
    """Rows in memory: a matrix for each block, class codes, weights, and for rows that were taken their numbers."""

    parts: Sequence[Any]
    codes: Codes
    weight: Array | None
    number: NDArray[np.intp] | None = None

    @property
    def weights(self) -> Array:
        """The weights as an array."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    def take(self, index: NDArray[np.intp]) -> "Examples":
        """Return these rows only.

        >>> rows = Examples([np.eye(5)], np.zeros(5, dtype=np.int32), None)
        >>> rows.take(np.array([1, 3])).take(np.array([1])).number.tolist()
        [3]
        """
        weight = None if self.weight is None else self.weight[index]
        number = index if self.number is None else self.number[index]
        return Examples([X[index] for X in self.parts], self.codes[index], weight, number)


@dataclass(frozen=True)
class BoostingSettings:
    """The algorithm, the greatest number of rounds, and the fraction of each learner's share that is used.

    With rows held out (`held`) boosting stops after `n_iter_no_change` rounds without a lower loss of theirs, and the
    rounds after the minimum are dropped: the loss is their error where learners vote, else their log-loss. No result
    depends on the number of `threads`.
    """

    algorithm: Algorithm = "logistic"
    rounds: int = 10
    rate: float = 0.3
    held: Examples | None = None
    n_iter_no_change: int = 5
    threads: int = 1

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            names = ", ".join(map(repr, ALGORITHMS))
            raise InputError(f"algorithm is one of {names}, not {self.algorithm!r}. Hint: algorithm='logistic'")
        if self.rounds < 1 or not 0 < self.rate < np.inf:
            raise InputError(
                f"boosting takes rounds ≥ 1 and a finite rate > 0, not rounds={self.rounds} and rate={self.rate}. "
                f"Hint: rounds=10, rate=0.3"
            )


def boost(
    assumption: Assumption,
    schema: Schema,
    rows: Examples,
    settings: BoostingSettings,
    basis: GenerativeModel | None = None,
) -> Boosted:
    """Boost generative models of one block of features or more: each round is one weighted ledger.

    The rows have the same total weight in every round, so that a pseudo-count has the same effect in all. The loss of
    the account is that of the rows held out, NaN without them; `basis` is kept in the model as it is.
    """
    by_class = np.bincount(rows.codes, weights=rows.weight, minlength=len(schema.classes)).astype(np.float64)
    if settings.algorithm != "SAMME" and not by_class.all():  # ln 0 has no mean, but votes can be counted
        return replace(_boost_seen_classes(assumption, schema, rows, settings, by_class), basis=basis)
    done = list(_iterate_rounds(assumption, schema, rows, settings))
    losses = [loss for _, _, loss in done if loss is not None]
    if losses:
        done = done[: int(np.argmin(losses)) + 1]
    models, results = [model for model, _, _ in done], [result for _, result, _ in done]
    shares, errors = np.array([r.share for r in results]), np.array([r.error for r in results])
    values = {"algorithm": settings.algorithm, "rounds": settings.rounds, "rate": float(settings.rate)}
    n_parameters = sum(model.n_parameters + 1 for model in models)
    loss = min(losses, default=np.nan)
    account = Account("boosted", values, loss=loss, n_iter=len(models), n_parameters=n_parameters)
    return Boosted.combine(schema, models, shares, errors, by_class, account, basis)


def trace_losses(assumption: Assumption, schema: Schema, rows: Examples, settings: BoostingSettings) -> Array:
    """Return the weighted losses of the held-out rows: first by naive Bayes, then after each round; (1 + rounds)×n.

    Where boosting ends before the last round, the later ones have the losses of its end. The rows that learn are
    `rows`, those held out `settings.held`, which never stop the boosting here.
    """
    held, threads = settings.held, settings.threads
    assert held is not None
    alone = GenerativeModel(assumption, summarise_weighted(assumption, schema, rows, rows.weight, threads))
    losses = [_compute_row_losses(alone.scores(held.parts, "joint", threads), held, settings)]
    scores = RunningScores(settings.algorithm, len(held.codes), len(schema.classes))
    for model, result, _ in _iterate_rounds(assumption, schema, rows, replace(settings, held=None)):
        losses.append(_compute_row_losses(scores.add(model, result.share, held.parts, threads), held, settings))
    return held.weights * np.stack(losses + [losses[-1]] * (settings.rounds + 1 - len(losses)))


def use_one_learner(
    assumption: Assumption, schema: Schema, rows: Examples, settings: BoostingSettings, basis: GenerativeModel
) -> Boosted:
    """Return naive Bayes as a boosted model of one learner, whose score counts fully."""
    model = GenerativeModel(assumption, summarise_weighted(assumption, schema, rows, rows.weight, settings.threads))
    values = {"algorithm": settings.algorithm, "rounds": settings.rounds, "rate": float(settings.rate)}
    account = Account("boosted", values, n_iter=1, n_parameters=model.n_parameters + 1)
    by_class = model.ledger.rows
    return Boosted.combine(schema, [model], np.ones(1), np.zeros(1), by_class, account, basis)


def narrow_classes(schema: Schema, rows: Examples, by_class: Array) -> tuple[Schema, Examples]:
    """Return schema and rows with the classes of positive weight alone; `by_class` is the weight of each class.

    Rows of the other classes get the code of one that is left, and weight 0.
    """
    unseen = by_class[rows.codes] == 0
    weight = np.where(unseen, 0.0, rows.weights) if unseen.any() else rows.weight
    code = np.maximum(np.cumsum(by_class > 0).astype(np.int32) - np.int32(1), 0)
    seen = tuple(name for name, weight in zip(schema.classes, by_class) if weight > 0)
    return Schema(seen, schema.blocks), rows._replace(codes=code[rows.codes], weight=weight)


def _boost_seen_classes(
    assumption: Assumption, schema: Schema, rows: Examples, settings: BoostingSettings, by_class: Array
) -> Boosted:
    """Boost the classes that have rows; in each learner the others are classes without counts."""
    seen, K = np.flatnonzero(by_class), len(schema.classes)
    narrow, own = narrow_classes(schema, rows, by_class)
    held = None if settings.held is None else narrow_classes(schema, settings.held, by_class)[1]
    some = boost(assumption, narrow, own, replace(settings, held=held))
    wide = [
        Ledger(
            replace(model.ledger.schema, classes=schema.classes),
            place_classes(model.ledger.rows, seen, K),
            tuple(part.map_classes(seen, K) for part in model.ledger.parts),
        )
        for model in some.rounds
    ]
    models = [GenerativeModel(assumption, ledger) for ledger in wide]
    return Boosted.combine(schema, models, some.shares, some.errors, by_class, some.account)


def _iterate_rounds(
    assumption: Assumption, schema: Schema, rows: Examples, settings: BoostingSettings
) -> Iterator[tuple[GenerativeModel, RoundResult, float | None]]:
    """Yield the learner of each round, its result, and the mean loss of the held-out rows (None without any).

    It ends after the last round, where a learner is useless or leaves nothing to learn, or where the loss has not
    fallen for `n_iter_no_change` rounds. If the first learner is useless, it is yielded alone, with a warning.
    """
    K, mass, threads = len(schema.classes), float(rows.weights.sum()), settings.threads
    weighting = WEIGHTINGS[settings.algorithm](rows.codes, rows.weights, K, settings.rate)
    steps = settings.rounds * K * sum(int(np.prod(block.shape)) for block in rows.parts)
    held, losses = settings.held, list[float]()
    held_scores = None if held is None else RunningScores(settings.algorithm, len(held.codes), K)
    for m in range(settings.rounds):
        weight = rows.weight if m == 0 else weighting.weight * mass
        with (
            renumber_rows(rows.number),
            engines.part_of_work(steps),
        ):  # each pass may be small where all of them together are not
            model = GenerativeModel(assumption, summarise_weighted(assumption, schema, rows, weight, threads))
            result = weighting.update(model, rows.parts, threads)
        if not result.keep:
            if m == 0:
                warnings.warn(NO_BETTER_THAN_CHANCE.format(error=result.error, K=K), DecibanWarning, stacklevel=3)
                yield model, result._replace(share=1.0), None  # a single learner has the score alone
            return
        if held is not None and held_scores is not None:
            with renumber_rows(held.number):
                scores = held_scores.add(model, result.share, held.parts, threads)
            each = _compute_row_losses(scores, held, settings)
            losses.append(float(np.average(each, weights=held.weights)))
        yield model, result, losses[-1] if losses else None
        if not result.more or (losses and len(losses) - 1 - int(np.argmin(losses)) >= settings.n_iter_no_change):
            return


def _compute_row_losses(scores: Array, rows: Examples, settings: BoostingSettings) -> Array:
    """Compute each row's log-loss in nats; where learners vote, 1 if it is predicted wrongly, else 0."""
    if settings.algorithm == "SAMME":
        return (scores.argmax(axis=1) != rows.codes).astype(np.float64)
    losses: Array = -select_class_scores(normalise(scores), rows.codes)
    return losses


def iterate_weights(model: Boosted, rows: Examples, rate: float, threads: int) -> Iterator[Array]:
    """Yield the weights of the rows in each round, which add up to one.

    They are computed again from the rows and the learners, so that a model need not keep rounds × rows of them;
    `rate` is that of the boosting.
    """
    weighting = WEIGHTINGS[model.algorithm](rows.codes, rows.weights, len(model.rows), rate)
    for learner in model.rounds:
        yield weighting.weight / weighting.weight.sum()
        if not weighting.update(learner, rows.parts, threads).more:
            return


def summarise_weighted(
    assumption: Assumption, schema: Schema, rows: Examples, weight: Array | None, threads: int
) -> Ledger:
    """Summarise these rows, with `weight` in place of their own weights, into a ledger without names of levels."""
    K = len(schema.classes)
    blocks = tuple(replace(block, levels=None) for block in schema.blocks)
    by_class = np.bincount(rows.codes, weights=weight, minlength=K).astype(np.float64)
    sums = [  # of words both their sums and their documents
        engines.summarise_bags(X, rows.codes, weight, K, threads)
        if needs.kind == "bags"
        else engines.summarise(needs, X, rows.codes, weight, K, threads)
        for needs, X in zip(assumption.needs, rows.parts)
    ]
    return Ledger(Schema(schema.classes, blocks), by_class, tuple(sums))
