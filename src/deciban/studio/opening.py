"""Opening tables and models: by a path, from a dropped file, or a bundled example."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from deciban._lazy import pc
from deciban.errors import InputError
from deciban.load_model import open_model
from deciban.server.problems import Problem
from deciban.studio.data_set import DataSet, quote_path
from deciban.studio.workspace import Workspace

MODEL_ENDING = ".deciban"

EXAMPLES = {
    "patients": "400 patients and their diagnosis (made up)",
    "iris": "Fisher's 150 flowers of three species",
    "tennis": "The 14 days of the textbooks: play or not?",
    "messages": "400 short texts and their topic (made up)",
}
"""The bundled tables that can be learned from, and what they are."""

TARGET_NAMES = (
    "target", "class", "label", "y", "diagnosis", "species", "outcome", "topic", "play", "category", "result",
    "survived", "churn", "spam", "digit",
)  # fmt: skip
"""Names, in lower case, that columns to predict usually have."""

MAX_TARGET_CLASSES = 30
"""The number of different values up to which a column is taken for the one to predict without having such a name."""

UNSAFE_CHARACTERS = re.compile(r"[^\w.() +-]+")


def clean_name(name: str) -> str:
    """Return the name of a dropped file as that of a file in a folder of ours: no folders, no odd characters.

    >>> clean_name("../../etc/passwd"), clean_name("C:\\\\data\\\\my table.csv"), clean_name("..")
    ('passwd', 'my table.csv', 'table.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    cleaned = UNSAFE_CHARACTERS.sub("-", last).strip(" .-")[-120:].strip(" .-")
    return cleaned or "table.csv"


def open_file(workspace: Workspace, path: str, name: str | None = None) -> None:
    """Open a table, or a model file, that lies on this machine; `name` is shown in place of its path."""
    path = os.path.expanduser(path)
    if path.endswith(MODEL_ENDING) and os.path.isfile(path):
        open_model_file(workspace, path, name)
        return
    open_table(workspace, DataSet.open(path, name))


def open_model_file(workspace: Workspace, path: str, name: str | None = None) -> None:
    """Open a model file, shown under `name`; a table that is open and has its columns stays open."""
    model, shown, file = open_model(Path(path)), name or os.path.basename(path), name or path
    workspace.keep_data_for(model)
    workspace.set_model(model, shown, model.held_out)
    workspace.record(
        f"Opened the model {shown}", f"model = deciban.load({file!r})", f"deciban inspect {quote_path(file)}"
    )


def open_example(workspace: Workspace, name: str) -> None:
    """Open one of the bundled tables."""
    if name not in EXAMPLES:
        raise Problem(404, f"there is no example {name[:40]!r}. Hint: one of {', '.join(EXAMPLES)}")
    path = workspace.settings.examples / f"{name}.csv"
    open_table(workspace, DataSet.open(str(path), f"{name}.csv", name))


def open_table(workspace: Workspace, data: DataSet) -> None:
    """Open a table, with the column that is probably the one to predict; InputError for one without rows."""
    if not data.head.num_rows:
        raise InputError(f"{data.name} has no rows, only a header. Hint: a table to learn from needs some")
    workspace.set_data(data, guess_target(data)[0])
    command = f"deciban example {data.example} > {data.shell_name}" if data.example else ""
    workspace.record(f"Opened {data.name}", f"table = {data.name!r}", command)


def guess_target(data: DataSet) -> tuple[str | None, str]:
    """Return the column that is probably the one to predict, and why; None where no column looks so."""
    distinct = {name: _count_distinct(data.head.column(name)) for name in data.columns}
    usable = [name for name in data.columns if 2 <= distinct[name] <= max(2, data.head.num_rows // 2)]
    for wanted in TARGET_NAMES:
        for name in usable:
            if name.lower().strip() == wanted:
                return name, "its name suggests so"
    few = [name for name in usable if distinct[name] <= MAX_TARGET_CLASSES]
    for place, name in (("last", data.columns[-1]), ("first", data.columns[0])):
        if name in few:
            return name, f"it is the {place} column, and has {distinct[name]} different values"
    return (few[-1], f"it has {distinct[few[-1]]} different values") if few else (None, "")


def _count_distinct(column: Any) -> int:
    """Return the number of different values of an Arrow column, missing ones left out; 0 for nested values."""
    try:
        return int(pc.count_distinct(column, mode="only_valid").as_py())
    except NotImplementedError:
        return 0
