"""The page Mail: messages of which the filter is unsure, one click to label each, undo, and the filter's figures."""

from __future__ import annotations

from time import localtime, strftime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deciban.formatting import format_probability
from deciban.mail.status_figures import describe_figures, read_figures
from deciban.server.problems import Problem
from deciban.studio.jobs import Job
from deciban.studio.mail_queue import MailQueue, check_store
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, parse_whole_number, read_form, redirect, run
from deciban.studio.workspace import Workspace

SHOWN_LEARNED = 10
"""Messages learned here that are listed, the last ones first."""

SHOWN_CHANGES = 6
"""Changes of the store that are listed, whichever program made them."""


def get_queue(workspace: Workspace) -> MailQueue:
    """Return the queue of the studio, which stays when another table is opened."""
    if workspace.mail_queue is None:
        workspace.mail_queue = MailQueue(workspace.settings)
    return workspace.mail_queue


async def show(request: Request) -> Response:
    """Show the message at the head of the queue, what was learned, and the figures of the filter."""
    workspace = get_workspace(request)
    problem = await run(workspace, check_store, workspace.settings)
    if problem:
        return render(request, "mail.html", problem=problem)
    skip = parse_whole_number(request.query_params.get("skip", "")) or 0
    context = await run(workspace, _make_context, workspace, skip)
    return render(request, "mail.html", problem="", skip=skip, **context)


def _make_context(workspace: Workspace, skip: int) -> dict[str, Any]:
    queue = get_queue(workspace)
    shown = queue.show_next(skip)
    with queue.open_filter() as mail:
        figures = read_figures(mail)
        journal = mail.store.journal(SHOWN_CHANGES)
    return {
        "queue": queue, "shown": shown, "labels": queue.list_labels(), "figures": describe_figures(figures),
        "probability": "" if shown is None else format_probability(shown.verdict.probability),
        "learned": list(reversed(queue.learned))[:SHOWN_LEARNED], "fit_due": figures["fit_due"],
        "journal": [(strftime("%Y-%m-%d %H:%M", localtime(when)), what) for when, what in journal],
        "is_ready": figures["ready"], "why_not_ready": figures["why"],
    }  # fmt: skip


async def scan(request: Request) -> Response:
    """Start the scan of the folders."""
    workspace = get_workspace(request)
    queue = get_queue(workspace)
    if not workspace.settings.mail_sources:
        raise Problem(409, "no folder is named. Hint: deciban studio --mail STORE --messages FOLDER")

    def work(job: Job) -> str:
        job.things = "messages"
        queue.scan(job)
        return "/mail"

    workspace.start_job("Reading messages", work)
    return redirect("/mail")


async def learn(request: Request) -> Response:
    """Learn a message of the queue under a label."""
    workspace, form = get_workspace(request), await read_form(request)
    queue, label = get_queue(workspace), form.get("label", "")
    if label not in await run(workspace, queue.list_labels):
        raise Problem(400, f"there is no label {label[:40]!r}")
    await run(workspace, queue.learn, form.get("message", ""), label)
    workspace.notice = f"Learned as {label}."
    return redirect("/mail")


async def undo(request: Request) -> Response:
    """Unlearn a message that was learned here."""
    workspace, form = get_workspace(request), await read_form(request)
    await run(workspace, get_queue(workspace).undo, form.get("message", ""))
    workspace.notice = "Unlearned: the message is back in the queue."
    return redirect("/mail")


async def fit(request: Request) -> Response:
    """Fit the weights of the filter again."""
    workspace = get_workspace(request)
    queue = get_queue(workspace)

    def work(job: Job) -> str:
        with queue.open_filter() as mail:
            mail.refit(force=True)
        workspace.notice = "The weights of the filter were fitted again."
        return "/mail"

    workspace.start_job("Fitting the filter", work)
    return redirect("/mail")


ROUTES = [
    Route("/mail", show),
    Route("/mail/scan", scan, methods=["POST"]),
    Route("/mail/learn", learn, methods=["POST"]),
    Route("/mail/undo", undo, methods=["POST"]),
    Route("/mail/fit", fit, methods=["POST"]),
]
