"""`deciban help`, `-V` and `python -m deciban`."""

import subprocess
import sys

import pytest

import deciban
from tests.cli.terminal import call, done


@pytest.mark.parametrize("command", ["", "train", "plot", "plot densities", "mail", "mail learn"])
def test_help_shows_what_the_option_shows(command):
    words = command.split()
    assert done("help", *words).stdout == done(*words, "--help").stdout
    if len(words) == 2:
        assert done(words[0], "help", words[1]).stdout == done("help", *words).stdout


@pytest.mark.parametrize("group", [[], ["plot"], ["mail"]])
def test_help_is_among_the_commands(group):
    lines = done(*group, "--help").stdout.splitlines()
    assert any(line.split()[:1] == ["help"] for line in lines[lines.index("Commands:") :])


def test_help_of_what_is_none_is_wrong_usage():
    result = call("help", "tarin")
    assert result.exit_code == 2
    assert "did you mean 'train'" in result.stderr


def test_the_version_has_a_short_option():
    assert done("-V").stdout == done("--version").stdout == f"deciban {deciban.__version__}\n"


def test_the_package_is_the_command():
    command = [sys.executable, "-m", "deciban", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == done("--version").stdout
    wrong = subprocess.run([*command[:3], "nothing"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "No such command 'nothing'" in wrong.stderr


def test_a_group_without_a_command_prints_its_help_as_an_error():
    for group in ([], ["plot"], ["mail"]):
        result = call(*group)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Commands:" in result.stderr
