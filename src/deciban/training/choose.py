"""`choose`: cross-validation of many settings from the same ledgers of folds, and the best of them.

The rows of each fold are scored under every setting from the ledger of all other rows: the settings of `train` in a
grid, covariances of `GaussianBayes` for tables of numbers, and events of `TextClassifier` for tables of one text.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np

from deciban import engines
from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError
from deciban.families.family import ClassPrior, Family, log
from deciban.families.gaussian import Covariance, Gaussian
from deciban.families.marginal_likelihood import best_alpha, with_alpha
from deciban.families.text_family import Text, compute_idf
from deciban.ledger import Bags, Ledger
from deciban.ledger.schema import Kind
from deciban.metrics.choice import Choice, Setting, SettingComparison
from deciban.model.columns import OPEN_ROLES, Layout
from deciban.model.model_options import Options
from deciban.model.summarise_table import FoldAssigner, Progress, Rows
from deciban.scores.posterior import finish
from deciban.training.column_roles import decide
from deciban.training.evaluate import Split
from deciban.training.table_folds import rescale_texts, select_columns
from deciban.training.task import TABLE_PARAMETERS, Task, check_fold_settings
from deciban.training.train import Trained, train_task
from deciban.validation.fold_models import ledgers_excluding_each
from deciban.validation.splits import check_n_folds

VARIED_SETTINGS = ("alpha", "numbers", "parameter_prior", "prior", "words")
"""The settings that are varied, unless they are given."""

TRIED_ALPHAS = ("auto", 0.01, 0.1, 0.3, 1.0, 3.0)
TRIED_PARAMETER_PRIORS = (1.0, 0.1, 10.0)
TRIED_CLASS_PRIORS = (None, "uniform")
TRIED_SHRINKAGES = (None, 0.1, 0.3, 0.5, "oas")
TRIED_TEXT_ALPHAS = (1.0, 0.1, 0.01, "auto")

MAX_COMOMENTS = 1 << 24
"""The number of co-moments that the ledgers of all folds and classes may hold together."""

ScoredSettings = Iterator[tuple[Setting, Array, Array]]
"""Settings, and ln p(x|k) of a fold's rows and ln π_k under each."""


@document(TABLE_PARAMETERS)
def choose(
    source: Any = None,
    *,
    target: str | int,
    folds: int = 10,
    groups: str | None = None,
    sql: str | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Choice:
    """Choose the best settings of `train` for a table, by the rows that each fold's model has not learned.

    The search varies pseudo-counts (`alpha`), numbers as Gaussians, in bins or by the better of both (`numbers`),
    prior rows of Gaussians (`parameter_prior`), class priors, of texts counts or presence; for a table of numbers
    only also every covariance of `GaussianBayes`, for one text also the events and idf of `TextClassifier`. Nothing
    is counted again: the ledgers of the folds, from one reading (for covariances two), are solved for each setting.
    All rows are scored, of more than 100 000 a sample of that size.

    Parameters
    ----------
    folds : int
        The number of folds.
    **settings
        Further arguments of `train`: those that are given are not varied.

    Returns
    -------
    Choice
        All settings with their figures, and the recommended one.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sour": ["no", "yes"] * 20, "fruit": ["plum", "lemon"] * 20}
    >>> choice = deciban.choose(taste, target="fruit", prior="uniform")
    >>> choice.best, choice.estimator, len(choice.results)
    ({'alpha': 0.01}, 'train', 6)
    """
    if settings.get("learner", "bayes") != "bayes":
        raise InputError(
            f"choose tries the settings of naive Bayes, not of learner={settings['learner']!r}. "
            f"Hint: deciban compare (deciban.compare) tries learners, and chooses their penalties"
        )
    split, options = Split(check_n_folds(folds), groups), check_fold_settings("choose", settings)
    trained, _ = split.train(split.plan(source, target=target, sql=sql, weights=weights, **options), progress)
    free = {name for name in VARIED_SETTINGS if settings.get(name) is None}
    if settings.get("like") is not None:
        free &= {"prior"}
    task = trained.task
    searches: list[Callable[[HeldOutFold], ScoredSettings]] = [lambda held: _SettingScorer(task, held).score(free)]
    notes: list[str] = []
    if "numbers" in free and "parameter_prior" in free:
        covariances = CovarianceScorer.of(trained, split.assign(task), progress, notes)
        searches += [covariances.score] if covariances else []
    if "alpha" in free and "words" in free and [c.role for c in task.columns if c.role != "skip"] == ["text"]:
        searches.append(lambda held: score_text_events(held, task.options))
    return _compare_settings(trained, searches, notes)


def _compare_settings(
    trained: Trained, searches: "Sequence[Callable[[HeldOutFold], ScoredSettings]]", notes: Sequence[str]
) -> Choice:
    """Score every fold by all searches, and return the comparison of the settings over all folds."""
    sample = trained.sample
    assert sample is not None
    assert sample.fold is not None
    words = trained.model.options.words
    comparison = SettingComparison(trained.model.classes)
    for f, ledger in enumerate(ledgers_excluding_each(trained.folds)):
        rows = sample[np.flatnonzero(sample.fold == f)]
        if len(rows.codes):
            held = HeldOutFold(f, ledger.effective, rescale_texts(rows, ledger, words))
            scored = (
                (setting, finish(scores + log_prior, log_prior, "log_posterior")[0])
                for search in searches
                for setting, scores, log_prior in search(held)
            )
            comparison.add_fold(scored, rows.codes, rows.weight, held.ledger.rows > 0)
    which = trained.describe_sample(len(sample.codes))
    return comparison.choice(f"{len(trained.folds)}-fold: {which}, each scored by models without its fold", notes)


@dataclass(frozen=True)
class HeldOutFold:
    """A fold whose rows are scored by models of all other rows."""

    fold: int
    ledger: Ledger
    """The ledger of all other rows."""
    rows: Rows


def vary_settings(task: Task, free: set[str]) -> Iterator[tuple[Setting, str | None, Options]]:
    """Yield each setting of `train` once, with the role of open numbers (None: the best) and the setting's options.

    The default comes first. Settings in `free` are varied, if the table has a use for them.
    """
    given, roles = task.options, {column.role for column in task.columns}
    has_open, fixed = bool(roles & set(OPEN_ROLES)), roles - {"skip", *OPEN_ROLES}
    has_counts, has_gaussians = has_open or bool(fixed - {"number"}), has_open or "number" in fixed
    has_texts = task.layout.texts and given.words.values == "counts" and given.words.length is None
    is_prior_free = "parameter_prior" in free and has_gaussians
    candidates: dict[str, Sequence[Any]] = {
        "numbers": (None, "number", "binned") if "numbers" in free and has_open else (None,),
        "alpha": TRIED_ALPHAS if "alpha" in free and has_counts else (given.alpha,),
        "parameter_prior": TRIED_PARAMETER_PRIORS if is_prior_free else (given.parameter_prior,),
        "prior": TRIED_CLASS_PRIORS if "prior" in free else (None,),
        "words": (given.words, *([replace(given.words, values="presence")] if "words" in free and has_texts else [])),
    }
    for values in product(*candidates.values()):
        setting = dict(zip(candidates, values))
        is_changed = {name: value != candidates[name][0] for name, value in setting.items()}
        role, prior = setting["numbers"], setting["prior"]
        if role == "number" and not fixed - {"number"} and is_changed["alpha"]:
            continue  # Gaussians alone have no pseudo-count
        if role == "binned" and "number" not in fixed and is_changed["parameter_prior"]:
            continue
        class_prior = given.prior if prior is None else ClassPrior(prior)
        chosen = {name: setting[name] for name in ("alpha", "parameter_prior", "words")}
        options = replace(given, prior=class_prior, **chosen)
        order = ("numbers", "alpha", "prior", "parameter_prior", "words")
        yield Setting({name: setting[name] for name in order if is_changed[name]}), role, options


class _DecidedBlocks(NamedTuple):
    """Columns whose roles are decided: their layout, their statistics, and the fold's rows as matrices."""

    roles: tuple[str, ...]
    layout: Layout
    statistics: Sequence[Any]
    matrices: Sequence[Any]


class _SettingScorer:
    """The scores of a fold's rows under many settings; what two settings share is decided and scored once."""

    def __init__(self, task: Task, held: HeldOutFold) -> None:
        self.task, self.held = task, held
        self._decisions: dict[Any, _DecidedBlocks] = {}
        self._scores: dict[Any, Array] = {}

    def score(self, free: set[str]) -> ScoredSettings:
        """Score the rows of the fold under every setting of `train`; the settings in `free` are varied."""
        for setting, role, options in vary_settings(self.task, free):
            yield setting, self.joint(role, options), log(options.prior.solve(self.held.ledger.rows))

    def _decide(self, role: str | None, options: Options) -> _DecidedBlocks:
        """Return the blocks after open roles are decided: all as `role`, or each as the counts suggest (None)."""
        key = role or (options.pseudo_count, options.parameter_prior)
        if key not in self._decisions:
            forced = {}
            if role is not None:
                open_columns = [column for column in self.task.columns if column.role in OPEN_ROLES]
                forced = {column.name: replace(column, role=role) for column in open_columns}  # type: ignore[arg-type]
            columns, kept, _ = decide(self.task.layout, self.held.ledger, options, forced)
            statistics = self.held.ledger.choose(kept).parts
            roles, matrices = tuple(column.role for column in columns), select_columns(self.held.rows, kept).parts
            self._decisions[key] = _DecidedBlocks(roles, Layout(tuple(columns)), statistics, matrices)
        return self._decisions[key]

    def joint(self, role: str | None, options: Options) -> Array:
        """Return ln p(x|k) of every row, all blocks together; `role` is that of open numbers, None for the best."""
        decided = self._decide(role, options)
        total = np.zeros((len(self.held.rows.codes), len(self.held.ledger.rows)))
        families = options.assumption(decided.layout).families
        for b, (group, family) in enumerate(zip(decided.layout.blocks, families)):
            key = (decided.roles, b, _select_relevant_options(group.kind, options))
            if key not in self._scores:
                statistic, X = decided.statistics[b], decided.matrices[b]
                if isinstance(statistic, Bags) and options.words.values == "presence" and not statistic.presence:
                    statistic, X = Bags(statistic.documents, statistic.documents), X.copy()
                    X.data = np.ones_like(X.data)
                self._scores[key] = _score(family, statistic, X)
            total += self._scores[key]
        return total


def _select_relevant_options(kind: Kind, options: Options) -> Any:
    """Return the options that change the score of a block."""
    if kind in ("moments", "scatter"):
        return options.parameter_prior
    return (options.alpha, options.words.values) if kind == "bags" else options.alpha


def _score(family: Family, statistic: Any, X: Any, auto: bool = False) -> Array:
    """Return ln p(x|k) of rows under a statistic of others; `auto` chooses the pseudo-count."""
    solved = with_alpha(family, best_alpha(family, statistic)) if auto else family
    form, no_prior = solved.solve(statistic), np.zeros(statistic.n_classes)
    return engines.apply((form,), (X,), (solved.needs(),), no_prior, "joint", engines.thread_count(None))


@dataclass(frozen=True)
class CovarianceScorer:
    """The ledgers of all folds but each with the co-moments of their columns, in the order of their names."""

    ledgers: Sequence[Ledger]
    order: Sequence[int]
    prior: ClassPrior

    @classmethod
    def of(
        cls, trained: Trained, assign: FoldAssigner, progress: Progress | None, notes: list[str]
    ) -> "CovarianceScorer | None":
        """Read the table again, for co-moments; None for columns that are not numbers, or too many (see `notes`)."""
        columns = [column for column in trained.task.columns if column.role != "skip"]
        if len(columns) < 2 or any(column.role not in ("number", *OPEN_ROLES) or column.block for column in columns):
            return None
        names = tuple(sorted(column.name for column in columns))
        n_folds = len(trained.folds)
        if n_folds * len(trained.model._labels) * len(names) ** 2 > MAX_COMOMENTS:
            notes.append(f"no shapes of covariance were tried: {len(names)} columns have too many pairs")
            return None
        joined = [replace(column, role="number", block=names) for column in columns]
        again = train_task(replace(trained.task, columns=joined), n_folds, progress, assign)
        place = [feature.name for feature in trained.task.layout.blocks[0].features]
        order = [place.index(name) for name in names]
        return cls(list(ledgers_excluding_each(again.folds)), order, trained.model.options.prior)

    def score(self, held: HeldOutFold) -> ScoredSettings:
        """Score the rows of one fold under every covariance and shrinkage."""
        ledger = self.ledgers[held.fold].effective
        (X,) = replace(held.rows, columns=[[held.rows.columns[0][j] for j in self.order]]).parts
        log_prior = log(self.prior.solve(ledger.rows))
        for covariance, shrinkage in product(get_args(Covariance), TRIED_SHRINKAGES):
            if (covariance == "identity" and shrinkage is not None) or (covariance, shrinkage) == ("mixed", "oas"):
                continue
            arguments = {"covariance": covariance, **({} if shrinkage is None else {"shrinkage": shrinkage})}
            family = Gaussian(covariance, shrinkage, shrinkage_target="diagonal")  # type: ignore[arg-type]
            part: Any = ledger.parts[0] if family.has_pairs else ledger.parts[0].moments  # type: ignore[attr-defined]
            yield Setting(arguments, "GaussianBayes"), _score(family, part, X), log_prior


def score_text_events(held: HeldOutFold, options: Options) -> ScoredSettings:
    """Score the rows of one fold under the events of `TextClassifier`, with and without idf.

    With idf the entries of the rows are weights, and no counts.
    """
    part: Any = held.ledger.parts[0]
    (X,) = held.rows.parts
    for arguments, family in _vary_text_families(options, part.presence):
        prior = options.prior.solve(held.ledger.rows)
        log_prior = log(prior) if family.probabilistic else np.zeros(len(prior))
        rows = X
        if family.idf:
            rows = X.copy()
            rows.data = rows.data * compute_idf(part)[rows.indices]
        scores = _score(family, part, rows, arguments.get("alpha") == "auto")
        yield Setting(arguments, "TextClassifier"), scores, log_prior


def _vary_text_families(options: Options, presence: bool) -> Iterator[tuple[dict[str, Any], Text]]:
    """Yield arguments of `TextClassifier`, and the family of each; with `presence` none has idf."""
    plain = Text(options.words.reading)
    for alpha in TRIED_TEXT_ALPHAS:
        changed = {} if alpha == 1.0 else {"alpha": alpha}
        variants: list[dict[str, Any]] = [{"event": "bernoulli"}, {"event": "complement"}]
        if not isinstance(alpha, str) and not presence:
            variants += [{"idf": True}, {"event": "complement", "idf": True}]
        for variant in variants:
            yield variant | changed, replace(plain, alpha=1.0 if isinstance(alpha, str) else alpha, **variant)
