"""What must not matter changes no answer: a seeded sample of tables, settings and relations."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.relations import runner
from tests.relations.exceptions import EXCEPTIONS
from tests.relations.settings import SETTINGS, SLOW

QUICK = [
    ("iris", "default"), ("all roles", "no evaluation"), ("rare class", "temperature"), ("dependent", "tree"),
    ("numbers", "Gaussian"), ("numbers", "bins"), ("few rows", "logistic"), ("wine", "alpha auto"),
]  # fmt: skip
TABLES = ["iris", "wine", "breast cancer", "digits", "phishing", "numbers", "all roles", "rare class", "dependent"]
MORE = [(TABLES[(3 * i + j) % len(TABLES)], setting) for i, setting in enumerate(SETTINGS) for j in range(2)]


def compare(seed, table, setting):
    result = runner.run(seed, table, setting)
    assert result.comparisons > 10
    assert not result.violations, "\n\n".join(result.violations)


@pytest.mark.parametrize(("table", "setting"), QUICK, ids=str)
def test_what_must_not_matter_does_not_matter(table, setting):
    compare(0, table, setting)


@pytest.mark.thorough(reason="trains many models: minutes in all")
@pytest.mark.parametrize(("table", "setting"), [pair for pair in MORE if pair[1] not in SLOW], ids=str)
def test_what_must_not_matter_does_not_matter_on_more_tables(table, setting):
    compare(1, table, setting)


def test_the_command_counts_comparisons_and_exceptions():
    chosen = ["--table", "few rows", "--setting", "Gaussian", "--relation", "rows permuted"]
    command = [sys.executable, "-m", "tests.relations", *chosen]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.stdout.endswith(": 1 comparisons, 0 violations, 0 exceptions\n"), done.stdout + done.stderr
    assert done.returncode == 0


def test_every_exception_names_relations_and_settings():
    for allowed in EXCEPTIONS:
        assert set(allowed.relations) <= set(runner.CHECKS)
        assert allowed.settings <= set(SETTINGS)
