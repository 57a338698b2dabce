"""The cheat sheet: one page, up to date, complete, and without texts that overlap."""

import importlib.util
import inspect
import re

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import deciban
from deciban.estimators.classifier_base import Classifier
from tests.gallery.pages import DOCS

spec = importlib.util.spec_from_file_location("make_cheat_sheet", DOCS / "make_cheat_sheet.py")
make_cheat_sheet = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_cheat_sheet)

HINT = "Hint: python docs/make_cheat_sheet.py"


@pytest.fixture(scope="module")
def sections():
    return make_cheat_sheet.collect()


def test_the_file_is_one_page_with_the_present_text(sections):
    written = (DOCS / "cheat-sheet.pdf").read_bytes()
    assert make_cheat_sheet.digest(sections).encode() in written, HINT
    assert re.search(rb"/Type /Pages\b.*?/Count 1\b|/Count 1\b.*?/Type /Pages\b", written, flags=re.DOTALL)


def test_every_estimator_is_there(sections):
    public = {name: getattr(deciban, name) for name in deciban.__all__}
    estimators = {name for name, thing in public.items() if inspect.isclass(thing) and issubclass(thing, Classifier)}
    assert {row[0] for row in sections["families"].rows[1:]} == estimators


def test_boundaries_and_parameters_are_those_of_the_models(sections):
    """Two classes, four columns of three levels: Kd + 1 flags, K(3⁴ − 1) + 1 combinations, K(d + d(d+1)/2) + 1."""
    found = {row[0]: (row[4], row[5]) for row in sections["families"].rows[1:]}
    assert found["BernoulliNB"] == ("line", "9")
    assert found["JointBayes"] == ("steps", "161")
    assert found["GaussianBayes"] == ("conic", "29")
    assert ("identity", "line", "9") in sections["covariances"].rows


def test_names_in_the_python_column_exist():
    first, second = make_cheat_sheet.PYTHON.split("\n\n")
    for name in re.findall(r"deciban\.(\w+)", first + second):
        assert name in ("deciban", "plots") or hasattr(deciban, name), name
    assert all(hasattr(deciban, name) for name in ("choose", "learning_curve", "dependence"))
    for text, owner in ((first, deciban.Model), (second, deciban.GaussianNB)):
        for name in re.findall(r"(?:model|nb| )\.([a-z_]+)", text):
            assert hasattr(owner, name) or name == "b", name


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_no_text_overlaps_another_or_the_edge(sections):
    figure = make_cheat_sheet.draw_page(sections).figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [
        (text.get_text(), text.get_window_extent(renderer).padded(-1)) for text in figure.texts if text.get_text()
    ]
    width = figure.get_figwidth() * figure.dpi
    margin = 0.25 * figure.dpi
    for i, (text, box) in enumerate(boxes):
        assert margin <= min(box.x0, box.y0), text
        assert box.x1 <= width - margin, text
        assert not [other for other, place in boxes[i + 1 :] if box.overlaps(place)], text
