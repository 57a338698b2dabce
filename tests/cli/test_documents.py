"""The documents show what the commands print, and name every one of them with all options."""

import csv
import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deciban.cli.app import GROUP
from tests.cli.replay import quicker_than
from tests.cli.terminal import EXAMPLES, call, done

ROOT = Path(__file__).parents[2]


def script(name):
    """A module of docs/guides, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "guides" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_guide, make_patients = script("make_guide"), script("make_patients")
WITHIN = {name: GROUP.find(name).commands for name in ("plot", "mail")}
"""Commands that have commands of their own."""

NAMES = [*GROUP.commands, *(f"{name} {inner}" for name, commands in WITHIN.items() for inner in commands)]
HEAVY = ("numpy", "pyarrow", "duckdb", "scipy", "sklearn", "numba", "pandas")


SOME = ("README.md", "docs/guides/first-table.md", "docs/guides/sql.md")
"""Documents whose sessions `make test` runs; `make thorough` runs those of the others."""


@pytest.mark.parametrize("name", SOME)
def test_the_sessions_of_some_documents_print_what_they_show(name, monkeypatch):
    shows_what_is_printed(name, monkeypatch)


@pytest.mark.thorough(reason="runs the sessions of every document: seconds each")
@pytest.mark.parametrize("name", [name for name in make_guide.DOCUMENTS if name not in SOME])
def test_the_sessions_of_the_other_documents_print_what_they_show(name, monkeypatch):
    shows_what_is_printed(name, monkeypatch)


def shows_what_is_printed(name, monkeypatch):
    """Most commands run within this process, those of the README as a user runs them."""
    if name != "README.md":
        monkeypatch.setattr(make_guide, "run_in_shell", quicker_than(make_guide.run_in_shell))
    text = (ROOT / name).read_text()
    assert make_guide.BLOCK.search(text)
    assert make_guide.update_document(text) == text, f"{name} is out of date. Hint: make guide"


def test_the_first_screen_of_the_readme_trains_reads_predicts_and_explains():
    first = make_guide.BLOCK.search((ROOT / "README.md").read_text())
    assert first is not None
    assert first.start() < 1300
    commands = re.findall(r"^\$ deciban (\w+)", first[2], flags=re.MULTILINE)
    assert [c for c in commands if c != "example"] == ["train", "predict", "explain"]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_a_chapter_with_all_its_options(name):
    chapters = re.split(r"^###? ", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE)
    chapter = next(c for c in chapters if c.startswith(f"{name}\n"))
    for option in make_guide.find_options(name):
        for spelling in option.spellings:
            assert f"`{spelling}`" in chapter, spelling
        assert option.settings["help"]
        assert option.is_flag or option.settings["metavar"]


@pytest.mark.parametrize("code", ["| 0 |", "| 1 |", "| 2 |", "| 130 |", "| 141 |"])
def test_every_exit_code_is_documented(code):
    assert code in (ROOT / "docs" / "cli.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_an_example_that_could_be_typed(name):
    lines = done(*name.split(), "--help").stdout.rstrip().splitlines()
    start = lines.index("  Example:")
    examples = lines[start + 1 :]
    assert examples
    for line in examples:
        line = re.sub(r"^ {4}([A-Z_]+=\S+ )?", "", line)
        called = max([each for each in NAMES if f"{line} ".startswith(f"deciban {each} ")], key=len)
        for option in re.findall(r"(?<=\s)--?[\w-]+(?=\s|$)", line):
            known = [spelling for o in make_guide.find_options(called) for spelling in o.spellings]
            assert option in known or option == "-", (line, option)
    assert f"{line} ".startswith(f"deciban {name} ")  # what comes before may be other commands, which it needs


def test_the_list_of_commands_fits_on_a_screen():
    lines = done("--help").stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert all("..." not in line for line in lines if line.startswith("  ") and "COMMAND" not in line)


def test_the_example_tables_are_those_of_the_script_that_makes_them():
    for name, text in make_patients.tables().items():
        assert (EXAMPLES / name).read_text() == text
        assert done("example", name.removesuffix(".csv")).stdout == text


def test_the_example_has_a_column_for_every_kind_of_role():
    rows = list(csv.DictReader((EXAMPLES / "patients.csv").open()))
    assert len(rows) == 400
    assert any(value == "" for row in rows for value in row.values())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_is_offered_for_a_shell(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    script = done("--show-completion", shell).stdout
    assert "_DECIBAN_COMPLETE" in script
    for _ in range(2):
        path = Path(done("--install-completion", shell).stdout.split(": ")[0])
    assert path.read_text() == script
    assert call("--show-completion", "tcsh").exit_code == 2


def test_completion_is_appended_to_a_start_up_file_of_any_encoding(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    before = b"# caf\xe9\nalias ll='ls -l'"
    (tmp_path / ".bashrc").write_bytes(before)
    script = done("--show-completion", "bash").stdout_bytes
    for _ in range(2):
        done("--install-completion", "bash")
    assert (tmp_path / ".bashrc").read_bytes() == before + b"\n\n" + script


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ev", ["evaluate"]),
        ("plot den", ["densities"]),
        ("train --numbers ", ["number", "binned", "auto"]),
        ("mail classify --t", ["--top", "--trashed"]),
        ("--v", ["--version"]),
        ("train pat", []),
    ],
)
def test_bash_completes_commands_options_and_their_values(words, expected):
    program = Path(sys.executable).parent / "deciban"
    last = " ''" if words.endswith(" ") else ""
    script = [
        f'eval "$({program} --show-completion bash)"', f"COMP_WORDS=(deciban {words}{last})",
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))", f"_deciban_completion {program}", 'echo "${COMPREPLY[@]}"',
    ]  # fmt: skip
    found = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    assert found.stdout.split() == expected


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["mail", "--help"]])
def test_help_and_version_load_no_heavy_library(arguments):
    script = (
        "import os, sys\nfrom deciban.cli.main import main\nos._exit = sys.exit\n"
        f"sys.argv = ['deciban', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as leaving:\n    assert not leaving.code\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "LOADED []" in found.stdout


def seconds(*command):
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], capture_output=True, check=True)
    return time.perf_counter() - start


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_answer_within_three_times_an_import_of_numpy(option):
    """Least of several tries, turn by turn: what else the machine does meanwhile can only lengthen one."""
    ours, theirs = [], []
    for _ in range(15):
        ours.append(seconds("-m", "deciban.cli.main", option))
        theirs.append(seconds("-c", "import numpy"))
        if len(ours) >= 3 and min(ours) <= 3 * min(theirs):
            return
    assert min(ours) <= 3 * min(theirs), (min(ours), min(theirs))
