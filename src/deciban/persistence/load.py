"""Loading of model files of every kind."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from deciban import persistence

KINDS = {
    "estimator": "deciban.persistence.estimator_files",
    "table": "deciban.persistence.table_models",
}
"""The kinds of model that a file may hold, and the module whose `read_model` reads each; imported when needed."""


def load(path: str | os.PathLike[str], verify: bool = False) -> Any:
    """Return the model that `save` wrote to this file: it predicts the same, and can learn more.

    A large file is mapped, and its arrays are checked when they are first used; `verify` checks all of them now.
    Raises ModelFileError where the file is not what was written; it can hold no code.
    """
    section = persistence.read(path, verify).section()
    return import_module(KINDS[section.text("kind", among=KINDS)]).read_model(section)
