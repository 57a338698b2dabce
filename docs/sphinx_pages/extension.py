"""The extension of Sphinx: the pages of the reference are written when a build starts, and links lead to them.

`commands` writes a page for each command, `python_api` one for each public class and function, `project_files` one
for each document at the root of the repository, and `links` makes links to their sources lead to these pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from sphinx_pages import commands, flowchart, links, mathml, measured, project_files, python_api


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the parts of the extension."""
    app.connect("config-inited", lambda app, config: write_pages(Path(app.srcdir)))
    app.connect("source-read", redirect_links)
    app.connect("autodoc-process-docstring", python_api.remove_attributes, priority=100)
    app.add_directive("measured", measured.MeasuredPages)
    app.add_directive("mermaid", flowchart.FlowchartDirective)
    mathml.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def redirect_links(app: Sphinx, name: str, source: list[str]) -> None:
    """Make the links of a page lead to generated pages."""
    source[0] = links.redirect(source[0])


def write_pages(docs: Path) -> None:
    """Write all generated pages; those that have not changed keep their time, and those of former builds go."""
    write_folder(docs / "reference" / "commands", commands.make_pages((docs / "cli.md").read_text()))
    write_folder(docs / "reference" / "api", python_api.make_pages())
    write_folder(docs / "project", project_files.make_pages(docs.parent))


def write_folder(folder: Path, pages: Mapping[str, str]) -> None:
    """Make the files of a folder be these pages, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
