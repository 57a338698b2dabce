"""BoostedBayes: many naive or Gaussian Bayes models, each with more weight on the errors of those before it."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score

from deciban._typing import Array
from deciban.engines import encode, encode_known, thread_count
from deciban.errors import InputError
from deciban.estimators import check_arguments as checks
from deciban.estimators.check_arguments import allow
from deciban.estimators.classifier_base import Classifier
from deciban.estimators.gaussian_estimators import GaussianNB
from deciban.estimators.generative_base import GenerativeClassifier, make_generator
from deciban.estimators.parameter_docs import document_estimator
from deciban.generative import GenerativeModel
from deciban.ledger import Block, Schema
from deciban.linear.boosting import Boosted, BoostingSettings, Examples, boost, iterate_weights
from deciban.linear.sample_weights import ALGORITHMS
from deciban.scorer import Scorer
from deciban.scores import finish
from deciban.scores.posterior import Finish


@document_estimator
@dataclass(eq=False, repr=False)
class BoostedBayes(Classifier):
    """AdaBoost for many classes over naive Bayes, or any generative estimator of deciban as `estimator`.

    A round is one pass: a weighted ledger, solved. `algorithm` is how learners are combined. "SAMME": they vote,
    by shares of `learning_rate` · (ln (1 − e)/e + ln (K − 1)), the predictions of scikit-learn's AdaBoostClassifier.
    "SAMME.R": the mean of their ln p(x, k), rows reweighted by e^(−learning_rate · centred score). "logistic": shares
    that minimise the log-loss of the sum, rows weighted by 1 − p(y|x): of the three the one that is fitted to its
    probabilities. The last two add scores, so that `linear_form` and `quadratic_form` are those of one model, and
    `explain` gives evidence by feature; votes are not sums over features, so that of "SAMME" is by round.

    With `n_iter_no_change` the rounds after the minimum of the loss of the rows held out are dropped.

    Examples
    --------
    >>> from deciban import BoostedBayes
    >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
    >>> model = BoostedBayes(n_estimators=5).fit(X, y)
    >>> model.estimator_errors_.round(3).tolist()
    [0.075, 0.149, 0.317, 0.2, 0.356]
    >>> model.score(X, y), BoostedBayes(n_estimators=5, algorithm="logistic").fit(X, y).score(X, y)
    (0.925, 1.0)
    """

    estimator: Any = field(default="gaussian", metadata=allow({"gaussian"}, GenerativeClassifier, None))
    _: KW_ONLY
    n_estimators: int = field(default=50, metadata=allow("positive integer"))
    learning_rate: float = field(default=1.0, metadata=allow("positive"))
    algorithm: str = field(default="SAMME", metadata=allow(set(ALGORITHMS)))
    n_iter_no_change: int | None = field(default=None, metadata=allow("positive integer", None))
    validation_fraction: float = field(default=0.1, metadata=allow("proper share"))
    random_state: Any = field(default=None, metadata=allow("random_state"))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X (rows × features, dense or CSR) and labels y.

        >>> from deciban import BoostedBayes
        >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
        >>> model = BoostedBayes(n_estimators=3).fit(X, y)
        >>> model.score(X, y)
        0.925
        """
        with self._restore_on_error():
            self._validate_params()
            learner = self.estimator_
            learner._validate_params()
            X, y = checks.check_rows(self, X, y, reset=True)
            weight = checks.check_weight(sample_weight, X, some_positive=True)
            self.classes_, codes = encode(y)
            self._dtype = checks.choose_dtype(X)
            with self._reword_errors(weight):
                self._scorer = self._boost(learner, *checks.drop_weightless_rows(X, codes, weight))
        return self

    def _boost(
        self, learner: GenerativeClassifier, X: Any, codes: NDArray[np.int32], weight: Array | None
    ) -> Boosted:
        assumption = learner._assumption(X.shape[1], len(self.classes_))
        names = checks.get_feature_names(self)
        blocks = tuple(Block(n.kind, X.shape[1], names, reading=n.reading) for n in assumption.needs)
        rows, held = self._hold_out_rows(Examples((X,), codes, weight))
        algorithm: Any = self.algorithm
        rate, threads = float(self.learning_rate), thread_count(self.n_jobs)
        settings = BoostingSettings(algorithm, self.n_estimators, rate, held, self.n_iter_no_change or 0, threads)
        return boost(assumption, Schema(tuple(self.classes_.tolist()), blocks), rows, settings)

    def _hold_out_rows(self, rows: Examples) -> tuple[Examples, Examples | None]:
        """Return the rows to learn and those held out, a share of each class; None without `n_iter_no_change`."""
        if self.n_iter_no_change is None:
            return rows, None
        rng, is_held_out = make_generator(self.random_state), np.zeros(len(rows.codes), dtype=np.bool_)
        for k in range(len(self.classes_)):
            own = rng.permutation(np.flatnonzero(rows.codes == k))
            is_held_out[own[: min(round(len(own) * self.validation_fraction), len(own) - 1)]] = True
        if not is_held_out.any():
            raise InputError(
                f"validation_fraction={self.validation_fraction} holds out none of the rows ({len(is_held_out)}). "
                f"Hint: a larger fraction, or n_iter_no_change=None"
            )
        return rows.take(np.flatnonzero(~is_held_out)), rows.take(np.flatnonzero(is_held_out))

    @property
    def estimator_(self) -> GenerativeClassifier:
        """An unfitted copy of the estimator that is boosted; InputError unless it learns from matrices."""
        if self.estimator is None or isinstance(self.estimator, str):
            return GaussianNB()
        if type(self.estimator)._check_rows is not GenerativeClassifier._check_rows:
            raise InputError(
                f"BoostedBayes takes learners of matrices, not {type(self.estimator).__name__}. Hint: GaussianNB(), "
                f"GaussianBayes(), BernoulliNB(), MultinomialNB(), CategoricalNB(); tables: train(learner='boosted')"
            )
        return clone(self.estimator)

    @property
    def missing(self) -> str:  # type: ignore[override]
        """How the learner treats NaN."""
        return self.estimator_.missing

    def _make_estimator(self, model: GenerativeModel) -> GenerativeClassifier:
        """Return the learner of a round as an estimator fitted to the weighted rows of that round."""
        learner = self.estimator_
        for name in ("classes_", "n_features_in_", "feature_names_in_", "_dtype"):
            if name in vars(self):
                setattr(learner, name, getattr(self, name))
        learner._scorer = model
        return learner

    @property
    def estimators_(self) -> list[GenerativeClassifier]:
        """The learners of all rounds, computed on access."""
        return [self._make_estimator(model) for model in self._check_fitted().rounds]

    @property
    def estimator_weights_(self) -> Array:
        """The share of each round's learner: of votes, or of the score."""
        return self._check_fitted().shares

    @property
    def estimator_errors_(self) -> Array:
        """The error of each learner on the weighted rows of its round."""
        return self._check_fitted().errors

    @property
    def n_estimators_(self) -> int:
        """The number of rounds."""
        return len(self._check_fitted().rounds)

    @property
    def n_classes_(self) -> int:
        """The number of classes K."""
        return len(self.classes_)

    def decision_function(self, X: Any) -> Array:
        """Return (K − 1) times each class's score less the mean of all; for two classes the log-odds.

        >>> from deciban import BoostedBayes
        >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
        >>> model = BoostedBayes(n_estimators=3).fit(X, y)
        >>> model.decision_function([[0.5], [2.0]]).round(2).tolist()
        [-0.61, 2.0]
        """
        return _centre_scores(self._score(X, "joint"))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Return an iterator over `decision_function` after each round.

        >>> from deciban import BoostedBayes
        >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
        >>> model = BoostedBayes(n_estimators=3).fit(X, y)
        >>> [scores.round(2).tolist() for scores in model.staged_decision_function([[2.0]])]
        [[2.0], [2.0], [2.0]]
        """
        return map(_centre_scores, self._iterate_staged_scores(X, "joint"))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Return an iterator over `predict` after each round.

        >>> from deciban import BoostedBayes
        >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
        >>> model = BoostedBayes(n_estimators=3).fit(X, y)
        >>> [classes.tolist() for classes in model.staged_predict([[0.5], [2.0]])]
        [[0, 1], [0, 1], [0, 1]]
        """
        return (self.classes_[codes] for codes in self._iterate_staged_scores(X, "winner"))

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Return an iterator over `predict_proba` after each round.

        >>> from deciban import BoostedBayes
        >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
        >>> model = BoostedBayes(n_estimators=3).fit(X, y)
        >>> [p.round(2).tolist() for p in model.staged_predict_proba([[2.0]])]
        [[[0.12, 0.88]], [[0.12, 0.88]], [[0.12, 0.88]]]
        """
        return self._iterate_staged_scores(X, "posterior")

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Return an iterator over the accuracy after each round.

        >>> from deciban import BoostedBayes
        >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
        >>> model = BoostedBayes(n_estimators=3).fit(X, y)
        >>> [round(accuracy, 3) for accuracy in model.staged_score(X, y)]
        [0.925, 0.925, 0.925]
        """
        return (float(accuracy_score(y, labels, sample_weight=sample_weight)) for labels in self.staged_predict(X))

    def _iterate_staged_scores(self, X: Any, wanted: Finish) -> Iterator[NDArray[Any]]:
        """Yield the wanted result of the joint scores after each round; X is checked when the iteration begins."""
        model, threads = self._check_fitted(), thread_count(self.n_jobs)
        rows = self._check_input(X)
        with self._reword_errors():
            for scores in model.iterate_scores([self._matrix(rows, threads)], threads):
                yield finish(scores, np.zeros(self.n_classes_), wanted)[0]

    def staged_weights(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Array]:
        """Yield the weights of these rows in each round, which add up to one, recomputed from the learners.

        They are the weights of the training if X, y and sample_weight are those of `fit`, and no rows were held out.

        >>> from deciban import BoostedBayes
        >>> X, y = [[x / 10] for x in range(40)], [int(12 <= x < 30) for x in range(40)]
        >>> model = BoostedBayes(n_estimators=3).fit(X, y)
        >>> [round(float(weight.max()), 3) for weight in model.staged_weights(X, y)]
        [0.025, 0.167, 0.098]
        """
        model = self._check_fitted()
        X, y = checks.check_rows(self, X, y, reset=False)
        rows = Examples((X,), encode_known(y, self.classes_), checks.check_weight(sample_weight, X))
        with self._reword_errors():
            yield from iterate_weights(model, rows, float(self.learning_rate), thread_count(self.n_jobs))

    def _check_prediction_rows(self, X: Any) -> None:
        self._make_estimator(self._check_fitted().rounds[0])._check_prediction_rows(X)

    @property
    def _hint(self) -> str:  # type: ignore[override]
        return self.estimator_._hint

    def _matches_arguments(self, scorer: Scorer) -> bool:
        """Return whether a model is boosted by the same algorithm, from learners of the same families."""
        if not isinstance(scorer, Boosted) or scorer.algorithm != self.algorithm:
            return False
        own = [type(f) for f in self.estimator_._assumption(self.n_features_in_, len(self.classes_)).families]
        return all([type(f) for f in model.assumption.families] == own for model in scorer.rounds)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator_.__sklearn_tags__().input_tags
        return tags


def _centre_scores(scores: Array) -> Array:
    """Return (K − 1) times the joint scores less their mean over the classes, n×K; of two classes the log-odds, n."""
    K = scores.shape[1]
    if K == 2:
        return scores[:, 1] - scores[:, 0]
    return (K - 1) * (scores - scores.mean(axis=1, keepdims=True))
