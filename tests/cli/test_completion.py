"""Completion of the names of columns, from the table that the command line names."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from deciban.cli.completion import complete
from tests.cli.terminal import PATIENTS, done

COLUMNS = PATIENTS.read_text().partition("\n")[0].split(",")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_bytes(PATIENTS.read_bytes())
    Path("my data.tsv").write_text("blood pressure\tage\ty\n1\t2\ta\n")
    pa.parquet.write_table(pa.table({"width": [1.0], "height": [2.0], "kind": ["a"]}), "shapes.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", "patients.csv", "--target", ""], COLUMNS),
        (["train", "patients.csv", "--target", "di"], ["diagnosis"]),
        (["train", "--target", "di", "patients.csv", "--weights", "d"], ["days_ill", "diagnosis"]),
        (["train", "patients.csv", "--target=di"], ["--target=diagnosis"]),
        (["evaluate", "patients.csv", "--groups", "se"], ["seen"]),
        (["predict", "m.deciban", "patients.csv", "--keep", "pat"], ["patient"]),
        (["predict", "m.deciban", "patients.csv", "--keep", "seen", "--keep", "pat"], ["patient"]),
        (["train", "patients.csv", "--join", "age,te"], ["age,temperature"]),
        (["train", "patients.csv", "--as", "s"], ["seen=", "smoker="]),
        (["train", "patients.csv", "--as", "crp=b"], ["crp=binned"]),
        (["plot", "boundary", "patients.csv", "--columns", "cr"], ["crp"]),
        (["train", "shapes.parquet", "--target", "k"], ["kind"]),
        (["train", "'my data.tsv'", "--target", "blo"], ["blood pressure"]),
        (["train", "my\\ data.tsv", "--target", "'blo"], ["blood pressure"]),
        (["train", "*.parquet", "--target", "k"], ["kind"]),
        (["train", "--format", "tsv", "my data.tsv", "--target", "ag"], ["age"]),
        (["train", "patients.csv", "-o", "pat"], []),
        (["train", "patients.csv", "--targ"], ["--target"]),
        (["help", "tra"], ["train"]),
        (["plot", "help", "den"], ["densities"]),
        (["he"], ["help"]),
        (["-"], ["-V", "--version", "--install-completion", "--show-completion", "--help"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("folder")
def test_columns_of_the_table_are_completed(words, expected):
    assert complete(words) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", "patients.csv", "--as", "crp", "=", "b"], ["binned"]),
        (["train", "patients.csv", "--as", "crp", "="], list("ncfdts")),
        (["train", "patients.csv", "--target", "=", "di"], ["diagnosis"]),
    ],
    ids=["role", "any role", "target"],
)
@pytest.mark.usefixtures("folder")
def test_words_that_bash_splits_at_an_equals_sign_are_understood(words, expected):
    found = complete(words)
    assert found == expected if len(found) < 3 else {name[0] for name in found} >= set(expected)


@pytest.mark.parametrize(
    "words",
    [
        ["train", "--target", ""],
        ["train", "none.csv", "--target", ""],
        ["train", "-", "--target", ""],
        ["train", "pipe", "--target", ""],
        ["train", ".", "--target", ""],
        ["train", "broken.parquet", "--target", ""],
        ["train", "--sql", "select 1", "--target", ""],
        ["telltales", "patients.csv", "--column", ""],
    ],
    ids=lambda words: words[1],
)
def test_what_cannot_be_read_completes_nothing_and_says_nothing(folder, capfd, words):
    (folder / "broken.parquet").write_bytes(b"PAR1 no")
    os.mkfifo(folder / "pipe")
    assert complete(words) == []
    assert capfd.readouterr() == ("", "")


def test_columns_of_a_model_are_completed_where_there_is_no_table(folder):
    done("train", PATIENTS, "--target", "diagnosis", "--no-judge", "-o", folder / "m.deciban")
    assert complete(["plot", "densities", "m.deciban", "--columns", "te"]) == ["temperature"]


def test_bash_quotes_names_with_spaces(folder):
    program = Path(sys.executable).parent / "deciban"
    script = [
        f'eval "$({program} --show-completion bash)"',
        "COMP_WORDS=(deciban train \"'my data.tsv'\" --target blo)", "COMP_CWORD=4",
        f"_deciban_completion {program}", 'printf "%s\\n" "${COMPREPLY[@]}"',
    ]  # fmt: skip
    found = subprocess.run(["bash", "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    assert found.stdout == "blood\\ pressure\n"
