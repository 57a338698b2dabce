"""The guide to Spark: its commands print what it shows, and its code runs."""

import contextlib
import io
import re
import shutil

import pytest

from tests.cli.terminal import EXAMPLES
from tests.cli.test_documents import ROOT, make_guide
from tests.docs.test_docs import blocks, run

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")
NAME = "docs/guides/spark.md"


@pytest.mark.thorough
def test_the_commands_of_the_guide_print_what_it_shows(needs_spark):
    text = (ROOT / NAME).read_text()
    assert len(re.findall(r"^\$ ", text, flags=re.MULTILINE)) <= 5
    assert make_guide.update_document(text) == text, f"{NAME} is out of date. Hint: make guide"


def test_the_code_of_the_guide_runs_and_prints_what_it_says(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "patients.csv", tmp_path / "patients.csv")
    names = {}
    for number, block in enumerate(blocks(NAME, "python"), start=1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run(block, names, f"{NAME}, block {number}")
        for line in re.findall(r"#.*?→\s*(.*?)\s*$", block, flags=re.MULTILINE):
            assert line in printed.getvalue(), f"block {number} promises {line!r} and prints {printed.getvalue()}"
