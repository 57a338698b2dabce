"""What evidence regression has found out about words: which it trusts, how much, and what they say then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import no_such_class
from deciban.ledger.statistic import divide
from deciban.linear.evidence_weights_of_words import extract_word_evidence
from deciban.linear.fitted_model import FittedModel
from deciban.scores import DECIBAN


class TrustedWord(NamedTuple):
    """A word that tells a class from all others: what it says in a document of the usual length, in decibans.

    That is its evidence, what it says under naive Bayes, times the trust in it.
    """

    word: Any
    decibans: float
    evidence: float
    trust: float


class WordTrustMixin:
    """Trust and evidence of a fitted model, made when asked for."""

    if TYPE_CHECKING:  # what the facade brings
        classes_: NDArray[Any]
        _check_fitted: Callable[[], Any]
        coef_: Array

    @property
    def _form(self) -> Any:
        return self._check_fitted().solved.forms[0]

    def _get_setting(self, name: str) -> float:
        model: FittedModel = self._check_fitted()
        return float(model.account.settings[name])  # type: ignore[arg-type]

    def telltales(self, label: Any, n: int = 10) -> list[TrustedWord]:
        """The words that speak most for a class against all others, in a document of the usual length."""
        model: FittedModel = self._check_fitted()
        classes = self.classes_.tolist()
        if label not in classes:
            raise no_such_class(label, classes)
        k = classes.index(label)
        said = _above_others(self._form.weights, k) / self._get_setting("size")
        best = np.argsort(-said, kind="stable")[:n]
        told = _above_others(model.naive.solved.forms[0].linear().weights[:, best], k)
        trust = divide(said[best], told)
        names = model.feature_names
        return [
            TrustedWord(names[j], float(said[j]) * DECIBAN, e * DECIBAN, t)
            for j, e, t in zip(best.tolist(), told.tolist(), trust.tolist())
        ]

    @property
    def trust_(self) -> Array:
        """How much of what each word says is believed, one row a class, of two classes one for both."""
        said = extract_word_evidence(self._check_fitted().naive.solved.forms[0]).T
        return divide(self.coef_, said * self._get_setting("size"), self.common_trust_)

    @property
    def common_trust_(self) -> float:
        """The trust that all words have in common."""
        return self._get_setting("common_trust")

    @property
    def alpha_(self) -> float:
        """The pseudo-count that is added: as given, or what alpha="auto" has chosen by what was counted."""
        family: Any = self._check_fitted().naive.assumption.families[0]
        return float(family.alpha)


def _above_others(weights: Array, k: int) -> Array:
    """A class's weights less the mean of the other classes'."""
    own = weights[k]
    return np.asarray(own - (weights.sum(axis=0) - own) / (len(weights) - 1))
