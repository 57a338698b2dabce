"""The page Train: learn from the open table, then the report on rows that were held out."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deciban.server.problems import Problem
from deciban.studio.render import render
from deciban.studio.reports import describe_model
from deciban.studio.requests import get_workspace, read_form, run
from deciban.studio.training import LEARNERS, train
from deciban.studio.workspace import Workspace


async def show(request: Request) -> Response:
    """Show the learners, and the report of the open model."""
    workspace = get_workspace(request)
    found = await run(workspace, _make_context, workspace)
    return render(request, "train.html", learners=LEARNERS, **found)


def _make_context(workspace: Workspace) -> dict[str, Any]:
    """Return the variables of the template: the open model, and the last step whose command names its file."""
    if workspace.model is None:
        return {"figures": [], "sentence": "", "confusion": [], "strongest": [], "findings": [], "step": None}
    steps = [step for step in workspace.steps if workspace.model_name in step.command]
    return {**describe_model(workspace), "step": steps[-1] if steps else None}


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
