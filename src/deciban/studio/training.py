"""Training in the studio: the job, its step, and its results."""

from __future__ import annotations

import shlex
from dataclasses import replace

import deciban
from deciban.studio.command_lines import format_options, format_table_arguments, format_table_words
from deciban.studio.findings import get_findings
from deciban.studio.jobs import Job
from deciban.studio.workspace import Workspace

LEARNERS = {
    "bayes": ("Naive Bayes", "One pass over the table. Single rows can be corrected exactly. The evidence adds up."),
    "aode": ("One-dependence estimators", "The average of naive Bayes given each column: for columns that depend."),
    "logistic": ("Logistic regression", "Weights fitted to all rows; often sharper with many rows."),
    "evidence": ("Evidence regression", "Naive Bayes with a weight for each column: repeated evidence counts less."),
    "boosted": ("Boosted naive Bayes", "Several naive Bayes models in a row, for tables with interactions."),
}  # fmt: skip
"""The learners, with their names and what they are good for."""


def train(workspace: Workspace, learner: str, job: Job) -> str:
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
        name = workspace.name_model(data.stem if learner == "bayes" else f"{data.stem}-{learner}")
        workspace.set_model(model, name, model.held_out, list(job.warnings))
        more = {} if learner == "bayes" else {"learner": learner}
        workspace.record(
            f"Trained {LEARNERS[learner][0].lower().replace('bayes', 'Bayes')} on {data.name}",
            f"model = deciban.train({format_table_arguments(workspace, **more)})\n"
            f"print(model.held_out)\nmodel.save({name!r})",
            f"deciban train {format_table_words(workspace)}{format_options(more)} -o {shlex.quote(name)}",
        )
        get_findings(workspace)  # in the job, and not when its page is opened
    return "/train"
