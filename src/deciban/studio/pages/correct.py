"""The page Correct: rows whose labels seem wrong, a new label or none for each, the report before and after, undo."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deciban.formatting import format_count, format_number, format_percent, format_percent_range, format_signed
from deciban.html_fragments import Markup, element, join, make_table
from deciban.metrics.report import Report
from deciban.server.problems import Problem
from deciban.studio.corrections import (
    FORGET,
    PAGE_ROWS,
    correct_label,
    describe_rows,
    find_doubtful_rows,
    get_history,
    is_changed_by_row,
    list_class_names,
    needs_job,
    scan_rows,
    undo_correction,
)
from deciban.studio.jobs import Job
from deciban.studio.pages.ask import get_order, read_row_number
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, parse_whole_number, read_form, redirect, run
from deciban.studio.workspace import Workspace

REFITTED = "The model was trained again."


async def show(request: Request) -> Response:
    """Show rows with their labels, those that the model doubts most first, and what was corrected."""
    workspace = get_workspace(request)
    if workspace.model is None or workspace.data is None:
        return render(request, "correct.html", rows=None)
    by = "order" if request.query_params.get("by") == "order" else "doubt"
    context = await run(workspace, _make_context, workspace, by, read_row_number(request))
    return render(request, "correct.html", by=by, **context)


def _make_context(workspace: Workspace, by: str, first: int) -> dict[str, Any]:
    """Return a page of rows and the history; `first` counts from 1 in this order, and is 1 if beyond the end."""
    model, data = workspace.need_model(), workspace.need_data()
    if by == "order":  # rows without a label are not shown, so that a page may have fewer than others
        n_rows = data.read_rows(first - 1, PAGE_ROWS + 1).num_rows
        if not n_rows:
            first, n_rows = 1, data.read_rows(0, PAGE_ROWS + 1).num_rows
        rows, has_next = scan_rows(model, data, first - 1, PAGE_ROWS), n_rows > PAGE_ROWS
    else:
        every = find_doubtful_rows(workspace)
        first = first if first <= len(every) else 1
        rows, has_next = every[first - 1 : first - 1 + PAGE_ROWS], len(every) >= first + PAGE_ROWS
    return {
        "rows": describe_rows(workspace, rows, get_order(workspace, model)), "first": first, "page_rows": PAGE_ROWS,
        "has_next": has_next, "classes": list_class_names(model), "target": model.target, "forget": FORGET,
        "history": list(reversed(get_history(workspace))), "reports": _compare_reports(workspace),
        "is_changed_by_row": is_changed_by_row(workspace), "is_replaced": not workspace.has_trained_model,
        "needs_job": needs_job(workspace),
    }  # fmt: skip


async def apply(request: Request) -> Response:
    """Correct the label of a row, or forget it: at once, or by a job that fits the model again."""
    workspace, form = get_workspace(request), await read_form(request)
    row, chosen = parse_whole_number(form.get("row", "")), form.get("label", "")
    if row is None or not chosen:
        raise Problem(400, "a correction needs the number of a row and a label")
    label = None if chosen == f"{FORGET}:" else chosen.removeprefix("label:")
    await run(workspace, _apply, workspace, row, label, form.get("version", ""))
    return redirect("/correct")


def _apply(workspace: Workspace, row: int, label: str | None, shown_version: str) -> None:
    """Correct a label, or start the job that does; refuse where the page shows another version of the workspace."""
    version = workspace.version
    if shown_version not in ("", str(version)):
        raise Problem(409, "the table or the model has changed since this page was loaded. Hint: load the page again")
    done = f"Row {row + 1} is forgotten." if label is None else f"Row {row + 1} is now labelled {label}."
    if needs_job(workspace):

        def refit(job: Job) -> str:
            if correct_label(workspace, row, label, version, job):
                workspace.notice = f"{done} {REFITTED}"
            return "/correct"

        workspace.start_job("Fitting the model again", refit, workspace.need_data().n_rows)
        return
    is_changed = is_changed_by_row(workspace)
    is_calibrated = is_changed and workspace.need_model().calibration
    dropped = ", whose calibration is that of the rows before" if is_calibrated else ""
    correct_label(workspace, row, label, version)
    workspace.notice = f"{done} {f'The row was changed in the model{dropped}.' if is_changed else REFITTED}"


async def undo(request: Request) -> Response:
    """Take back the last correction."""
    workspace = get_workspace(request)
    last = await run(workspace, undo_correction, workspace)
    workspace.notice = f"The correction of row {last.row + 1} was taken back."
    return redirect("/correct")


def _compare_reports(workspace: Workspace) -> Markup:
    """Return as HTML the held-out figures before the first correction and now."""
    history = get_history(workspace)
    return show_two_reports(history[0].report if history else None, workspace.report)


def show_two_reports(before: Report | None, after: Report | None) -> Markup:
    """Return the main figures of two reports on held-out rows, and their differences."""
    if before is None or after is None:
        return element(
            "p", "The model was not evaluated on this table: there is no report of before to compare with."
        )
    figures = (("accuracy", 100.0, 2, " %"), ("balanced_accuracy", 100.0, 2, " %"), ("log_loss", 1.0, 4, ""),
               ("calibration_error", 1.0, 4, ""))  # fmt: skip
    rows = []
    for name, factor, digits, unit in figures:
        a, b = (factor * getattr(report, name) for report in (before, after))
        shown = [f"{format_number(value, digits)}{unit}" for value in (a, b)]
        rows.append([name.replace("_", " ").replace("log loss", "log-loss"), *shown, format_signed(b - a, digits)])
    accuracy, interval = format_percent(after.accuracy), format_percent_range(after.accuracy_interval)
    rows_held_out = format_count(after.rows, "row")
    sure = element("p", f"Held-out accuracy now {accuracy} (95 % interval: {interval} %), on {rows_held_out}.")
    table = make_table(["held-out figure", "before", "after", "difference"], rows)
    return element("div", join(table, sure), class_="db")


ROUTES = [
    Route("/correct", show),
    Route("/correct/apply", apply, methods=["POST"]),
    Route("/correct/undo", undo, methods=["POST"]),
]
