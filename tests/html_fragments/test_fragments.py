"""Fragments are well-formed, show the numbers they are given, and escape whatever they are given."""

import math

import pytest

from deciban.html_fragments import (
    Bar,
    draw_interval,
    draw_posterior,
    draw_waterfall,
    element,
    highlight_passages,
    join,
    make_confusion_table,
    make_pairs,
    make_table,
)
from tests.html_fragments.parsed import parse

HOSTILE = """<script>alert('x')</script>"><img src=x onerror=alert(1)>&lt;\u202eabc\x00\ud800"""


def bars_of(tree):
    return [
        (float(rect.attributes["x"]), float(rect.attributes["width"]), rect.attributes["class"])
        for rect in tree.all("rect")
    ]


def test_a_waterfall_begins_each_bar_where_the_last_one_ended():
    tree = parse(draw_waterfall([Bar("prior", -4.0), Bar("age", 10.0), Bar("dose", -2.0)], 4.0, "a or b"))
    # the sums are 0, −4, 6, 4: from −4 to 6 is the width of 100
    expected = [(0.0, 40.0, "db-fill-against"), (0.0, 100.0, "db-fill-for"), (80.0, 20.0, "db-fill-against")]
    assert bars_of(tree) == [*expected, (40.0, 40.0, "db-fill-for")]
    rows = tree.all("tbody")[0].all("tr")
    assert [row.all("th")[0].text for row in rows] == ["prior", "age", "dose", "total"]
    assert [row.all("td", "db-n")[0].text for row in rows] == ["−4.00", "+10.00", "−2.00", "+4.00"]


def test_infinite_and_undefined_evidence_can_be_drawn():
    tree = parse(draw_waterfall([Bar("a", math.inf), Bar("b", -3.0), Bar("c", math.nan)], math.inf))
    assert all(0 <= x <= 100 and 0 < width <= 100 for x, width, _ in bars_of(tree))
    assert [cell.text for cell in tree.all("td", "db-n")] == ["+∞", "−3.00", "undefined", "+∞"]


def test_a_posterior_has_bars_as_long_as_the_probabilities():
    tree = parse(draw_posterior([("yes", 0.75), ("no", 0.25), ("never", 0.0)]))
    assert [width for _, width, _ in bars_of(tree)] == [75.0, 25.0]
    assert [float(cell.attributes["data-p"]) for cell in tree.all("td", "db-n")] == [0.75, 0.25, 0.0]


def test_a_confusion_table_has_shares_of_its_rows_as_shades():
    tree = parse(make_confusion_table(["a", "b"], [[9.0, 1.0], [0.0, 0.0]]))
    cells = [[(cell.text, cell.attributes["class"]) for cell in row.all("td")] for row in tree.all("tr")[1:]]
    assert cells[0] == [("9", "db-n db-for-5"), ("1", "db-n db-against-1"), ("90.0 %", "db-n")]
    assert cells[1] == [("0", "db-n"), ("0", "db-n"), ("–", "db-n")]
    tree = parse(make_confusion_table(["a", "b"], [[1234567.0, 0.25], [0.0, 12345.6]]))
    assert [cell.text for cell in tree.all("td")] == ["1 234 567", "0.25", "100.0 %", "0", "12 346", "100.0 %"]


def test_an_interval_is_drawn_to_scale_and_one_that_is_unknown_is_not():
    tree = parse(draw_interval(0.8, (0.7, 0.9)))
    (x, width, _), (middle, *_) = (
        (float(rect.attributes["x"]), float(rect.attributes["width"]), None) for rect in tree.all("rect")
    )
    assert (x, width, middle) == (70.0, 20.0, 80.0)
    assert "80.00 %" in tree.text
    assert "70.00 to 90.00" in tree.text
    assert not parse(draw_interval(math.nan, (math.nan, math.nan))).all("svg")


def test_overlapping_passages_add_their_evidence_and_the_text_stays_complete():
    text = "not good & <b>bad</b>"
    tree = parse(highlight_passages(text, [(0, 8, -2.0), (4, 8, 5.0), (14, 17, -math.inf)]))
    marks = [(mark.text, float(mark.attributes["data-decibans"])) for mark in tree.all("mark")]
    assert marks == [("not ", -2.0), ("good", 3.0), ("bad", -math.inf)]
    assert tree.text == text


def test_a_long_text_is_cut_where_it_says_so():
    tree = parse(highlight_passages("ab " * 10_000, [(0, 2, 1.0), (29_999, 30_000, 1.0)]))
    assert tree.text.endswith(" … 10 000 more characters")
    assert len(tree.all("mark")) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda bad: draw_waterfall([Bar(bad, 1.0)], 1.0, bad, odds=bad),
        lambda bad: draw_posterior([(bad, 1.0)], bad),
        lambda bad: make_confusion_table([bad, "b"], [[1, 2], [3, 4]]),
        lambda bad: make_table([bad, "n"], [[bad, bad]], bad),
        lambda bad: make_pairs([(bad, bad)]),
        lambda bad: highlight_passages(bad, [(3, 9, 1.0)]),
        lambda bad: element("a", bad, title=bad, data_x=bad),
        lambda bad: join(bad),
    ],
)
def test_nothing_that_is_shown_can_become_markup(make):
    html = make(HOSTILE)
    tree = parse(html)
    assert not tree.tags() & {"script", "img"}
    assert not any(name.startswith("on") for name in tree.names_of_attributes())
    assert "\u202e" not in html
    assert "\x00" not in html
    html.encode()  # lone surrogates are gone
    assert "<script>alert('x')</script>" in "".join([tree.text, *tree.names_of_attributes()])
