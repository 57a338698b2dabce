"""Every idea has its page: a short script with a title, labelled figures, and the list in the head of the gallery."""

import ast
import re

import pytest

from tests.gallery.pages import EXAMPLES, IDEAS, path_of, run

MAX_LINES = 60

MISTAKES = {
    "the ½ missing in the exponent": "10_crossing_gaussians",
    "−½ ln|Σ| dropped": "11_gaussian_boundaries",
    "the prior's log inside the sum over features": "07_logarithms",
    "ln((1 − p)/p) upside down": "13_logistic_regression",
    "the sign of the quadratic form": "11_gaussian_boundaries",
    "a class covariance summed over all rows": "11_gaussian_boundaries",
    "a Bernoulli log-likelihood without (1 − x), averaged": "06_linear_classifier",
}
"""Common mistakes, and the page that shows the right arithmetic."""


def test_every_idea_has_a_script_and_every_script_an_idea():
    assert len(IDEAS) == 20
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == [path_of(name).name for name in IDEAS.values()]


@pytest.mark.parametrize("name", IDEAS.values())
def test_a_script_is_short_and_begins_with_a_title(name):
    text = path_of(name).read_text()
    assert len(text.splitlines()) <= MAX_LINES
    title, underline = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert underline == "=" * len(title)
    assert ".. math::" in text or ":math:" in text
    assert "matplotlib" in text
    assert re.search(r"^(from|import) deciban", text, flags=re.MULTILINE)


@pytest.mark.parametrize(("mistake", "name"), MISTAKES.items())
def test_every_common_mistake_is_shown_on_a_page(mistake, name):
    assert re.search(r"\*\*(A common mistake|Common mistakes):\*\*", path_of(name).read_text()), mistake


def has_labels(ax):
    """Return whether an Axes says what its axes are; images and panels without ticks need no labels."""
    bare = not ax.axison or (len(ax.get_xticks()) == 0 and len(ax.get_yticks()) == 0)
    shared = ax.figure.get_supxlabel() and ax.figure.get_supylabel() if hasattr(ax.figure, "get_supxlabel") else ""
    names = any(re.search(r"[^\d.\s−]", text.get_text()) for text in (*ax.get_xticklabels(), *ax.get_yticklabels()))
    return bare or bool(shared) or bool(ax.get_xlabel() or ax.get_ylabel()) or names


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
@pytest.mark.parametrize("name", IDEAS.values())
def test_figures_have_titles_for_their_alternative_text_and_labelled_axes(name):
    page = run(name)
    assert page.text.strip()
    assert 1 <= len(page.figures) <= 3
    for figure in page.figures:
        titles = [ax.get_title(place) for ax in figure.axes for place in ("left", "center")]
        assert any([*titles, figure.get_suptitle()])
        assert all(map(has_labels, figure.axes))
