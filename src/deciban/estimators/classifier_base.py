"""What every facade can do once it has learned: predict, decide, explain, be saved."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from deciban._typing import Array
from deciban.engines import FEW_ROWS, InvalidValue, encode_known, thread_count
from deciban.errors import DecibanError, InputError
from deciban.estimators.check_arrays import check_X
from deciban.estimators.error_messages import worded
from deciban.ledger import Block
from deciban.persistence import Section
from deciban.scorer import Scorer
from deciban.scores import Boundary, Conic, Explanation
from deciban.scores.decision import REJECTED, Costs, Thresholds, labelled, rule_of
from deciban.scores.posterior import Finish


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier that has score forms, however it came by them."""

    classes_: NDArray[Any]
    n_features_in_: int
    n_jobs: int | None
    missing: str
    _scorer: Scorer
    _dtype: np.dtype[Any]

    _proposal = "leave such rows out, or replace the values"

    @contextmanager
    def _restore_on_error(self) -> Iterator[None]:
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    @contextmanager
    def _reword_errors(self) -> Iterator[None]:
        try:
            yield
        except InvalidValue as bad:
            raise self._make_error(bad) from None

    def _make_error(self, bad: InvalidValue) -> InputError:
        names = getattr(self, "feature_names_in_", None)
        return worded(bad, type(self).__name__, names, self._proposal, self.missing == "skip")

    @property
    def n_parameters_(self) -> int:
        """How many numbers the model estimates, those of the class prior or the intercepts included."""
        return self._check_fitted().n_parameters

    def _check_fitted(self) -> Scorer:
        try:
            return self._scorer
        except AttributeError:
            check_is_fitted(self)
            raise

    def _score(self, X: Any, wanted: Finish) -> NDArray[Any]:
        model = self._check_fitted()
        X = check_X(self, X)
        self._check_prediction_rows(X)
        threads = 1 if X.shape[0] <= FEW_ROWS else thread_count(self.n_jobs)
        try:
            return model.scores((X,), wanted, threads)
        except InvalidValue as bad:
            raise self._make_error(bad) from None

    def _check_prediction_rows(self, X: Any) -> None:
        """What a facade will not be asked about, beyond what its family refuses."""

    def predict(
        self,
        X: Any,
        *,
        costs: Costs | None = None,
        reject: float | None = None,
        thresholds: Thresholds | None = None,
        reject_novel: float | None = None,
    ) -> NDArray[Any]:
        """The most probable class of each row; or what is expected to cost least, see `Decision`.

        `costs[(truth, called)]` is what a call costs, `reject` what it costs not to decide, `thresholds` from which
        probability on a class is called, `reject_novel` the share of usual rows that may be taken for novel. A row
        that is undecided or novel is None.
        """
        self._check_fitted()
        rule = rule_of(self.classes_, costs, reject, thresholds)
        codes = self._score(X, "winner") if rule is None else rule.apply(self._score(X, "posterior"))
        if reject_novel is not None:
            codes = np.where(self._is_novel(X, reject_novel), REJECTED, codes)
        return labelled(self.classes_, codes)

    def _is_novel(self, X: Any, share: float) -> NDArray[np.bool_]:
        """Which rows are like none that were learned: a question of p(x)."""
        self._check_fitted().require_density("density p(x)")
        raise AssertionError

    def predict_proba(self, X: Any) -> Array:
        """p(k|x) of each row and class, in the order of `classes_`."""
        return self._score(X, "posterior")

    def predict_log_proba(self, X: Any) -> Array:
        """ln p(k|x)."""
        return self._score(X, "log_posterior")

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> Explanation:
        """The evidence of each feature in decibans, for the winner against the runner-up or for two given classes."""
        model = self._check_fitted()
        X = check_X(self, X)
        self._check_prediction_rows(X)
        pair = None if classes is None else self._pair(classes)
        with self._reword_errors():
            return model.explain([X], pair, self.classes_, thread_count(self.n_jobs))

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
        """score_k(x) = weights_k · x + bias_k; for two classes the log-odds of the second are w · x + b.

        Up to what all classes share. For `BernoulliNB` x is the indicator [value > binarize].
        """
        return self._check_fitted().boundary()

    def quadratic_form(self) -> Conic:
        """score_k(x) = xᵀ A_k x + weights_k · x + bias_k."""
        return self._check_fitted().conic()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all; `deciban.load` reads it."""
        from deciban.persistence.estimator_files import save

        save(self, path)

    def _write(self, section: Section) -> None:
        """Add to a model file what belief, arguments and classes do not tell."""
        section.put("named", hasattr(self, "feature_names_in_"))

    def _read(self, section: Section, blocks: Sequence[Block]) -> None:
        """What `_write` wrote, and the features of the ledger's blocks."""
        if len(blocks) != 1:
            section.refuse(f"{type(self).__name__} has one block of features, and this file {len(blocks)}")
        self.n_features_in_ = blocks[0].width
        if section.flag("named"):
            if blocks[0].names is None:
                section.refuse("the features are said to have names, and have none")
            self.feature_names_in_ = np.array(blocks[0].names, dtype=object)

    def _check_loaded(self, section: Section, believed: Scorer) -> None:
        """Refuse a file whose arguments the facade itself would refuse, or that holds another kind of model."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what there is to say was said when it was fitted
                self._validate_params()
                own = self._matches_arguments(believed)
        except (DecibanError, ValueError, TypeError, OverflowError) as error:
            section.refuse(f"the arguments are not sound: {error}")
        if not own:
            section.refuse(f"a {type(self).__name__} assumes something else")

    def _matches_arguments(self, believed: Scorer) -> bool:
        """Whether this is what the facade, with its arguments, would have made."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "skip"
        tags.classifier_tags.poor_score = True
        return tags
