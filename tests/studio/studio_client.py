"""A studio in this process, and a client that has opened it as a browser does."""

import os
import subprocess
import sys
from pathlib import Path

from starlette.testclient import TestClient

from deciban.cli.example import FOLDER
from deciban.studio.access import Access
from deciban.studio.application import create_studio
from deciban.studio.settings import StudioSettings
from deciban.studio.workspace import Workspace

ADDRESS = "http://127.0.0.1:8000"


class StudioClient(TestClient):
    """A client of a studio of its own; POST requests have the headers that a page's own script sends."""

    def __init__(self, folder: Path, **settings):
        self.workspace = Workspace(StudioSettings(folder, FOLDER, 8000, **settings))
        self.access = Access(8000)
        super().__init__(create_studio(self.workspace, self.access), ADDRESS)

    def enter(self):
        """Open the studio by its token, as the browser does that was started."""
        answer = self.get(self.access.path, follow_redirects=False)
        assert answer.status_code == 303
        return self

    def post(self, path, *args, headers=None, **kwargs):
        return super().post(path, *args, headers={"origin": ADDRESS, "x-studio": "1", **(headers or {})}, **kwargs)

    def drop(self, name, content):
        """Drop a file on the page Open."""
        return self.post("/open/file", params={"name": name}, content=content)

    def work(self, path, **form):
        """Submit a form that starts a job, and wait for its end."""
        answer = self.post(path, data=form)
        assert answer.status_code == 200, answer.text
        self.workspace.job.wait(60)
        assert self.workspace.job.state == "done", self.workspace.job.error
        return self.workspace.job

    def page(self, path):
        """Return the HTML of a page."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text


def run_steps(folder, name):
    """Run the Python program or the shell script of the page Take away in a folder."""
    command = folder / "deciban"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deciban "$@"\n')
    command.chmod(0o755)
    interpreter = sys.executable if name.endswith(".py") else "sh"
    variables = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([interpreter, name], cwd=folder, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
