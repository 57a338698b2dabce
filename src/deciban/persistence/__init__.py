"""Model files: one safetensors file with a JSON header, written atomically, read without trust.

`load` returns the model of a file of any kind. `write` and `read` know arrays and JSON, and nothing of models; a
`Section` is the part of a file that one object is written to and read from, checked name by name. The format is
described in docs/model-files.md.
"""

import os
from importlib import import_module
from typing import Any

from deciban.persistence.container import Contents, read, write
from deciban.persistence.section import Section

__all__ = ["Contents", "Section", "load", "read", "write"]

KINDS = {"estimator": "deciban.persistence.estimator_files", "table": "deciban.persistence.table_models"}
"""The kinds of model that a file may hold, and the module whose `read_model` reads each; imported when needed."""


def load(path: str | os.PathLike[str], verify: bool = False) -> Any:
    """Return the model that `save` wrote to this file: it predicts the same, and can learn more.

    A large file is mapped, and its arrays are checked when they are first used; `verify` checks all of them now.
    Raises ModelFileError where the file is not what was written; it can hold no code.
    """
    section = read(path, verify).section()
    return import_module(KINDS[section.text("kind", among=KINDS)]).read_model(section)
