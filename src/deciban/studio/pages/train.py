"""The page Train: learn from the open table, then the report on rows that were held out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import deciban
from deciban.server.problems import Problem
from deciban.studio.command_lines import format_options, format_table_arguments, format_table_words
from deciban.studio.data_set import quote_path
from deciban.studio.findings import get_findings
from deciban.studio.jobs import Job
from deciban.studio.render import render
from deciban.studio.reports import make_model_context
from deciban.studio.requests import get_workspace, read_form, run
from deciban.studio.workspace import Workspace

LEARNERS = {
    "bayes": ("Naive Bayes", "One pass over the table. The evidence of the columns adds up, and so do models."),
    "aode": ("One-dependence estimators", "The average of naive Bayes given each column: for columns that depend."),
    "logistic": ("Logistic regression", "Weights fitted to all rows; often sharper with many rows."),
    "evidence": ("Evidence regression", "Naive Bayes with a weight for each column: repeated evidence counts less."),
    "boosted": ("Boosted naive Bayes", "Several naive Bayes models in a row, for tables with interactions."),
}  # fmt: skip
"""The learners, with their names and what they are good for."""


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
    return {**make_model_context(workspace), "step": steps[-1] if steps else None}


async def start(request: Request) -> Response:
    """Start the training."""
    workspace, form = get_workspace(request), await read_form(request)
    learner = form.get("learner", "bayes")
    if learner not in LEARNERS:
        raise Problem(400, f"there is no learner {learner[:40]!r}. Hint: one of {', '.join(LEARNERS)}")
    data = workspace.need_data()
    workspace.need_target()
    workspace.start_job(f"Learning from {data.name}", partial(_train, workspace, learner), data.n_rows)
    return JSONResponse({})


def _train(workspace: Workspace, learner: str, job: Job) -> str:
    """Train a model on the open table, and return the path of its report.

    The model is opened unless another table, or other roles, were chosen meanwhile.
    """
    data, target = workspace.need_data(), workspace.need_target()
    roles, version = dict(workspace.roles), workspace.version
    model = deciban.train(data.table, target=target, roles=roles, learner=learner, progress=job)
    model.origin = replace(model.origin, source=data.name)
    job.begin("Describing the model", "", 0)
    with workspace.lock:
        if workspace.version != version:
            return "/train"
        workspace.learner = learner
        workspace.data = replace(data, n_rows=model.origin.rows_read, is_estimated=False)
        name = workspace.name_model(data.stem if learner == "bayes" else f"{data.stem}-{learner}")
        workspace.set_model(model, name, model.held_out, list(job.warnings))
        workspace.trained_models.append(model)
        more = {} if learner == "bayes" else {"learner": learner}
        workspace.record(
            f"Trained {LEARNERS[learner][0].lower().replace('bayes', 'Bayes')} on {data.name}",
            f"model = deciban.train({format_table_arguments(workspace, **more)})\n"
            f"print(model.held_out)\nmodel.save({name!r})",
            f"deciban train {format_table_words(workspace)}{format_options(more)} -o {quote_path(name)}",
        )
        get_findings(workspace)  # in the job, and not when its page is opened
    return "/train"


ROUTES = [Route("/train", show), Route("/train/start", start, methods=["POST"])]
