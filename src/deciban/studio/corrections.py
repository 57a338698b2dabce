"""Corrections of labels: rows whose labels the model doubts, exact changes or refits, and their undoing."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban.formatting import format_count
from deciban.metrics.report import Report
from deciban.model.model import Model
from deciban.option_values import join_list
from deciban.server.problems import Problem
from deciban.sources.arrow_cells import format_label
from deciban.sources.row_views import CopyingView, RowRange
from deciban.studio.command_lines import (
    format_corrected_query,
    format_options,
    format_row_query,
    quote_query,
    write_python_query,
)
from deciban.studio.data_set import DataSet, quote_path
from deciban.studio.workspace import Step, Workspace
from deciban.training.train import train

if TYPE_CHECKING:
    from deciban.studio.jobs import Job

MAX_SCANNED_ROWS = 200_000
"""The first rows of a table among which doubtful labels are looked for."""

MAX_INSTANT_ROWS = 20_000
"""The number of learned rows up to which a model is trained again while the page waits; of more, by a job."""

MAX_INSTANT_BYTES = 2_000_000
"""The size of the table up to which a model is trained again while the page waits; of a larger one, by a job."""

PAGE_ROWS = 20
"""Rows on a page."""

MAX_SHOWN_CELLS = 5
"""Cells of a row that the list shows: those of the columns that are strongest in the model."""

FORGET = "forget"
"""The page's word for taking a row out of the model."""


@dataclass(frozen=True)
class DoubtfulRow:
    """A row by its number from 0, its label, the probability of that label by the model, and the predicted class."""

    row: int
    label: str
    probability: float
    prediction: str
    prediction_probability: float


@dataclass(frozen=True)
class Correction:
    """A change of one label, everything that it replaced, the model after it, and the step that does the same.

    `after` is None where the row was forgotten; `replaced` is the step of the correction before, which the step does
    too: a training on all corrected labels.
    """

    row: int
    before: str
    after: str | None
    data: DataSet
    model: Model
    report: Report | None
    result: Model
    step: Step
    replaced: Step | None


def get_history(workspace: Workspace) -> list[Correction]:
    """Return the corrections that led to the open model, the first one first; another model begins a new history."""
    history: list[Correction] = workspace.page_state.setdefault("correct", [])
    if history and history[-1].result is not workspace.model:
        history.clear()
    return history


def has_ledger(model: Model) -> bool:
    """Return whether a model learns and forgets rows exactly; another has to be trained again."""
    return model.learner in ("bayes", "aode")


def list_class_names(model: Model) -> list[str]:
    """Return the classes of a model as texts, in its order."""
    return [str(label) for label in model._scorer.outline.classes]


def find_doubtful_rows(workspace: Workspace) -> list[DoubtfulRow]:
    """Return the labelled ones of the first `MAX_SCANNED_ROWS` rows, those of the least probable labels first.

    They are kept as long as table and model are the same.
    """
    data, model = workspace.need_data(), workspace.need_model()
    kept = workspace.page_state.get("doubtful")
    if kept is None or kept[0] is not data or kept[1] is not model:
        rows = sorted(scan_rows(model, data, 0, MAX_SCANNED_ROWS), key=lambda row: (row.probability, row.row))
        kept = workspace.page_state["doubtful"] = data, model, rows
    found: list[DoubtfulRow] = kept[2]
    return found


def scan_rows(model: Model, data: DataSet, start: int, count: int) -> list[DoubtfulRow]:
    """Return the rows of a range that have a label, in order, each with the probability of its label."""
    if model.target not in data.columns:
        raise Problem(409, f"the table has no column {model.target!r}. Hint: open the table that the model predicts")
    view = CopyingView(RowRange(data.source(), start, count), [model.target])
    names = list_class_names(model)
    codes = {name: k for k, name in enumerate(names)}
    found, row = [], start
    for batches, parts in model._read_blocks(view, True, model._make_unseen_monitor()):
        posterior = model._score(parts, "posterior")
        (labels,) = view.copied_columns(batches)
        for label, p in zip(view.trim(labels).to_pylist(), posterior):
            k = int(np.argmax(p))
            if label is not None:
                code = codes.get(format_label(label))
                own = 0.0 if code is None else float(p[code])
                found.append(DoubtfulRow(row, format_label(label), own, names[k], float(p[k])))
            row += 1
    return found


def is_changed_by_row(workspace: Workspace) -> bool:
    """Return whether a correction changes one row of the ledger, and nothing else.

    It does so in a model that was not trained on this table, as from a file or a sum of models: it may have learned
    other rows too. A model that was trained on it is trained again, as its calibration depends on all rows.
    """
    return not workspace.has_trained_model and has_ledger(workspace.need_model())


def needs_job(workspace: Workspace) -> bool:
    """Return whether a correction is done in a job, with progress: a fit of another learner, or of a large table."""
    model, size = workspace.need_model(), workspace.need_data().size_bytes
    if not has_ledger(model):
        return True
    return not is_changed_by_row(workspace) and (model.ledger.n_rows > MAX_INSTANT_ROWS or size > MAX_INSTANT_BYTES)


def correct_label(workspace: Workspace, row: int, label: str | None, version: int, job: Job | None = None) -> bool:
    """Change the label of a row, or with None leave the row out, in the table and in the model.

    Return whether that was done: not if the workspace has another version by the end of a job.
    """
    data, model = workspace.need_data(), workspace.need_model()
    before = _check_label(workspace, row, label)
    corrected = data.with_label(row, label, model.target)
    is_refitted = not is_changed_by_row(workspace)
    if is_refitted:
        classes = _keep_classes(model, before, label) if workspace.has_trained_model else None
        changed = train(corrected.table, target=model.target, like=model, classes=classes, progress=job)
        changed.origin = replace(changed.origin, source=model.origin.source)
    else:
        changed = copy.copy(model).forget(RowRange(data.source(), row, 1))
        if label is not None:
            changed.add(RowRange(corrected.source(), row, 1))
    with workspace.lock:
        if workspace.version != version:
            return False
        history, report, replaced = get_history(workspace), workspace.report, None
        workspace.data = corrected
        workspace.set_model(changed, workspace.model_name, changed.held_out, workspace.warnings)
        title = f"Corrected: row {row + 1} {'forgotten' if label is None else f'relabelled {label}'}"
        if is_refitted:
            workspace.trained_models.append(changed)
            if history:
                title += f", after {format_count(len(history), 'other correction')}"
                replaced = workspace.steps.pop() if workspace.steps[-1] is history[-1].step else None
            step = _record_fit(workspace, title)
        else:
            step = _record_change(workspace, title, row, before, label)
        history.append(Correction(row, before, label, data, model, report, changed, step, replaced))
    return True


def _keep_classes(model: Model, before: str, after: str | None) -> list[str] | None:
    """Return all classes where one has no row once a label was changed, so that training keeps it; else None."""
    n_rows = dict(zip(list_class_names(model), model.ledger.rows.tolist()))
    for label, change in ((before, -1), (after, 1)):
        if label in n_rows:  # "?" marks a missing label
            n_rows[label] += change
    return list(n_rows) if min(n_rows.values()) <= 0 else None


def undo_correction(workspace: Workspace) -> Correction:
    """Take back the last correction: table, model, report and steps are those of before."""
    history = get_history(workspace)
    if not history:
        raise Problem(409, "there is no correction to take back")
    last = history.pop()
    workspace.trained_models = [each for each in workspace.trained_models if each is not last.result]
    workspace.data = last.data
    workspace.set_model(last.model, workspace.model_name, last.report, workspace.warnings)
    steps = [last.replaced if step is last.step else step for step in workspace.steps]
    workspace.steps = [step for step in steps if step is not None]
    return last


def _check_label(workspace: Workspace, row: int, label: str | None) -> str:
    """Return the present label of a row; refuse a label that there is not, or the one that it has."""
    model = workspace.need_model()
    names = list_class_names(model)
    if label is not None and label not in names:
        raise Problem(400, f"there is no class {label[:80]!r}. Hint: one of {', '.join(names[:10])}")
    found = scan_rows(model, workspace.need_data(), row, 1)
    if not found:
        raise Problem(409, f"row {row + 1} has no label: there is nothing to correct")
    if found[0].label == label:
        raise Problem(409, f"row {row + 1} has the label {label!r} already")
    return found[0].label


def _record_change(workspace: Workspace, title: str, row: int, before: str, after: str | None) -> Step:
    """Record the change of one row of the model as Python and as command lines; return the step."""
    data, model, name = workspace.need_data(), workspace.need_model(), workspace.model_name
    changes = [("forget", before), ("add", after)]
    queries = [
        (verb, format_row_query(data, row, model.target, label)) for verb, label in changes if label is not None
    ]
    python = "".join(f"model.{verb}(sql={write_python_query(query)})\n" for verb, query in queries)
    command = "\n".join(f"deciban {verb} {quote_path(name)} --sql {quote_query(query)}" for verb, query in queries)
    return workspace.record(title, f"{python}model.save({name!r})", command)


def _record_fit(workspace: Workspace, title: str) -> Step:
    """Record a training on the table with its corrected labels as Python and as a command line; return the step."""
    data, model, name = workspace.need_data(), workspace.need_model(), workspace.model_name
    query, word = format_corrected_query(data), quote_path(name)
    classes = None if model.ledger.rows.all() else list_class_names(model)
    table = f"sql={write_python_query(query)}" if query else repr(data.training_name)
    more = f", classes={classes!r}" if classes else ""
    python = f"model = deciban.train({table}, target={model.target!r}, like=model{more})\nmodel.save({name!r})"
    words = f"--sql {quote_query(query)}" if query else quote_path(data.training_name)
    options = format_options({"target": model.target, "like": name, "classes": classes and join_list(classes)})
    return workspace.record(title, python, f"deciban train {words}{options} -o {word}")


def describe_rows(workspace: Workspace, rows: Sequence[DoubtfulRow], order: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows for the page, each with the cells of the columns that are strongest in the model."""
    data, model = workspace.need_data(), workspace.need_model()
    strongest = [name for name in order if name in data.columns and name != model.target]
    others = [column.name for column in model.columns if column.modelled_features and column.name not in strongest]
    cells = data.read_cells([row.row for row in rows], [*strongest, *others][:MAX_SHOWN_CELLS])
    return [{"row": row, "cells": list(cells.get(row.row, {}).items())} for row in rows]
