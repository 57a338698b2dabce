"""Model files: one safetensors file with a JSON header, written atomically, read without trust.

`load` returns the model of a file of any kind. `write` and `read` know arrays and JSON, and nothing of models; a
`Section` is the part of a file that one object is written to and read from, checked name by name. The format is
described in docs/model-files.md.
"""

import os
import stat
from importlib import import_module
from typing import Any

from deciban.docstrings import document
from deciban.persistence.container import Contents, read, write
from deciban.persistence.section import Section

__all__ = ["Contents", "Section", "load", "read", "write"]

KINDS = {"estimator": "deciban.persistence.estimator_files", "table": "deciban.persistence.table_models"}
"""The kinds of model that a file may hold, and the module whose `read_model` reads each; imported when needed."""


def is_json(path: str | os.PathLike[str]) -> bool:
    """Return whether this is an ordinary file that can be read and begins as JSON; a safetensors file never does."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as handle:
            return handle.read(1) == b"{"
    except OSError:
        return False


@document()
def load(path: str | os.PathLike[str], verify: bool = False) -> Any:
    """Return the model that `save` wrote to this file: it predicts the same, and can learn more.

    A model that was exported as JSON is read too; it predicts and explains, and learns no more.

    It raises ModelFileError where the file is not what was written; a file can hold no code.

    Parameters
    ----------
    path : path
        The file.
    verify : bool
        Whether all arrays of a large file are checked now, and not when they are first used.

    Returns
    -------
    Model or estimator
        The model.

    Examples
    --------
    >>> import deciban, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.deciban")
    ...     deciban.BernoulliNB().fit([[1, 0], [0, 1]], ["ill", "well"]).save(path)
    ...     print(deciban.load(path).predict([[1, 0]]))
    ['ill']
    """
    if is_json(path):
        return import_module("deciban.export.portable_reader").load_json(path)  # by name: it is a layer above
    section = read(path, verify).section()
    return import_module(KINDS[section.text("kind", among=KINDS)]).read_model(section)
