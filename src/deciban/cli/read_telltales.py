"""Telltales of a model file: of a table with texts, or of a classifier of documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deciban.errors import InputError

FIGURES = ("decibans", "low", "high", "count", "elsewhere", "documents", "documents_elsewhere")
"""What is known of a word."""


@dataclass(frozen=True)
class Telling:
    """A class and its telltales, the most telling first."""

    label: Any
    words: Sequence[Any]

    def rows(self) -> list[dict[str, Any]]:
        """A line for each word; weights that were fitted have no interval."""
        return [{"word": word.word, **{name: _known(getattr(word, name)) for name in FIGURES}} for word in self.words]

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {"class": self.label, "words": self.rows()}


def _known(figure: float) -> float | None:
    return None if math.isnan(figure) else figure


@dataclass(frozen=True)
class Teller:
    """A model that knows words, and the column of its texts that is meant."""

    model: Any
    column: str | None = None

    @property
    def classes(self) -> list[Any]:
        """The classes, in order."""
        found = self.model.classes_ if hasattr(self.model, "classes_") else self.model.classes
        return list(found.tolist() if hasattr(found, "tolist") else found)

    def chosen(self, labels: Sequence[str] | None) -> list[Any]:
        """The classes of these names, each once; all where none is named."""
        known = {str(label): label for label in self.classes}
        if not labels:
            return self.classes
        from deciban.errors import no_such_class

        for label in labels:
            if label not in known:
                raise no_such_class(label, list(known))
        return [known[label] for label in dict.fromkeys(labels)]

    def tell(self, labels: Sequence[str] | None, n: int) -> list[Telling]:
        """The n most telling words of each class; of those with few, as many as speak for it at all."""
        which = {} if self.column is None else {"column": self.column}
        return [
            Telling(label, [word for word in self.model.telltales(label, n, **which) if word.decibans > 0])
            for label in self.chosen(labels)
        ]


def open_telltale_model(path: Path, column: str | None) -> Teller:
    """The model of a file, if it knows any words."""
    from deciban.cli.model_files import load

    model = load(path)
    if not hasattr(model, "telltales"):
        raise InputError(
            f"{str(path)!r} holds a {type(model).__name__}, which knows no words. "
            f"Hint: telltales are of a model that was trained on texts"
        )
    if column is not None and type(model).__name__ == "TextClassifier":
        raise InputError(f"{str(path)!r} knows documents and no columns. Hint: leave --column out")
    return Teller(model, column)
