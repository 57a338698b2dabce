"""The pages for those who come from other programs run both sides, where the other is installed."""

import re

import pytest

import deciban
from tests.cli.test_documents import NAMES, make_guide, shows_what_is_printed
from tests.docs.site import ROOT

COMMAND = re.compile(r"`deciban ((?:mail |plot )?[a-z]+)")
FOLDER = ROOT / "docs" / "coming-from"
PAGES = {name: needed for name, needed in make_guide.OPTIONAL_DOCUMENTS.items() if "/coming-from/" in name}


@pytest.mark.thorough(reason="runs programs of other libraries: seconds each")
@pytest.mark.parametrize("name", PAGES)
def test_both_sides_print_what_is_shown(name, monkeypatch):
    if not make_guide.is_installed(PAGES[name]):
        pytest.skip(f"needs {PAGES[name]}")
    shows_what_is_printed(name, monkeypatch)


@pytest.mark.parametrize("page", sorted(path.name for path in FOLDER.glob("*.md")))
def test_the_tables_name_commands_and_options_that_exist(page):
    text = (FOLDER / page).read_text()
    for command in COMMAND.findall(text):
        assert command in NAMES, command
    for line in re.findall(r"`deciban ([^`]+)`", text):
        command = next(name for name in sorted(NAMES, key=len, reverse=True) if f"{line} ".startswith(f"{name} "))
        known = [spelling for option in make_guide.find_options(command) for spelling in option.spellings]
        assert set(re.findall(r"(?<=\s)--[\w-]+", line)) <= set(known), line


@pytest.mark.parametrize("page", ["scikit-learn.md", "r.md", "weka.md", "spark-mllib.md", "river.md"])
def test_the_classes_of_the_last_column_exist(page):
    rows = re.findall(r"^\| .* \| (.+?) \|$", (FOLDER / page).read_text(), flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"\b(?:[A-Z]\w*(?:NB|Bayes|Regression|Classifier))\b", row)}
    assert named <= {*deciban.__all__, "DecibanClassifier"}
    assert named
