"""The words that tell a class from the others, by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError, did_you_mean, no_such_class
from deciban.families.telltales import Telltale, telltales
from deciban.ledger import Tallies
from deciban.linear.fitted_model import FittedModel
from deciban.model.weight_summaries import contrasts
from deciban.scores import DECIBAN
from deciban.sources.arrow_cells import label_text

if TYPE_CHECKING:
    from deciban.model.model import Model


def told(model: Model, label: Any, n: int, column: str | None) -> list[Telltale]:
    """The n most telling words of a class in a column of texts."""
    text = _which(model, column)
    belief = model.naive.unsolved()
    known = [str(name) for name in belief.schema.classes]
    if label_text(label) not in known:
        raise no_such_class(label, known)
    block = len(belief.complete.parts) - len(model.layout.texts) + text
    words = belief.complete.schema.blocks[block].names
    if words is None:
        raise UndefinedError(
            f"words were hashed (hashed={model.options.words.hashed}), so there are none to name. "
            f"Hint: train without hashed, and the words are kept"
        )
    if isinstance(model.scorer, FittedModel):
        return _weighed(model.scorer, block, known.index(label_text(label)), n)
    family: Any = belief.assumption.families[block]
    part: Any = belief.complete.parts[block]
    return telltales(family, part, known.index(label_text(label)), n, words)


def _weighed(learned: FittedModel, block: int, k: int, n: int) -> list[Telltale]:
    """The words that come to most in a class's documents, by what they say; a weight has no interval (NaN)."""
    part: Any = learned.naive.complete.parts[block]
    words: Any = learned.naive.complete.schema.blocks[block].names
    said = DECIBAN * (contrasts(learned.solved.prior) @ learned.solved.forms[block].linear().weights)[k]
    counted, documents = _tallies_of(part.occurrences, k), _tallies_of(part.documents, k)
    best = np.lexsort((-said, -np.where(said > 0, said * documents[0], said)))[:n]
    best = best[np.argsort(-said[best], kind="stable")]
    return [
        Telltale(words[v], float(said[v]), math.nan, math.nan, *(float(each[v]) for each in (*counted, *documents)))
        for v in best.tolist()
    ]


def _tallies_of(part: Tallies, k: int) -> tuple[Array, Array]:
    """What class k has of every word, and all others together."""
    own = np.where(part.klass == k, part.total, 0.0)
    here, every = (np.bincount(part.feature, each, part.n_features).astype(float) for each in (own, part.total))
    return here, every - here


def _which(model: Model, column: str | None) -> int:
    """The number of the text that is meant: the only one, or the one that is named."""
    names = [feature.column for feature in model.layout.texts]
    if not names:
        raise UndefinedError(
            "the model has no column of texts, so no words tell its classes apart. "
            "Hint: describe() tells what its columns say; --as COLUMN=text (roles={'COLUMN': 'text'}) reads words"
        )
    if column is None:
        if len(names) > 1:
            raise InputError(f"the model has {len(names)} columns of texts. Hint: column= one of {names}")
        return 0
    if column not in names:
        near = did_you_mean(column, names) or "."
        raise InputError(f"{column!r} is no column of texts{near} Hint: column= one of {names}")
    return names.index(column)
