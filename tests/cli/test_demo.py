"""The demo: what it says is so, what it names is there, and it fails politely."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import deciban
from deciban.cli.files import atomic_file
from deciban.cli.files import write_folder as write
from deciban.errors import InputError, StoreError
from tests.cli.terminal import call

PNG = b"\x89PNG\r\n\x1a\n"
FILES = {"boundary.png", "report.json"}
HEAVY = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "pandas")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "made" / "here"
    return call("demo", "--folder", folder), folder


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    return json.loads(call("demo", "--json", "--folder", tmp_path_factory.mktemp("json")).stdout)


def test_it_writes_the_files_it_names_and_no_others(shown):
    result, folder = shown
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in folder.iterdir()} == FILES
    assert all(str(folder / name) in result.stdout for name in FILES)
    assert (folder / "boundary.png").read_bytes().startswith(PNG)
    assert json.loads((folder / "report.json").read_text())["version"] == deciban.__version__


def test_the_report_has_every_section_and_ends_with_the_next_command(shown):
    lines = shown[0].stdout.splitlines()
    for heading in ("Tumours", "Why?", "Digits", "Forgetting", "Written", "Next"):
        assert any(line.startswith(heading) for line in lines), heading
    assert "import deciban" in lines[-3]
    assert lines[-1].endswith("deciban studio")
    assert "README" in lines[-4]


def test_the_report_fits_80_columns_and_has_no_escape_codes_in_a_pipe(shown):
    out = shown[0].stdout
    assert "\x1b" not in out
    printed_output = [line for line in out.splitlines() if str(shown[1]) not in line]
    assert max(map(len, printed_output)) <= 80


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
def test_json_alone_is_on_stdout_and_talk_on_stderr(tmp_path):
    result = call("demo", "--json", "--folder", tmp_path)
    figures = json.loads(result.stdout)
    assert {Path(path).name for path in figures["files"]} == FILES
    assert all(Path(path).exists() for path in figures["files"])
    assert "Next" in result.stderr


def test_the_figures_are_sane_and_our_naive_bayes_agrees_with_scikit_learns(figures):
    theirs, ours, tied = figures["breast_cancer"]["results"]
    assert ours["wrong"] == theirs["wrong"]
    assert ours["log_loss"] == pytest.approx(theirs["log_loss"], rel=1e-9)
    assert tied["accuracy"] > 0.9
    assert tied["log_loss"] < ours["log_loss"]
    bernoulli, gauss = figures["digits"]["results"]
    assert bernoulli["accuracy"] > 0.85
    assert gauss["accuracy"] > 0.97


def test_the_evidence_adds_up_to_the_total_and_the_total_is_the_posterior(figures):
    reason = figures["breast_cancer"]["reason"]
    assert len(reason["evidence"]) == 31
    assert sum(decibans for _, decibans in reason["evidence"]) == pytest.approx(reason["total"], abs=1e-9)
    odds = reason["probability"] / (1 - reason["probability"])
    assert odds == pytest.approx(10 ** (reason["total"] / 10), rel=1e-9)


def test_forgetting_is_exact(figures):
    counts, moments = figures["forgetting"]
    assert counts["same_ledger"] is True
    assert counts["largest_difference"] == 0
    assert moments["largest_difference"] < 1e-12


def run(*arguments, **environment):
    command = [sys.executable, "-m", "deciban.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
def test_it_runs_as_a_program_of_its_own(tmp_path):
    done = run("demo", "--folder", tmp_path, PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert done.returncode == 0, done.stderr
    assert "Forgetting" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == FILES


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["demo", "--help"]])
def test_version_and_help_load_no_heavy_library(arguments):
    script = (
        "import sys\nfrom deciban.cli.main import main\n"
        f"sys.argv = ['deciban', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as leaving:\n    assert not leaving.code\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "LOADED []" in done.stdout


def test_the_version_is_the_packages():
    assert call("--version").stdout == f"deciban {deciban.__version__}\n"


def test_a_folder_that_cannot_be_is_refused_at_once_and_nothing_is_made(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    result = call("demo", "--folder", file / "inner")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: cannot write to the folder")
    assert "is a file. Hint: --folder" in result.stderr
    assert "Traceback" not in result.stderr
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    result = call("demo", "--folder", tmp_path / "new")
    assert result.exit_code == 1
    assert "no permission" in result.stderr


def test_a_write_that_fails_leaves_neither_half_a_file_nor_a_part_of_the_files(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path, {"a": b"new", "no/such/place": b"x"})
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_an_error_of_a_mail_store_is_not_one_of_the_file_that_is_written(tmp_path):
    with pytest.raises(StoreError, match="damaged"), atomic_file(tmp_path / "a"):
        raise StoreError("the store is damaged")
    assert not list(tmp_path.iterdir())


def test_debug_lets_the_error_through(tmp_path):
    (tmp_path / "file").touch()
    result = call("demo", "--debug", "--folder", tmp_path / "file")
    assert isinstance(result.exception, InputError)


def test_an_unforeseen_error_is_two_lines_and_names_debug(monkeypatch, tmp_path):
    monkeypatch.setattr("deciban.cli.demo.check_folder", lambda folder: 1 / 0)
    result = call("demo", "--folder", tmp_path)
    assert result.exit_code == 1
    assert result.stderr == "error: ZeroDivisionError: division by zero\nHint: --debug shows where it happened.\n"


def test_without_matplotlib_the_rest_of_the_demo_still_runs(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = call("demo", "--folder", tmp_path)
    assert result.exit_code == 0
    assert "deciban[plot]" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
