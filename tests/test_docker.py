"""The Dockerfile: its steps, run one after the other in fresh environments, make a command and a mail server.

There need be no Docker: an image of Python is a virtual environment, a path of an image lies in a folder, and users
are not made, only recorded.
"""

import json
import re
import shlex
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

import pytest

import deciban
from tests.cli.terminal import PATIENTS
from tests.fresh_environment import make_environment, make_path_without_compilers, run
from tests.mail.spamds import make_message

ROOT = Path(__file__).parents[1]
INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text())).splitlines()
    if line.strip()
]
IMAGE_PATH = re.compile(r"(?<![\w.$/*])/(?=(?:source|wheels|var|data)\b)")
"""The beginning of a path of the image."""

PORT = "1783"


@dataclass(frozen=True)
class Stage:
    """An image that is being made: the folder of its files, its variables, and what its instructions set."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    settings: dict[str, str] = field(default_factory=dict)

    def locate(self, path):
        """Where a path of the image, or one within its working folder, lies."""
        return self.folder / "image" / f"{self.workdir}/{path}".rpartition("//")[2].lstrip("/")

    def place_paths(self, words):
        return IMAGE_PATH.sub(f"{self.folder / 'image'}/", words)

    def run(self, *command):
        return run(*command, env=self.variables, cwd=self.locate("."))


def list_copied(words):
    """The files that an instruction COPY takes from the project, and where to."""
    *sources, target = words.split()
    return [(ROOT / source, target) for source in sources]


def is_ignored(name):
    """Whether .dockerignore leaves a file of the project out; the last rule that fits decides."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    fitting = [rule for rule in rules if any(fnmatch(part, rule.lstrip("!")) for part in (name, name.split("/")[0]))]
    return bool(fitting) and not fitting[-1].startswith("!")


class Builder:
    """Runs the instructions of a Dockerfile, those of all stages."""

    def __init__(self, folder):
        self.folder, self.stages = folder, {}
        self.programs = make_path_without_compilers(folder / "programs")
        for name in ("useradd", "chown"):
            (self.programs / name).unlink(missing_ok=True)
            (self.programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {folder / "users"}\n')
            (self.programs / name).chmod(0o755)

    def build(self):
        for instruction, words in INSTRUCTIONS:
            if instruction == "FROM":
                image, name = words.split(" AS ")
                stage = self.stages[image] if image in self.stages else self.make_image(name)
            else:
                stage = getattr(self, instruction, self.set)(stage, words, instruction)
            self.stages[name] = stage
        return self.stages

    def make_image(self, name):
        folder = self.folder / name
        (folder / "image").mkdir(parents=True)
        return Stage(folder, make_environment(folder / "python", self.programs))

    def set(self, stage, words, instruction):
        return replace(stage, settings={**stage.settings, instruction: words})

    def WORKDIR(self, stage, words, _):
        stage = replace(stage, workdir=words)
        stage.locate(".").mkdir(parents=True, exist_ok=True)
        return stage

    def ENV(self, stage, words, _):
        values = dict(each.split("=", 1) for each in shlex.split(stage.place_paths(words)))
        return replace(stage, variables={**stage.variables, **values})

    def COPY(self, stage, words, _):
        if words.startswith("--from="):
            origin, source, target = words.removeprefix("--from=").split()
            shutil.copytree(self.stages[origin].locate(source), stage.locate(target))
            return stage
        for source, target in list_copied(words):
            ignored = shutil.ignore_patterns("__pycache__")
            if source.is_dir():
                shutil.copytree(source, stage.locate(target), ignore=ignored)
            else:
                shutil.copy(source, stage.locate(target))
        return stage

    def RUN(self, stage, words, _):
        stage.run("sh", "-c", stage.place_paths(words))
        return stage


def find_instructions(name):
    """The instructions of a stage, with those of the stages that it begins with."""
    found, stages = [], {}
    for instruction, words in INSTRUCTIONS:
        if instruction == "FROM":
            image, stage = words.split(" AS ")
            found = list(stages.get(image, []))
            stages[stage] = found
        found.append((instruction, words))
    return dict(stages[name])


def test_images_are_slim_run_as_no_root_and_keep_the_store_in_a_volume():
    images = [words.split(" AS ")[0] for instruction, words in INSTRUCTIONS if instruction == "FROM"]
    assert all(image.endswith("-slim") or image == "base" for image in images)
    last = [words.split(" AS ")[1] for instruction, words in INSTRUCTIONS if instruction == "FROM"][-1]
    mail, command = find_instructions("mail"), find_instructions(last)
    assert last == "deciban"
    assert mail["USER"] == command["USER"] == "deciban"
    assert mail["ENTRYPOINT"] == command["ENTRYPOINT"] == '["deciban"]'
    assert mail["ENV"] == f"DECIBAN_MAIL={mail['VOLUME']}/mail.db"
    assert mail["EXPOSE"] == PORT
    assert PORT in mail["CMD"]
    assert PORT in mail["HEALTHCHECK"]


def test_what_is_copied_exists_and_the_rest_of_the_project_stays_out():
    copied = [words for instruction, words in INSTRUCTIONS if instruction == "COPY" and not words.startswith("--")]
    for source, _ in (pair for words in copied for pair in list_copied(words)):
        assert source.exists()
        assert not is_ignored(source.name)
    assert is_ignored(".git")
    assert is_ignored(".venv")
    assert is_ignored("tests")
    assert is_ignored("src/deciban/__pycache__") or "**/__pycache__" in (ROOT / ".dockerignore").read_text()


@pytest.mark.thorough(reason="makes an environment and installs into it")
def test_the_steps_make_a_command_and_a_mail_server(tmp_path):
    stages = Builder(tmp_path).build()
    users = (tmp_path / "users").read_text()
    assert "useradd --uid 1000 --create-home deciban\n" in users
    assert "chown deciban " in users
    check_command(stages["deciban"])
    check_mail_server(stages["mail"])


def check_command(stage):
    entry, default = json.loads(stage.settings["ENTRYPOINT"]), json.loads(stage.settings["CMD"])
    assert stage.run(*entry, *default).startswith("Usage: deciban ")
    assert stage.run(*entry, "-V") == f"deciban {deciban.__version__}\n"
    shutil.copy(PATIENTS, stage.locate("patients.csv"))
    assert "Written" in stage.run(*entry, "train", "patients.csv", "--target", "diagnosis")
    stage.run(*entry, "plot", "densities", "patients.deciban", "-o", "columns.png")
    assert stage.locate("columns.png").exists()
    assert "Forgetting" in stage.run(*entry, "demo", "--folder", "demo")


def check_mail_server(stage):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    entry, default = json.loads(stage.settings["ENTRYPOINT"]), json.loads(stage.settings["CMD"])
    serve = [word.replace("0.0.0.0", "127.0.0.1").replace(PORT, port) for word in (*entry, *default)]
    health = json.loads(stage.settings["HEALTHCHECK"].partition("CMD ")[2].replace(PORT, port))
    env = stage.variables
    assert not is_healthy(health, env)
    server = subprocess.Popen(serve, env=env, cwd=stage.locate("."), stderr=subprocess.PIPE, text=True)
    try:
        assert any(is_healthy(health, env) or time.sleep(0.2) for _ in range(100))
        assert stage.locate("/var/lib/deciban/mail.db").exists()
        message = make_message("spam", 1)
        with socket.create_connection(("127.0.0.1", int(port)), 10) as client:
            client.sendall(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n%b" % (len(message), message))
            assert b"EX_OK" in client.recv(1000)
    finally:
        server.terminate()
        _, said = server.communicate(timeout=30)
    assert server.returncode == 0, said


def is_healthy(health, env):
    return subprocess.run(health, env=env, stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_the_commands_of_the_documents_are_those_of_the_file():
    written = re.findall(r"(?m)^(docker .*)$", (ROOT / "docs" / "cli.md").read_text())
    assert len(written) == 4
    assert all(f"#   {command}\n" in (ROOT / "Dockerfile").read_text() for command in written)
