"""The checks of the built site find what they are there to find; the site itself is built by `make docs`."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from tests.docs.site import DOCS, ROOT, import_from_docs
from tests.docs.test_docs import DOCS as ALL_DOCUMENTS

check_site = import_from_docs("check_site")
DOCS_PAGES = [path for path in ALL_DOCUMENTS if path.is_relative_to(DOCS)]


@pytest.fixture
def site(tmp_path):
    """Two pages that link to each other, with a style sheet."""
    (tmp_path / "style.css").write_text("body { background: url(paper.png) }")
    (tmp_path / "other.html").write_text('<h1 id="title">Other</h1>')
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="style.css"><a href="other.html#title">there</a> <a href="#">top</a>'
        '<a href="https://example.org/">elsewhere</a>'
    )
    return tmp_path


def problems(site):
    pages = check_site.read_pages(site)
    return [
        *check_site.find_broken_links(pages), *check_site.find_external_assets(pages),
        *check_site.find_external_styles(site),
    ]  # fmt: skip


def test_a_site_whose_links_lead_somewhere_has_no_problem(site):
    assert problems(site) == []


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ('<a href="gone.html">x</a>', "gone.html leads to no file"),
        ('<a href="other.html#gone">x</a>', "other.html#gone leads to no anchor"),
        ('<a href="#gone">x</a>', "#gone leads to no anchor"),
        ('<img src="gone.png">', "gone.png leads to no file"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "loads //cdn.example/x.css"),
        ('<link rel="preconnect" href="https://cdn.example">', "loads https://cdn.example"),
    ],
)
def test_a_broken_link_or_an_external_asset_is_found(site, added, problem):
    with (site / "index.html").open("a") as page:
        page.write(added)
    assert problems(site) == [f"index.html: {problem}"]


def test_a_style_sheet_that_loads_from_elsewhere_is_found(site):
    (site / "style.css").write_text("@font-face { src: url(https://fonts.example/a.woff) }")
    assert len(problems(site)) == 1


def test_the_day_of_a_measurement_is_read_from_its_page():
    pytest.importorskip("sphinx")
    measured = import_from_docs("sphinx_pages.measured")
    dates = [measured.find_date(path.read_text()) for path in sorted((DOCS / "lab").glob("*.md"))]
    assert all(len(date) == len("2026-11-15") for date in dates)


def test_every_page_is_in_a_table_of_contents():
    """The build would warn of it too, and fail; a pattern with a star stands for all pages that it matches."""
    listed = {DOCS / "index.md", DOCS / "cli.md"}
    for page in DOCS_PAGES:
        for contents in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL):
            for entry in re.findall(r"^(?!:)(?:.*<)?([^\s<>]+)>?$", contents, flags=re.MULTILINE):
                target = (page.parent / entry).resolve()
                listed |= {*target.parent.glob(f"{target.name}.md")} if target.parent.exists() else set()
    missing = sorted(str(page.relative_to(DOCS)) for page in {*DOCS_PAGES} - listed)
    assert not missing, "Hint: a line in docs/howto/index.md"


def test_a_flowchart_has_a_box_for_each_name_and_an_arrow_for_each_pair():
    pytest.importorskip("sphinx")
    flowchart = import_from_docs("sphinx_pages.flowchart")
    chart = flowchart.Flowchart.parse('flowchart LR\n  a[A < B] --> b & c --> d\n  x --> d\n  a -- "again" --> d')
    assert chart.rank_boxes() == [["a"], ["b", "c", "x"], ["d"]]
    drawn = chart.draw()
    assert drawn.count("<rect") == 5
    assert drawn.count('class="arrow"') == 6
    assert "A &lt; B" in drawn
    assert "again" in drawn
    with pytest.raises(ValueError, match=r"not understood: 'a\{b\}'"):
        flowchart.Flowchart.parse("flowchart TD\n  a{b} --> c")


def test_formulas_become_mathml():
    pytest.importorskip("sphinx")
    mathml = import_from_docs("sphinx_pages.mathml")
    written = mathml.to_mathml(r"\tfrac12 \ln x", as_block=True)
    assert written == mathml.to_mathml(r"\tfrac{1}{2} \ln x", as_block=True)
    assert written.startswith("<math")


@pytest.mark.thorough(reason="builds the documentation site: a minute")
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="needs Sphinx: make docs installs it")
def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path):
    """Built without the pictures of the gallery, which `make docs` draws."""
    env = {**os.environ, "DECIBAN_DOCS_WITHOUT_PICTURES": "1"}
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(tmp_path / "trees"), str(DOCS)]
    done = subprocess.run([*build, str(tmp_path / "site")], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    checked = [sys.executable, str(DOCS / "check_site.py"), str(tmp_path / "site")]
    done = subprocess.run(checked, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_list_of_measured_pages_has_every_page_of_the_lab_and_of_benchmarks():
    listed = set(re.findall(r"<\.\./(\S+\.md)>", (DOCS / "explanation" / "index.md").read_text()))
    pages = {path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("lab/*.md"), *DOCS.glob("benchmarks*.md")]}
    assert listed == pages
