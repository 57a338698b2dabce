"""What facades can do because ledgers add: merge, forget whole models, decay, and change the prior."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError, SchemaError
from deciban.ledger import Ledger


class Algebra:
    """`a + b`, `a - b`, `a * f` give new models; `merge` and `decay` change their own."""

    _prior_name = "class_prior"
    _free_parameters = frozenset({"n_jobs"})
    """Arguments in which two models may differ and still count the same things."""

    if TYPE_CHECKING:  # what the facades bring
        classes_: NDArray[Any]
        _scorer: Any
        _replace_ledger: Callable[..., None]
        _validate_params: Callable[[], None]
        get_params: Callable[[], dict[str, Any]]

        @property
        def ledger_(self) -> Ledger:
            """What was learned."""
            ...

    def merge(self, other: Self) -> Self:
        """Learn all that `other` has learned."""
        self._replace_ledger(self._with(other, lambda a, b: a + b))
        return self

    def decay(self, factor: float) -> Self:
        """Let everything learned so far weigh `factor` times as much."""
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            raise InputError(f"a model decays by a finite factor ≥ 0, not by {factor!r}")
        self._require_additive("decay")
        self._replace_ledger(self.ledger_ * factor)
        return self

    def __add__(self, other: Self) -> Self:
        return self._copy(self._with(other, lambda a, b: a + b)) if _is_same_type(self, other) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return self._copy(self._with(other, lambda a, b: a - b)) if _is_same_type(self, other) else NotImplemented

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        self._require_additive("scale")
        return self._copy(self.ledger_ * factor)

    __rmul__ = __mul__

    def with_priors(self, priors: Any) -> Self:
        """The same evidence under other class priors: an array in the order of `classes_`, a mapping, or a name."""
        ledger = self.ledger_
        if isinstance(priors, Mapping):
            strange = [label for label in priors if label not in self.classes_.tolist()]
            if strange:
                raise InputError(f"a prior is given for {strange[0]!r}, which is none of the classes {self.classes_}")
            priors = [self._named(priors, label) for label in self.classes_.tolist()]
        if not isinstance(priors, str) and priors is not None and not np.isclose(np.sum(priors), 1.0):
            raise InputError(f"The sum of the priors should be 1. Got {np.sum(priors):g}.")
        new = copy.copy(self)
        setattr(new, self._prior_name, priors)
        new._validate_params()
        believed = new.__dict__.pop("_scorer")
        new._replace_ledger(ledger)
        new._scorer = new._scorer.with_maps(calibration=believed.calibration, novelty=believed.novelty)
        log_prior = new._scorer.solved.log_prior  # an unusable prior is refused here, not at the first prediction
        if believed.calibration is not None:
            believed.calibration.shift(log_prior)
        return new

    @staticmethod
    def _named(priors: Mapping[Any, float], label: Any) -> float:
        if label not in priors:
            raise InputError(f"no prior is given for class {label!r}. Hint: name every class")
        return priors[label]

    def _with(self, other: Self, operation: Callable[[Ledger, Ledger], Ledger]) -> Ledger:
        """Our ledger and the other's, combined; refused where the two are not models of the same thing."""
        if not _is_same_type(self, other):
            raise SchemaError(f"{type(self).__name__} cannot be combined with {type(other).__name__}")
        ours, theirs = self.ledger_, other.ledger_
        self._require_additive("combine")
        self._same_parameters(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise SchemaError(
                f"the two models have different classes: {self.classes_.tolist()} and {other.classes_.tolist()}. "
                f"Hint: name all classes in both, partial_fit(X, y, classes=...)"
            )
        return operation(ours, theirs)

    def _require_additive(self, verb: str) -> None:
        """Refuse where sums of ledgers are no ledger of the sums; nearly everywhere they are."""

    def _same_parameters(self, other: Self) -> None:
        mine, theirs = self.get_params(), other.get_params()
        for name in sorted(mine.keys() - self._free_parameters):
            if not _same(mine[name], theirs[name]):
                raise SchemaError(
                    f"the two models differ in {name}: {mine[name]!r} and {theirs[name]!r}. "
                    f"Hint: set_params({name}=...) on one of them and fit it again"
                )

    def _copy(self, ledger: Ledger) -> Self:
        new = copy.copy(self)
        new._replace_ledger(ledger)
        return new


def _is_same_type(a: Any, b: Any) -> bool:
    return type(a) is type(b)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Ledger) or isinstance(b, Ledger) or a is None or b is None or isinstance(a, str):
        return bool(a == b) if type(a) is type(b) else False
    return np.array_equal(np.asarray(a), np.asarray(b))
