"""Whoever reads the output may leave early: no noise, nothing left behind, one exit code for all commands."""

import os

import pytest

from tests.cli.terminal import PATIENTS, done, program
from tests.thorough import thorough


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "-o", model, "--no-judge")
    return model


def left_alone(*arguments, **how):
    """Exit code and talk of a command whose output nobody reads."""
    process = program(*arguments, wait=False, **how)
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=300)
    return process.returncode, err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["example", "patients"],
        ["predict", "MODEL", PATIENTS, "--all"],
        ["predict", "MODEL", PATIENTS, "--json"],
        thorough(["sample", "MODEL", "-n", "70000"], reason="draws 70 000 rows: two seconds"),
        ["explain", "MODEL", PATIENTS],
        ["inspect", "MODEL"],
        ["inspect", "MODEL", "--json"],
        ["train", PATIENTS, "--target", "diagnosis", "--no-judge", "-o", "-"],
    ],
    ids=lambda arguments: " ".join(a for a in map(str, arguments) if "/" not in a),
)
def test_a_reader_who_leaves_early_gets_no_complaint_and_the_exit_code_of_other_programs(trained, arguments):
    assert left_alone(*(trained if a == "MODEL" else a for a in arguments)) == (141, "")


def test_a_reader_who_leaves_early_leaves_no_copy_of_standard_input_behind(tmp_path, trained):
    with PATIENTS.open() as rows:
        assert left_alone("predict", trained, "-", stdin=rows, TMPDIR=str(tmp_path)) == (141, "")
    assert list(tmp_path.iterdir()) == []


def test_a_training_whose_report_nobody_reads_has_written_its_model(tmp_path):
    assert left_alone("train", PATIENTS, "--target", "diagnosis", "-o", tmp_path / "m.deciban") == (141, "")
    assert "pneumonia" in done("inspect", tmp_path / "m.deciban").stdout


@pytest.mark.parametrize(
    "arguments", [("inspect", "MODEL"), ("predict", "MODEL", PATIENTS), ("--help",)], ids=lambda a: a[0]
)
def test_a_closed_output_is_an_error_and_not_silence(trained, arguments):
    """Whoever asked for rows and gets none must not be told that all went well."""
    result = program(*(trained if a == "MODEL" else a for a in arguments), before=lambda: os.close(1))
    message = (
        "error: standard input or standard output is closed. Hint: < /dev/null or > /dev/null if it is not needed\n"
    )
    assert (result.returncode, result.stderr) == (1, message)


def test_a_closed_input_is_an_error_only_where_it_is_read(trained):
    assert program("inspect", trained, before=lambda: os.close(0)).returncode == 0
    result = program("predict", trained, "-", before=lambda: os.close(0))
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_what_is_written_to_a_file_needs_no_output(trained, tmp_path):
    result = program("predict", trained, PATIENTS, "-o", tmp_path / "p.csv", before=lambda: os.close(1))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "p.csv").read_text() == program("predict", trained, PATIENTS).stdout
