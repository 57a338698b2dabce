"""Trust of evidence regression in words, and their evidence times this trust."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import unknown_class_error
from deciban.ledger.statistic import divide
from deciban.linear.evidence_weights_of_words import extract_word_evidence
from deciban.linear.fitted_model import FittedModel
from deciban.scores import DECIBAN


class TrustedWord(NamedTuple):
    """The evidence of a word for a class in a document of root mean square length, in decibans.

    `decibans` is `evidence`, that of naive Bayes, times the trust in the word.
    """

    word: Any
    decibans: float
    evidence: float
    trust: float


class WordTrustMixin:
    """Trust and evidence of the words of a fitted model, computed on access."""

    if TYPE_CHECKING:  # defined by the estimator
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
        """Return the words with the strongest evidence for a class, in a document of root mean square length."""
        model: FittedModel = self._check_fitted()
        classes = self.classes_.tolist()
        if label not in classes:
            raise unknown_class_error(label, classes)
        k = classes.index(label)
        nats = _subtract_mean_of_others(self._form.weights, k) / self._get_setting("size")
        best = np.argsort(-nats, kind="stable")[:n]
        naive_nats = _subtract_mean_of_others(model.naive.solved.forms[0].linear().weights[:, best], k)
        trust = divide(nats[best], naive_nats)
        names = model.feature_names
        return [
            TrustedWord(names[j], float(nats[j]) * DECIBAN, e * DECIBAN, t)
            for j, e, t in zip(best.tolist(), naive_nats.tolist(), trust.tolist())
        ]

    @property
    def trust_(self) -> Array:
        """The factor of each word's evidence, a row for each class; for two classes one row."""
        evidence = extract_word_evidence(self._check_fitted().naive.solved.forms[0]).T
        return divide(self.coef_, evidence * self._get_setting("size"), self.common_trust_)

    @property
    def common_trust_(self) -> float:
        """The trust that all words have in common."""
        return self._get_setting("common_trust")

    @property
    def alpha_(self) -> float:
        """The pseudo-count that is added: as given, or as chosen by alpha="auto"."""
        family: Any = self._check_fitted().naive.assumption.families[0]
        return float(family.alpha)


def _subtract_mean_of_others(weights: Array, k: int) -> Array:
    """Return a class's weights less the mean of the other classes'."""
    own = weights[k]
    return np.asarray(own - (weights.sum(axis=0) - own) / (len(weights) - 1))
