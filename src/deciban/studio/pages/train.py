"""The page Train: learn from the open table, then the report on rows that were held out."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deciban.server.problems import Problem
from deciban.studio.render import render
from deciban.studio.reports import describe_accuracy, list_figures, list_strongest, make_confusion
from deciban.studio.requests import get_workspace, read_form, run
from deciban.studio.training import LEARNERS, get_findings, train
from deciban.studio.workspace import Workspace


async def show(request: Request) -> Response:
    """Show the learners, and the report of the open model."""
    workspace = get_workspace(request)
    found = await run(workspace, _describe_model, workspace)
    return render(request, "train.html", learners=LEARNERS, **found)


def _describe_model(workspace: Workspace) -> dict[str, Any]:
    """Return the variables of the template that describe the open model."""
    model, report = workspace.model, workspace.report
    if model is None:
        return {"figures": [], "sentence": "", "confusion": [], "strongest": [], "findings": [], "step": None}
    quality = report.to_dict() if report is not None else model.quality
    steps = [step for step in workspace.steps if workspace.model_name in step.command]
    return {
        "figures": list_figures(quality) if quality else [],
        "sentence": describe_accuracy(quality) if quality else "",
        "confusion": make_confusion(report) if report is not None else [],
        "strongest": list_strongest(model),
        "findings": get_findings(workspace),
        "step": steps[-1] if steps else None,
    }


async def start(request: Request) -> Response:
    """Start the training."""
    workspace, form = get_workspace(request), await read_form(request)
    learner = form.get("learner", "bayes")
    if learner not in LEARNERS:
        raise Problem(400, f"there is no learner {learner[:40]!r}. Hint: one of {', '.join(LEARNERS)}")
    data = workspace.need_data()
    workspace.need_target()
    workspace.start_job(f"Learning from {data.name}", partial(train, workspace, learner), data.n_rows)
    return JSONResponse({})


ROUTES = [Route("/train", show), Route("/train/start", start, methods=["POST"])]
