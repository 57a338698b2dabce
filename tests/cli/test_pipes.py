"""Whoever reads the output may leave early: no noise, nothing left behind, one exit code for all commands."""

import os

import pytest
from tests.cli.terminal import PATIENTS, done, program


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
        ["sample", "MODEL", "-n", "70000"],
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


def test_a_closed_output_is_no_error(trained):
    result = program("inspect", trained, before=lambda: os.close(1))
    assert (result.returncode, result.stderr) == (0, "")
