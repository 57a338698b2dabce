"""The notebooks that the pages are downloaded as: their cells, run in order, print what the script prints."""

import contextlib
import io
import warnings

import pytest

from tests.gallery.pages import IDEAS, path_of, run


def make_notebook(name):
    """Return the notebook of a script, as sphinx-gallery makes it."""
    notebook = pytest.importorskip("sphinx_gallery.notebook")
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    _, blocks = split_code_and_text_blocks(str(path_of(name)))
    return notebook.jupyter_notebook(blocks, dict(DEFAULT_GALLERY_CONF), str(path_of(name).parent))


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
@pytest.mark.parametrize("name", IDEAS.values())
def test_the_cells_of_the_notebook_run_and_print_the_same(name):
    from matplotlib import pyplot

    cells = make_notebook(name)["cells"]
    assert {cell["cell_type"] for cell in cells} == {"code", "markdown"}
    printed, variables = io.StringIO(), {"__name__": "__main__"}
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        for cell in cells:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), name, "exec"), variables)
    pyplot.close("all")
    assert printed.getvalue() == run(name).text
