"""Settings of the documentation site: `make docs` builds it into build/docs, without network access.

Pages of the reference are generated when a build starts (`sphinx_pages/`): those of Python from docstrings, those of
the command line from its parser and docs/cli.md. Everything else is a Markdown file of this folder.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent / "src")]

import deciban  # noqa: E402

project = "deciban"
author = "The deciban developers"
copyright = "2026, The deciban developers"
version = release = deciban.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_pages.extension",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["cli.md", "examples", "sg_execution_times.rst", "**/sg_execution_times.rst"]
root_doc = "index"
language = "en"
smartquotes = False
nitpicky = True
toc_object_entries_show_parents = "hide"
suppress_warnings = ["misc.highlighting_failure"]  # Pygments does not know the extensions of Sieve
default_role = "literal"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4
myst_fence_as_directive = {"mermaid"}
myst_links_external_new_tab = False

autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_mock_imports = [name for name in ("pyspark",) if find_spec(name) is None]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_only_copy_prompt_lines = True

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"/plot_",
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": "DECIBAN_DOCS_WITHOUT_PICTURES" not in os.environ,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 1_000,
    "show_memory": False,
    "abort_on_example_error": True,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = f"deciban {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_search_scorer = str(DOCS / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {
    "logo": {"text": f"deciban {version}"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "collapse_navigation": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version", "theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "search": []}
