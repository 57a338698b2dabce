"""The base class of all estimators: predicting, deciding, explaining, calibrating, saving and checking."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from deciban._typing import Array
from deciban.engines import (
    SINGLE_BLOCK_ROWS,
    InvalidValueError,
    encode_known,
    is_tensor,
    match_rows,
    take_classes,
    thread_count,
    to_host,
)
from deciban.errors import DecibanError, DecibanWarning, InputError, RowError, renumber_rows
from deciban.estimators.check_arguments import check_X, describe_invalid_value
from deciban.ledger import Block
from deciban.metrics.calibration_fit import calibrate, check_method
from deciban.persistence import Section
from deciban.scorer import Scorer
from deciban.scores import Boundary, Conic, Explanation, posterior
from deciban.scores.calibration import Calibration
from deciban.scores.posterior import Costs, Finish, Novelty, Thresholds

MAX_LEAVE_ONE_OUT_ROWS = {False: 2000, True: 200}
"""Number of rows up to which novelty is fitted by leave-one-out; beyond it, by ten folds.

The second limit is for features whose levels or words grow with the rows: then leave-one-out has no closed form.
"""

GROWING_KINDS = ("levels", "bags")
"""Kinds of features of which a row may have a level or a word that no other row has."""


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier with score forms, generative or fitted."""

    classes_: NDArray[Any]
    n_features_in_: int
    n_jobs: int | None
    missing: str
    _scorer: Scorer
    _dtype: np.dtype[Any]

    _input_tags: ClassVar[dict[str, bool]] = {}
    """The tags of the input that differ from those of other classifiers; see `sklearn.utils.InputTags`."""

    _hint = "leave such rows out, or replace the values"
    """The hint of errors about invalid values."""

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """See `BaseEstimator`: the names are read from the signature once, which takes longer than small fits."""
        return list(super()._get_param_names())

    @property
    def _parameter_constraints(self) -> dict[str, list[Any]]:
        """The values that each argument of the constructor may have, which scikit-learn checks."""
        return {each.name: each.metadata["allowed"] for each in fields(self)}

    def _validate_params(self) -> None:
        """See `BaseEstimator`: arguments at their defaults are valid, and need no check, which takes 50 µs."""
        if any(getattr(self, each.name) is not each.default for each in fields(self)):
            super()._validate_params()

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
    def _reword_errors(self, weight: Any = None) -> Iterator[None]:
        """Raise errors about invalid values with names and a hint; row numbers include dropped rows of `weight` 0."""
        try:
            yield
        except InvalidValueError as bad:
            with renumber_rows(None if weight is None else np.flatnonzero(to_host(weight))):
                raise self._make_error(bad) from None

    def _make_error(self, bad: InvalidValueError) -> InputError:
        names = getattr(self, "feature_names_in_", None)
        details = (type(self).__name__, names, self._hint, self.missing == "skip")
        return RowError(partial(describe_invalid_value, bad, *details), bad.row)

    @property
    def _form(self) -> Any:
        """The score form of the only block of features."""
        return self._check_fitted().solved.forms[0]

    @property
    def n_parameters_(self) -> int:
        """The number of parameters of the model, those of the class prior or the intercepts included."""
        return self._check_fitted().n_parameters

    def _check_fitted(self) -> Any:
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
        """Yield the checked rows in chunks: of each the matrices that are scored, one for each block of features."""
        yield (self._matrix(rows, threads),)

    def _score(self, X: Any, wanted: Finish) -> NDArray[Any]:
        """Check and score rows: their winners, posteriors or what else is wanted."""
        self._check_fitted()
        return self._score_rows(self._check_input(X), wanted)

    def _score_rows(self, rows: Any, wanted: Finish) -> NDArray[Any]:
        """Score rows that were checked before."""
        is_small = rows.shape[0] <= SINGLE_BLOCK_ROWS or is_tensor(rows)
        threads = 1 if is_small else thread_count(self.n_jobs)
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

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> model.predict([[1, 0]]).tolist(), model.predict([[1, 1]], reject=0.1).tolist()
        (['ill'], [None])
        >>> model.predict([[1, 0]], costs={("well", "ill"): 10}).tolist()
        ['well']
        """
        self._check_fitted()
        rule = posterior.build_rule(self.classes_, costs, reject, thresholds)
        if rule is None and reject_novel is None:
            return take_classes(self.classes_, self._score(X, "winner"))
        posterior_or_codes = to_host(self._score(X, "winner" if rule is None else "posterior"))
        codes = posterior_or_codes if rule is None else rule.apply(posterior_or_codes)
        if reject_novel is not None:
            codes = np.where(self._is_novel(X, reject_novel), posterior.REJECTED, codes)
        labels = posterior.take_labels(self.classes_, codes)
        return match_rows(labels, X) if labels.dtype.kind in "iufb" else labels

    def predict_proba(self, X: Any) -> Array:
        """Return p(k|x) of each row and class, in the order of `classes_`.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> model.predict_proba([[1, 0]]).round(3).tolist()
        [[0.8, 0.2]]
        """
        return self._score(X, "posterior")

    def predict_log_proba(self, X: Any) -> Array:
        """Return ln p(k|x) of each row and class.

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> model.predict_log_proba([[1, 0]]).round(3).tolist()
        [[-0.223, -1.609]]
        """
        return self._score(X, "log_posterior")

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> Explanation:
        """Return each feature's evidence, in decibans, for `classes[0]` against `classes[1]` (the likeliest two).

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> print(model.explain([[1, 0]]).text())
        ill rather than well
          x0                  +3.01 dB
          x1                  +3.01 dB
          prior               +0.00 dB
          total               +6.02 dB  (4 to 1)
        """
        model, threads = self._check_fitted(), thread_count(self.n_jobs)
        rows = self._check_input(to_host(X))
        pair = None if classes is None else self._encode_pair(classes)
        with self._reword_errors():
            return model.explain([self._matrix(rows, threads)], pair, self.classes_, threads)

    def _encode_pair(self, classes: tuple[Any, Any]) -> tuple[int, int]:
        """Return the codes of two classes, which must be different and known."""
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

        Scores are up to a shared term; UndefinedError if they are not linear. `BernoulliNB`: x is [value > binarize].

        >>> from deciban import BernoulliNB
        >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> form = model.linear_form()
        >>> form.w.round(3).tolist(), round(form.b, 3)
        ([-1.386, 1.386], 0.0)
        """
        return self._check_fitted().boundary()

    def quadratic_form(self) -> Conic:
        """Return score_k(x) = xᵀ A_k x + weights_k · x + bias_k; UndefinedError where there is no such form.

        >>> from deciban import GaussianNB
        >>> form = GaussianNB().fit([[0.0], [2.0], [5.0], [9.0]], [0, 0, 1, 1]).quadratic_form()
        >>> form.A.round(3).tolist()
        [[-0.5], [-0.125]]
        """
        return self._check_fitted().conic()

    def calibrated(self, X: Any, y: Any, method: str = "auto", folds: Any = 10, sample_weight: Any = None) -> Self:
        """Return a new estimator fitted to these rows, with calibrated probabilities.

        Each row is scored by a model without its fold, and the map is fitted to these scores: "temperature", "platt",
        "isotonic", or "auto", a temperature unless another is clearly better. No rows need be set aside.

        >>> from deciban import GaussianNB
        >>> X, y = [[float(x % 7)] * 9 for x in range(140)], [int(x % 7 + x % 3 > 4) for x in range(140)]
        >>> model = GaussianNB().calibrated(X, y)
        >>> model.calibration_.method, GaussianNB().fit(X, y).calibration_
        ('temperature', None)
        """
        if check_method(method) is None:
            raise InputError("method=None calibrates nothing. Hint: 'auto', or fit(X, y)")
        new = _clone_uncalibrated(self).fit(X, y, sample_weight)
        new._scorer = new._calibrate(X, y, sample_weight, method, folds)
        return new.set_params(calibrate=method) if "calibrate" in self.get_params() else new

    def _calibrate(self, X: Any, y: Any, sample_weight: Any, method: str, folds: Any = 10) -> Any:
        """Return `_scorer` with a calibration that is fitted to out-of-fold scores."""
        from deciban.estimators.cross_validate import out_of_fold

        X, y, sample_weight = to_host(X), to_host(y), to_host(sample_weight)
        rows = out_of_fold(_clone_uncalibrated(self), X, y, folds, sample_weight=sample_weight)
        is_scored = (rows.fold >= 0) & rows.known[np.arange(len(rows.codes)), rows.codes]
        truth = np.where(is_scored, rows.codes, -1)
        assumption = getattr(self._scorer, "assumption", None)
        given = assumption.prior.given if assumption is not None and assumption.probabilistic else None
        found = calibrate(method, rows.scores, truth, rows.weight, rows.fold, self._scorer.solved.log_prior, given)
        return self._scorer.with_maps(calibration=found.calibration)

    @property
    def calibration_(self) -> Calibration | None:
        """The calibration of the probabilities; None where they are not calibrated."""
        return self._check_fitted().calibration

    def fit_novelty(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the novelty detector to the training rows, each scored by a model without it.

        Then `predict(X, reject_novel=0.01)` rejects rows that are less probable, for each of their cells or words,
        than all but one in a hundred of these. Learning more rows discards it.

        >>> from deciban import GaussianNB
        >>> X, y = [[x / 10] for x in range(100)], [int(x > 50) for x in range(100)]
        >>> model = GaussianNB().fit(X, y).fit_novelty(X, y)
        >>> model.predict([[3.0], [80.0]], reject_novel=0.01).tolist()
        [0, None]
        """
        from deciban.estimators.cross_validate import out_of_fold

        self._check_fitted().require_density("density p(x)")
        X, y, sample_weight = to_host(X), to_host(y), to_host(sample_weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)  # `fit` has issued the warnings already
            cells = self._score(X, "observed")
            growing = any(block.kind in GROWING_KINDS for block in self._scorer.outline.blocks)
            folds: Any = "loo" if len(cells) <= MAX_LEAVE_ONE_OUT_ROWS[growing] else 10
            wanted: Finish = "typicality" if growing else "density"
            rows = out_of_fold(_clone_uncalibrated(self), X, y, folds, sample_weight=sample_weight, wanted=wanted)
        scored = rows.fold >= 0
        usual = rows.scores[scored] if growing else posterior.density_per_cell(rows.scores[scored], cells[scored])
        weight = None if rows.weight is None else rows.weight[scored]
        self._scorer = self._scorer.with_maps(novelty=Novelty.of(usual, weight))
        return self

    @property
    def novelty_(self) -> Novelty | None:
        """The quantiles of the log-density of the training rows per cell or word; see `fit_novelty`."""
        return self._check_fitted().novelty

    def _is_novel(self, X: Any, share: float) -> NDArray[np.bool_]:
        """Return which rows are less probable than all but this share of the training rows, by `novelty_`."""
        model = self._check_fitted()
        model.require_density("density p(x)")
        usual = posterior.require_novelty(model.novelty)
        X = to_host(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)  # `predict` has issued the warnings already
            return usual.is_novel(self._score(X, "typicality"), share)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically; `deciban.load` reads it.

        >>> import deciban, pathlib, tempfile
        >>> model = deciban.BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "model.deciban")
        ...     model.save(path)
        ...     print(deciban.load(path).predict([[1, 0]]))
        ['ill']
        """
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


def _clone_uncalibrated(estimator: Any) -> Any:
    """Return an unfitted clone of the estimator that does not calibrate."""
    new = clone(estimator)
    if "calibrate" not in new.get_params():
        return new
    new.set_params(calibrate=None)
    return new if new._calibration_method() is None else new.set_params(calibrate="none")
