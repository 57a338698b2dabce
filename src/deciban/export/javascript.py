"""A model as one ES module without dependencies: the fixed part, `scorer.mjs`, and the document of the model."""

from __future__ import annotations

import json
from importlib.resources import files

from deciban.errors import InputError
from deciban.export.portable import Document


def write_javascript(document: Document) -> str:
    """Return the source of a module whose default export is the model; refuse hashed words."""
    if document.get("words", {}).get("hashed") is not None:
        raise InputError(
            "texts are counted by hashes of their words, which the JavaScript module does not compute. "
            "Hint: train without hashed words; the JSON export has the scores of all hashes"
        )
    fixed = (files("deciban.export") / "scorer.mjs").read_text(encoding="utf-8")
    return f"{fixed}\nexport default new Model({write_json(document)});\n"


def write_json(document: Document) -> str:
    """Return a document as JSON in ASCII, in which no text can end a script element of a page."""
    return json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
