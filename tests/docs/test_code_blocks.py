"""Every block of code that a document shows is run, by a test or by the build of the site; the others say why not."""

import re

import pytest

from tests.cli.test_documents import make_guide
from tests.docs.site import ROOT
from tests.docs.test_docs import DOCS, PYTHON_DOCUMENTS

FENCE = re.compile(r"^```(\w+)\n", flags=re.MULTILINE)
PYTHON_ELSEWHERE = {
    "docs/guides/gpu.md": "tests/gpu/test_estimators_on_device.py",
    "docs/guides/spark.md": "tests/spark",
}
"""Documents whose blocks of Python other tests run."""

SESSIONS_ELSEWHERE = {
    "docs/gallery.md": "tests/docs/test_gallery.py",
    "docs/guides/text-newsgroups.md": "needs a corpus: docs/guides/make_newsgroups.py, in `make thorough`",
}
"""Documents with sessions that `make guide` does not run, and what runs them."""

NOT_RUN = {
    "README.md": "installation",
    "docs/cli.md": "installation, containers and commands that serve until they are stopped",
    "docs/guides/mail-clients.md": "servers on the network",
    "docs/guides/mail-recipes.md": "run by tests/recipes with the programs themselves",
    "docs/guides/sql.md": "a PostgreSQL server on the network",
    "docs/guides/studio.md": "opens a browser, and runs until it is stopped",
    "docs/guides/mail-care.md": "installation, run by tests/mail/test_small_installation.py",
    "docs/guides/spark.md": "installation",
    "docs/guides/export.md": "the JavaScript is run by tests/export",
}
"""Documents with files and commands of a shell, and why they are not run as they stand."""

ALL_SESSIONS = {*make_guide.DOCUMENTS, *make_guide.OPTIONAL_DOCUMENTS, *SESSIONS_ELSEWHERE}


@pytest.mark.parametrize("name", [str(path.relative_to(ROOT)) for path in DOCS])
def test_every_block_of_code_names_its_language(name):
    fences = re.findall(r"^```.*", (ROOT / name).read_text(), flags=re.MULTILINE)
    assert all(len(opening) > 3 for opening in fences[::2]), "a block without a language is not checked below"


@pytest.mark.parametrize("name", [str(path.relative_to(ROOT)) for path in DOCS])
def test_every_block_of_code_is_run(name):
    languages = set(FENCE.findall((ROOT / name).read_text()))
    if languages & {"console", "pycon"}:
        assert name in ALL_SESSIONS, f"nothing runs the sessions of {name}. Hint: DOCUMENTS of make_guide.py"
    if "python" in languages:
        assert name in PYTHON_DOCUMENTS or name in PYTHON_ELSEWHERE, "Hint: PYTHON_DOCUMENTS of test_docs.py"
    if languages - {"console", "pycon", "python", "text", "mermaid"}:
        assert name in NOT_RUN


@pytest.mark.parametrize("name", sorted({*ALL_SESSIONS, *PYTHON_DOCUMENTS, *PYTHON_ELSEWHERE, *NOT_RUN}))
def test_the_documents_that_are_run_have_something_to_run(name):
    assert FENCE.search((ROOT / name).read_text())
