"""The guide to Spark: its commands print what it shows, and its code runs."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.cli.terminal import EXAMPLES
from tests.cli.test_documents import ROOT, make_guide
from tests.docs.test_docs import blocks

NAME = "docs/guides/spark.md"


@pytest.mark.thorough(reason="starts Spark")
def test_the_commands_of_the_guide_print_what_it_shows(needs_spark):
    text = (ROOT / NAME).read_text()
    assert len(re.findall(r"^\$ ", text, flags=re.MULTILINE)) <= 5
    assert make_guide.update_document(text) == text, f"{NAME} is out of date. Hint: make guide"


def test_the_code_of_the_guide_runs_and_prints_what_it_says(needs_spark, tmp_path):
    """In a process of its own: Spark takes relative paths from the folder that it was started in."""
    shutil.copy(EXAMPLES / "patients.csv", tmp_path / "patients.csv")
    code = "\n".join(blocks(NAME, "python"))
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    words = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == re.findall(r"#.*?→\s*(.*?)\s*$", code, flags=re.MULTILINE)
