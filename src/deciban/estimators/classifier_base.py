"""The base class of all estimators: predicting, deciding, explaining, saving and checking."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from deciban._typing import Array
from deciban.engines import FEW_ROWS, InvalidValueError, encode_known, thread_count
from deciban.errors import DecibanError, InputError
from deciban.estimators.check_arrays import check_X, format_error
from deciban.ledger import Block
from deciban.persistence import Section
from deciban.scorer import Scorer
from deciban.scores import Boundary, Conic, Explanation
from deciban.scores.decision import REJECTED, Costs, Thresholds, build_rule, take_labels
from deciban.scores.posterior import Finish


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier with score forms, generative or fitted."""

    classes_: NDArray[Any]
    n_features_in_: int
    n_jobs: int | None
    missing: str
    _scorer: Scorer
    _dtype: np.dtype[Any]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    _input_tags: ClassVar[dict[str, bool]] = {}
    """The tags of the input that differ from those of other classifiers; see `sklearn.utils.InputTags`."""

    _hint = "leave such rows out, or replace the values"
    """The hint of errors about invalid values."""

    @contextmanager
    def _restore_on_error(self) -> Iterator[None]:
        """Restore all attributes where an exception is raised."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    @contextmanager
    def _reword_errors(self) -> Iterator[None]:
        """Raise errors about invalid values with the column's name and a hint."""
        try:
            yield
        except InvalidValueError as bad:
            raise self._make_error(bad) from None

    def _make_error(self, bad: InvalidValueError) -> InputError:
        names = getattr(self, "feature_names_in_", None)
        return format_error(bad, type(self).__name__, names, self._hint, self.missing == "skip")

    @property
    def n_parameters_(self) -> int:
        """The number of parameters of the model, those of the class prior or the intercepts included."""
        return self._check_fitted().n_parameters

    def _check_fitted(self) -> Scorer:
        """Return the generative or fitted model; raise NotFittedError if there is none."""
        try:
            return self._scorer
        except AttributeError:
            check_is_fitted(self)
            raise

    def _check_input(self, X: Any) -> Any:
        """Return X as rows with the training columns."""
        return check_X(self, X)

    def _check_prediction_rows(self, X: Any) -> None:
        """Refuse rows that this estimator cannot score, beyond those that its family refuses."""

    def _matrix(self, rows: Any, threads: int) -> Any:
        """Return checked rows as the matrix that is scored."""
        self._check_prediction_rows(rows)
        return rows

    def _parts(self, rows: Any, threads: int) -> Iterator[Sequence[Any]]:
        """Yield the matrices that are scored, one for each block of features, for some of the checked rows."""
        yield (self._matrix(rows, threads),)

    def _score(self, X: Any, wanted: Finish) -> NDArray[Any]:
        self._check_fitted()
        return self._score_rows(self._check_input(X), wanted)

    def _score_rows(self, rows: Any, wanted: Finish) -> NDArray[Any]:
        """Score rows that were checked before."""
        threads = 1 if rows.shape[0] <= FEW_ROWS else thread_count(self.n_jobs)
        try:
            return self._check_fitted().scores((self._matrix(rows, threads),), wanted, threads)
        except InvalidValueError as bad:
            raise self._make_error(bad) from None

    def predict(
        self,
        X: Any,
        *,
        costs: Costs | None = None,
        reject: float | None = None,
        thresholds: Thresholds | None = None,
        reject_novel: float | None = None,
    ) -> NDArray[Any]:
        """Return the most probable class of each row; or the one with the least expected cost, see `Decision`.

        `costs[(truth, predicted)]` is the cost of a prediction, `reject` that of none, `thresholds` the probability
        from which on a class is predicted, `reject_novel` the share of usual rows that may be taken for novel. A row
        that is undecided or novel is None.
        """
        self._check_fitted()
        rule = build_rule(self.classes_, costs, reject, thresholds)
        codes = self._score(X, "winner") if rule is None else rule.apply(self._score(X, "posterior"))
        if reject_novel is not None:
            codes = np.where(self._is_novel(X, reject_novel), REJECTED, codes)
        return take_labels(self.classes_, codes)

    def _is_novel(self, X: Any, share: float) -> NDArray[np.bool_]:
        """Return which rows are novel, which is decided by p(x)."""
        self._check_fitted().require_density("density p(x)")
        raise AssertionError

    def predict_proba(self, X: Any) -> Array:
        """Return p(k|x) of each row and class, in the order of `classes_`."""
        return self._score(X, "posterior")

    def predict_log_proba(self, X: Any) -> Array:
        """Return ln p(k|x) of each row and class."""
        return self._score(X, "log_posterior")

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> Explanation:
        """Return the evidence of each feature in decibans, for the winner against the runner-up or given classes."""
        model, threads = self._check_fitted(), thread_count(self.n_jobs)
        rows = self._check_input(X)
        pair = None if classes is None else self._pair(classes)
        with self._reword_errors():
            return model.explain([self._matrix(rows, threads)], pair, self.classes_, threads)

    def _pair(self, classes: tuple[Any, Any]) -> tuple[int, int]:
        try:
            first, second = classes
        except (TypeError, ValueError):
            raise InputError(f"classes must name two classes, (for, against), not {classes!r}") from None
        k, l = encode_known(np.asarray([first, second]), self.classes_)
        if k == l:
            raise InputError(f"classes must name two different classes, not {first!r} twice")
        return int(k), int(l)

    def linear_form(self) -> Boundary:
        """Return score_k(x) = weights_k · x + bias_k; for two classes the log-odds of the second are w · x + b.

        Scores are up to a term that all classes share. For `BernoulliNB` x is the indicator [value > binarize].
        """
        return self._check_fitted().boundary()

    def quadratic_form(self) -> Conic:
        """Return score_k(x) = xᵀ A_k x + weights_k · x + bias_k."""
        return self._check_fitted().conic()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically; `deciban.load` reads it."""
        from deciban.persistence.estimator_files import save

        save(self, path)

    def _write_state(self, section: Section) -> None:
        """Write to a model file the state that scorer, arguments and classes do not hold."""
        section.put("named", hasattr(self, "feature_names_in_"))

    def _read_state(self, section: Section, blocks: Sequence[Block]) -> None:
        """Read the state that `_write_state` wrote, and the features of the ledger's blocks."""
        if len(blocks) != 1:
            section.refuse(f"{type(self).__name__} has one block of features, and this file {len(blocks)}")
        self.n_features_in_ = blocks[0].width
        if section.flag("named"):
            if blocks[0].names is None:
                section.refuse("'named' is true, and the features have no names")
            self.feature_names_in_ = np.array(blocks[0].names, dtype=object)

    def _check_loaded(self, section: Section, scorer: Scorer) -> None:
        """Refuse a file whose arguments the estimator itself would refuse, or that holds another kind of model."""
        with refuse_unsound_arguments(section), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `fit` has issued the warnings already
            self._validate_params()
            matches = self._matches_arguments(scorer)
        if not matches:
            section.refuse(f"a {type(self).__name__} assumes something else")

    def _matches_arguments(self, scorer: Scorer) -> bool:
        """Return whether this is a model that the estimator, with its arguments, would have made."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "skip"
        tags.classifier_tags.poor_score = True
        for name, value in self._input_tags.items():
            setattr(tags.input_tags, name, value)
        return tags


@contextmanager
def refuse_unsound_arguments(section: Section) -> Iterator[None]:
    """Refuse a file where checks of the estimator's arguments raise an exception."""
    try:
        yield
    except (DecibanError, ValueError, TypeError, OverflowError) as error:
        section.refuse(f"the arguments are not sound: {error}")
