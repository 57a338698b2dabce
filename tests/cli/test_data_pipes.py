"""Named pipes and `<(…)` as DATA: read once, copied, and nothing is left behind."""

import gzip
import os
import subprocess
import sys
import threading

import pytest

import deciban
from tests.cli.terminal import NEW, PATIENTS, done

DECIBAN = f"{sys.executable} -m deciban.cli.main"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "-o", model)
    return model


def fill(path, content):
    """Write to a named pipe, once somebody reads it."""
    writer = threading.Thread(target=lambda: path.write_bytes(content), daemon=True)
    writer.start()
    return writer


@pytest.fixture
def pipe(tmp_path):
    def make(name, content):
        os.mkfifo(tmp_path / name)
        fill(tmp_path / name, content)
        return tmp_path / name

    return make


def shell(command, folder):
    """Run a command in bash, whose temporary files are in `folder`."""
    ran = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert list(folder.iterdir()) == []
    return ran


def test_a_process_substitution_is_learned_and_predicted(trained, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    model = tmp_path / "m.deciban"
    ran = shell(f"{DECIBAN} train <(cat {PATIENTS}) --target diagnosis -o {model}", scratch)
    assert "learned from 397 rows" in ran.stdout, ran.stderr
    assert deciban.load(model).ledger == deciban.load(trained).ledger
    ran = shell(f"{DECIBAN} predict {model} <(gzip -c {NEW})", scratch)
    assert ran.stdout == done("predict", trained, NEW).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "DATA", "--target", "diagnosis", "--folds", "3"],
        ["evaluate", "DATA", "--model", "MODEL"],
        ["explain", "MODEL", "DATA", "--rows", "2"],
        ["predict", "MODEL", "DATA", "--all"],
        ["dependence", "DATA", "--target", "diagnosis"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_every_command_reads_a_named_pipe_as_the_file(arguments, trained, pipe, tmp_path):
    def run(data):
        words = [{"DATA": data, "MODEL": trained}.get(word, word) for word in arguments]
        shown = "".join(done(*words).stdout.split())  # lines are wrapped where the name of the data is long
        return shown.replace(str(data), "DATA")

    assert run(pipe("patients.csv", PATIENTS.read_bytes())) == run(PATIENTS)


def test_several_pipes_are_read_together(pipe, tmp_path):
    header, *rows = PATIENTS.read_bytes().splitlines(keepends=True)
    first, second = (pipe(f"{i}.csv", header + b"".join(part)) for i, part in enumerate((rows[:150], rows[150:])))
    out = done("train", first, second, "--target", "diagnosis", "-o", tmp_path / "m.deciban").stdout
    assert "learned from 397 rows" in out


def test_the_name_or_the_first_bytes_of_a_pipe_show_its_format(pipe):
    rows = b'{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n'
    for name, content in (
        ("t.jsonl", rows),
        ("a", rows),
        ("t.jsonl.gz", gzip.compress(rows)),
        ("b", gzip.compress(rows)),
    ):
        assert deciban.train(pipe(name, content), target="y", judge=False).classes == ["a", "b"]


def test_errors_name_the_pipe(pipe):
    from tests.cli.terminal import call

    path = pipe("bad.csv", b"a,b\n1,2\n1,2,3\n")
    found = call("train", path, "--target", "b")
    assert found.exit_code == 1
    assert str(path) in found.stderr
    assert "deciban-" not in found.stderr


def test_a_pipe_in_python_is_copied_for_as_long_as_its_source_exists(pipe, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    report = deciban.evaluate(pipe("patients.csv", PATIENTS.read_bytes()), target="diagnosis", folds=3)
    assert report.accuracy == deciban.evaluate(PATIENTS, target="diagnosis", folds=3).accuracy
    assert list(scratch.iterdir()) == []


def test_the_default_name_of_a_model_from_a_pipe(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ran = shell(f"cd {tmp_path} && {DECIBAN} train <(cat {PATIENTS}) --target diagnosis --no-judge", scratch)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "model.deciban").exists()
