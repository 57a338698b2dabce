"""A table of one text under the events of `TextClassifier` that `train` does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from deciban.families.family import log
from deciban.families.text_family import Text
from deciban.metrics.choice import Setting
from deciban.model.model_options import Options
from deciban.scores.posterior import finish
from deciban.training.rescoring import Held, Ways, scores

ALPHAS = (1.0, 0.1, 0.01, "auto")


def wordings(held: Held, options: Options) -> Ways:
    """Every event, with and without idf, on the rows of one fold; with idf words are no counts to be asked."""
    part: Any = held.rest.parts[0]
    (X,) = held.rows.parts
    for told, family in _families(options, part.presence):
        log_prior = log(options.prior.solve(held.rest.rows))
        if not family.probabilistic:
            log_prior = np.zeros(len(log_prior))
        asked = X if not family.idf else _weighed(X, family.idf_of(part))
        joint = scores(family, part, asked, told.get("alpha") == "auto") + log_prior
        yield Setting(told, "TextClassifier"), finish(joint, log_prior, "log_posterior")[0]


def _families(options: Options, presence: bool) -> Iterator[tuple[dict[str, Any], Text]]:
    plain = Text(options.words.reading)
    for alpha in ALPHAS:
        number = 1.0 if isinstance(alpha, str) else alpha
        told = {} if alpha == 1.0 else {"alpha": alpha}
        for event in ("bernoulli", "complement"):
            yield {"event": event, **told}, replace(plain, event=event, alpha=number)
        if isinstance(alpha, str) or presence:
            continue
        yield {"idf": True, **told}, replace(plain, idf=True, alpha=number)
        yield {"event": "complement", "idf": True, **told}, replace(plain, event="complement", idf=True, alpha=number)


def _weighed(X: Any, idf: Any) -> Any:
    rows = X.copy()
    rows.data = rows.data * idf[rows.indices]
    return rows
