"""Everything shown is executed, everything public is mentioned, everything named exists."""

import contextlib
import io
import re
import subprocess
from pathlib import Path

import pytest
from matplotlib import pyplot

import deciban

ROOT = Path(__file__).parents[2]
GENERATED = ("docs/reference/api/", "docs/reference/commands/", "docs/project/", "docs/auto_examples/")
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCS = [path for path in DOCS if not str(path.relative_to(ROOT)).startswith(GENERATED)]
HIDDEN = {".git", ".venv", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "__pycache__"}
WRITTEN = {".py", ".pyi", ".md", ".toml", ".txt", ""}
FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:work|home|Users|root)/\w+"),
    "a temporary folder": re.compile(r"(?<![\w.])/tmp/"),
}


def text(name):
    """A document, which must have something to say."""
    content = (ROOT / name).read_text()
    assert content.strip(), f"{name} is empty"
    return content


def blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text(name), flags=re.MULTILINE | re.DOTALL)


PYTHON_DOCUMENTS = (
    "README.md", "docs/guides/python.md", "docs/guides/updates.md", "docs/guides/missing.md", "docs/model-files.md",
)  # fmt: skip


@pytest.mark.parametrize("name", PYTHON_DOCUMENTS)
def test_the_code_of_the_documents_runs_and_prints_what_it_says(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    code = blocks(name, "python")
    assert code
    names, everything = {}, ""
    for number, block in enumerate(code, start=1):
        shown = re.findall(r"#.*?→\s*(.*?)\s*$", block, flags=re.MULTILINE)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run(block, names, f"{name}, block {number}")
        for line in shown:
            assert line in printed.getvalue(), f"block {number} promises {line!r} and prints\n{printed.getvalue()}"
        everything += printed.getvalue()
    pyplot.close("all")
    for output in blocks(name, "text"):
        assert output in everything


def test_the_readme_is_short():
    assert len(text("README.md")) <= 9000


def run(block, names, where):
    """Statements as they stand; a line that ends in `# → value` prints the value it has."""
    lines = []
    for line in block.splitlines():
        promise = re.match(r"(?P<code>[^#\s].*?)\s*#.*?→", line)
        is_value = promise and not re.match(r"(print\(|import |from |\w+ *=[^=])", promise["code"])
        lines.append(f"print({promise['code']})" if is_value else line)
    exec(compile("\n".join(lines), where, "exec"), names)


@pytest.mark.parametrize("name", [n for n in deciban.__all__ if not n.startswith("_")])
def test_every_public_name_is_mentioned(name):
    text("README.md")
    written = "\n".join(path.read_text() for path in DOCS if path.exists())
    assert re.search(rf"\b{name}\b", written), f"{name} is in deciban.__all__, but in no document"


def test_every_make_target_of_the_documents_exists():
    targets = set(re.findall(r"^([\w-]+):", text("Makefile"), flags=re.MULTILINE))
    written = "\n".join(path.read_text() for path in [*DOCS, ROOT / "CONTRIBUTING.md"] if path.exists())
    asked = set(re.findall(r"`make ([a-z][\w-]*)", written)) | set(
        re.findall(r"^\$? ?make ([a-z][\w-]*)", written, re.M)
    )
    assert asked <= targets, f"no such target: {sorted(asked - targets)}"


@pytest.mark.parametrize("name", ["docs/architecture.md", "docs/maths.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_exists(name):
    named = set(re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|pyi|md))`", text(name)))
    known = [f"/{path.relative_to(ROOT)}" for path in tracked()]
    missing = {path for path in named if not any(file.endswith(f"/{path}") for file in known)}
    assert not missing


def test_every_link_between_documents_leads_somewhere():
    """Those to pages that the build of the site makes are followed by docs/check_site.py."""
    made = [ROOT / line.strip("/\n") for line in text(".gitignore").splitlines() if line.startswith("/docs/")]
    for path in [*DOCS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        if path.exists():
            for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text()):
                found = (path.parent / target).resolve()
                assert found.exists() or set(made) & set(found.parents), f"{path.name} links to {target}"


def test_the_changelog_knows_this_version():
    assert re.search(rf"^#+ .*\b{re.escape(deciban.__version__)}\b", text("CHANGELOG.md"), flags=re.MULTILINE)


def test_the_version_is_one():
    assert f'version = "{deciban.__version__}"' in text("pyproject.toml")


def tracked():
    """The files of the project, as git knows them."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    names = listed.stdout.splitlines() or [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    return [ROOT / name for name in names if not HIDDEN & set(Path(name).parts)]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_of_the_project_contains(what):
    """Patterns live in this file alone, so it is the one left out."""
    found = {}
    for path in tracked():
        if path.suffix in WRITTEN and path.is_file() and path != Path(__file__):
            match = FORBIDDEN[what].search(path.read_text(errors="ignore"))
            if match:
                found[str(path.relative_to(ROOT))] = match[0]
    assert not found


def test_no_type_checker_or_linter_is_silenced_without_a_rule():
    for path in (ROOT / "src").rglob("*.py"):
        for line in path.read_text().splitlines():
            assert not re.search(r"#\s*(type: ignore|noqa)\s*$", line), f"{path.name}: {line.strip()}"
