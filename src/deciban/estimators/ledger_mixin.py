"""Operations of generative estimators on their ledgers: merge, subtract, decay, and change the prior."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError, SchemaError
from deciban.ledger import Ledger


class LedgerMixin:
    """Sums of models: `a + b`, `a - b`, `a * f` return new models; `merge` and `decay` change the model."""

    _prior_name = "class_prior"
    _free_parameters = frozenset({"n_jobs"})
    """Arguments in which two models that are added may differ."""

    if TYPE_CHECKING:  # defined by the estimators
        classes_: NDArray[Any]
        _scorer: Any
        _replace_ledger: Callable[..., None]
        _validate_params: Callable[[], None]
        get_params: Callable[[], dict[str, Any]]

        @property
        def ledger_(self) -> Ledger:
            """The sufficient statistics."""
            ...

    def merge(self, other: Self) -> Self:
        """Add the ledger of another model."""
        self._replace_ledger(self._combine(other, operator.add))
        return self

    def decay(self, factor: float) -> Self:
        """Multiply the weight of all rows learned so far by a factor."""
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            raise InputError(f"a model decays by a finite factor ≥ 0, not by {factor!r}")
        self._require_additive("decay")
        self._replace_ledger(self.ledger_ * factor)
        return self

    def __add__(self, other: Self) -> Self:
        return self._copy(self._combine(other, operator.add)) if type(self) is type(other) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return self._copy(self._combine(other, operator.sub)) if type(self) is type(other) else NotImplemented

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        self._require_additive("scale")
        return self._copy(self.ledger_ * factor)

    __rmul__ = __mul__

    def with_priors(self, priors: Any) -> Self:
        """Return a model with other class priors: an array in the order of `classes_`, a mapping, or a name."""
        ledger = self.ledger_
        if isinstance(priors, Mapping):
            labels = self.classes_.tolist()
            unknown = [label for label in priors if label not in labels]
            if unknown:
                raise InputError(f"a prior is given for {unknown[0]!r}, which is none of the classes {self.classes_}")
            absent = [label for label in labels if label not in priors]
            if absent:
                raise InputError(f"no prior is given for class {absent[0]!r}. Hint: name every class")
            priors = [priors[label] for label in labels]
        if not isinstance(priors, str) and priors is not None and not np.isclose(np.sum(priors), 1.0):
            raise InputError(f"The sum of the priors should be 1. Got {np.sum(priors):g}.")
        new = copy.copy(self)
        setattr(new, self._prior_name, priors)
        new._validate_params()
        before = new.__dict__.pop("_scorer")
        new._replace_ledger(ledger)
        new._scorer = new._scorer.with_maps(calibration=before.calibration, novelty=before.novelty)
        log_prior = new._scorer.solved.log_prior  # an unusable prior is refused here, not at the first prediction
        if before.calibration is not None:
            before.calibration.shift(log_prior)
        return new

    def _combine(self, other: Self, operation: Callable[[Ledger, Ledger], Ledger]) -> Ledger:
        """Combine the ledgers of two models; refuse models of different types, arguments or classes."""
        if type(self) is not type(other):
            raise SchemaError(f"{type(self).__name__} cannot be combined with {type(other).__name__}")
        ledger, other_ledger = self.ledger_, other.ledger_
        self._require_additive("combine")
        self._check_same_parameters(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise SchemaError(
                f"the two models have different classes: {self.classes_.tolist()} and {other.classes_.tolist()}. "
                f"Hint: name all classes in both, partial_fit(X, y, classes=...)"
            )
        return operation(ledger, other_ledger)

    def _require_additive(self, verb: str) -> None:
        """Refuse models whose ledgers cannot be added; the ledgers of nearly all estimators can."""

    def _check_same_parameters(self, other: Self) -> None:
        own, others = self.get_params(), other.get_params()
        for name in sorted(own.keys() - self._free_parameters):
            if not _are_equal(own[name], others[name]):
                raise SchemaError(
                    f"the two models differ in {name}: {own[name]!r} and {others[name]!r}. "
                    f"Hint: set_params({name}=...) on one of them and fit it again"
                )

    def _copy(self, ledger: Ledger) -> Self:
        new = copy.copy(self)
        new._replace_ledger(ledger)
        return new


def _are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, Ledger) or isinstance(b, Ledger) or a is None or b is None or isinstance(a, str):
        return bool(a == b) if type(a) is type(b) else False
    return np.array_equal(np.asarray(a), np.asarray(b))
