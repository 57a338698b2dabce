"""The workspace: the table and the model that are open, and the steps that led to them."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.server.problems import Problem
from deciban.studio.data_set import DataSet
from deciban.studio.jobs import Job
from deciban.studio.settings import StudioSettings

if TYPE_CHECKING:
    from deciban.metrics.report import Report
    from deciban.model.model import Model
    from deciban.studio.mail_queue import MailQueue


@dataclass(frozen=True)
class Step:
    """Something the user has done, as Python and as a command line that do the same."""

    title: str
    python: str
    command: str


@dataclass
class Workspace:
    """Everything that is open; one user works on it.

    Code that reads or changes a model, or draws, holds `lock`: `run` of `deciban.studio.requests` does so.
    """

    settings: StudioSettings
    data: DataSet | None = None
    target: str | None = None
    roles: dict[str, str] = field(default_factory=dict)
    """The roles that the user has chosen; those of other columns are inferred."""
    learner: str = "bayes"
    model: Model | None = None
    model_name: str = ""
    """The name of the model's file in command lines and downloads, ending in .deciban."""
    report: Report | None = None
    """The report on held-out rows; None for a model from a file, or one that was changed."""
    warnings: list[str] = field(default_factory=list)
    """Warnings of the training, in plain English."""
    trained_models: list[Model] = field(default_factory=list)
    """The models that were trained on the open table."""
    models: dict[str, Model] = field(default_factory=dict)
    """All models of this studio by name, to compare, merge and go back to."""
    steps: list[Step] = field(default_factory=list)
    version: int = 0
    """A number that grows whenever table, roles or model change; results of a former one are out of date."""
    job: Job | None = None
    notice: str = ""
    """A sentence that the next page shows once."""
    page_state: dict[str, Any] = field(default_factory=dict)
    """Values that pages remember between requests, by the name of the page; cleared when another table is opened."""
    mail_queue: MailQueue | None = None
    """The messages of the page Mail, once it was opened."""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def record(self, title: str, python: str, command: str) -> Step:
        """Append a step to the history, and return it; its title, a comment of scripts, becomes one line."""
        self.steps.append(Step(" ".join(title.split()), python, command))
        return self.steps[-1]

    def set_data(self, data: DataSet, target: str | None) -> None:
        """Open a table in place of the present one; the model is closed."""
        self._close_data()
        self.data, self.target = data, target
        self.close_model()

    def _close_data(self) -> None:
        """Close the table, and forget the state of pages; remove a dropped file, unless a job may be reading it."""
        if self.data is not None and not self.is_working:
            folder = Path(self.data.path).parent
            if folder.parent == self.settings.folder:
                shutil.rmtree(folder, ignore_errors=True)
        self.data, self.target, self.roles = None, None, {}
        self.trained_models.clear()
        self.page_state.clear()

    @property
    def is_working(self) -> bool:
        """Whether there is work in progress."""
        return self.job is not None and self.job.state == "running"

    def keep_data_for(self, model: Model) -> None:
        """Choose the target of a model that is about to be opened; close the open table if it lacks its columns."""
        if self.data is None:
            return
        needed = {model.target, *(column.name for column in model.columns if column.role != "skip")}
        if needed <= set(self.data.columns):
            self.target = model.target
            self.roles.pop(model.target, None)
        else:
            self._close_data()

    def close_model(self) -> None:
        """Close the model: the table, its target or its roles are others now."""
        self.model, self.report, self.model_name, self.warnings = None, None, "", []
        self.version += 1

    def set_model(self, model: Model, name: str, report: Report | None, warnings: list[str] | None = None) -> None:
        """Open a model under a name, which it keeps among all models of the studio."""
        self.model, self.model_name, self.report, self.warnings = model, name, report, warnings or []
        self.models[name] = model
        self.version += 1

    @property
    def has_trained_model(self) -> bool:
        """Whether the open model was trained on the open table alone."""
        return any(each is self.model for each in self.trained_models)

    def name_model(self, stem: str) -> str:
        """Return a name for a new model that no other model of the studio has."""
        name, number = f"{stem}.deciban", 2
        while name in self.models:
            name, number = f"{stem}-{number}.deciban", number + 1
        return name

    def start_job(self, label: str, work: Callable[[Job], str], total: int | None = None) -> Job:
        """Run `work` in a thread; it returns the path of the page with its result. Refuse where another job runs."""
        if self.job is not None and self.is_working:
            raise Problem(409, f"there is work in progress: {self.job.label}. Hint: wait for its end, or stop it")
        self.job = Job(label, work, total).start()
        return self.job

    def need_data(self) -> DataSet:
        """Return the open table; refuse if there is none."""
        if self.data is None:
            raise Problem(409, "no table is open. Hint: open one on the page Open")
        return self.data

    def need_target(self) -> str:
        """Return the column to predict; refuse if none is chosen."""
        if self.target is None:
            raise Problem(409, "no column to predict is chosen. Hint: choose one on the page Open")
        return self.target

    def need_model(self) -> Model:
        """Return the open model; refuse if there is none."""
        if self.model is None:
            raise Problem(409, "no model is open. Hint: train one on the page Train")
        return self.model

    def take_notice(self) -> str:
        """Return the sentence to show once, and clear it."""
        notice, self.notice = self.notice, ""
        return notice
