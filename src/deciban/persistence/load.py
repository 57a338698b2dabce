"""Opening model files: whatever was saved comes back as what it was."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from deciban import persistence as files

KINDS = {
    "estimator": "deciban.persistence.estimator_files",
    "table": "deciban.persistence.table_models",
}
"""What a file may hold, and the module whose `opened` makes it of the file's contents; loaded when it is needed."""


def load(path: str | os.PathLike[str], verify: bool = False) -> Any:
    """The model that `save` wrote to this file: it predicts the same, and goes on learning.

    A large file is mapped, and its arrays are checked when they are first used; `verify` checks all of them now.
    Raises ModelFileError where the file is not what was written; it can hold no code.
    """
    contents = files.read(path, verify)
    kind = contents.section().text("kind", among=KINDS)
    return import_module(KINDS[kind]).opened(contents)
