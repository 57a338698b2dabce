"""Calculator and Digits: their numbers are those of the library."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_digits

from deciban.metrics.bayes_table import BayesTable
from deciban.studio.pages.calculator import PRESETS, count_dots
from deciban.studio.pages.digits import draw_image
from tests.html_fragments.parsed import parse


@pytest.mark.parametrize("shares", [(1, 90, 95), (0, 0, 100), (100, 100, 100), (0.013, 33.3, 66.6)])
def test_the_calculator_shows_the_table_of_the_library(studio, shares):
    prior, sensitivity, specificity = shares
    found = studio.get(f"/calculator/result?prior={prior}&sensitivity={sensitivity}&specificity={specificity}").json()
    table = BayesTable(*(share / 100 for share in shares))
    assert found["figures"] == table.to_dict()
    assert sum(found["dots"].values()) == 10_000
    for name, n in found["dots"].items():
        assert abs(n - getattr(table, name)) < 1
    cells = [cell.text for cell in parse(found["html"]).all("table")[0].all("td")]
    assert float(cells[0].replace(" ", "")) == pytest.approx(table.true_positives, abs=0.005)


def test_ten_thousand_dots_are_shared_out_for_any_shares():
    rng = np.random.default_rng(0)
    for shares in rng.random((200, 3)):
        dots = count_dots(BayesTable(*shares.tolist()))
        assert sum(dots.values()) == 10_000
        assert min(dots.values()) >= 0


def test_shares_that_are_none_are_the_default(studio):
    html = studio.page("/calculator?prior=2000&sensitivity=x&specificity=nan")
    assert re.findall(r'type="number" id="(\w+)"[^>]* value="([\d.]+)"', html) == [
        ("prior", "1"), ("sensitivity", "90"), ("specificity", "95"),
    ]  # fmt: skip
    assert all(name in html for name, *_ in PRESETS)


def test_handwritten_digits_are_recognised(studio):
    images, labels = load_digits(return_X_y=True)
    found = [studio.post("/digits/recognise", json={"pixels": images[i].tolist()}).json() for i in range(0, 300, 10)]
    assert np.mean([each["digit"] == labels[10 * i] for i, each in enumerate(found)]) > 0.95
    assert all(sum(each["posterior"]) == pytest.approx(1) for each in found)


def test_the_means_of_the_classes_are_drawn(studio):
    images, labels = load_digits(return_X_y=True)
    html = studio.page("/digits")
    assert draw_image(images[labels == 3].mean(axis=0)) in html
    assert html.count('class="pixels"') == 10


@pytest.mark.parametrize("pixels", [None, [], [0] * 63, [17] * 64, [-1] * 64, ["1"] * 64, [True] * 64, [1e400] * 64])
def test_what_is_no_image_is_refused(studio, pixels):
    assert studio.post("/digits/recognise", content=repr({"pixels": pixels}).replace("'", '"').replace("None", "null")
                       .replace("True", "true").replace("inf", "1e999")).status_code == 400  # fmt: skip


def test_examples_are_images_of_their_digit(studio):
    images, labels = load_digits(return_X_y=True)
    pixels = studio.get("/digits/example?digit=7&number=3").json()["pixels"]
    assert pixels == images[labels == 7][3].tolist()
    assert studio.get("/digits/example?digit=12").status_code == 404
    assert studio.get("/digits/example?digit=x").status_code == 400
