"""Waterfalls: bars that begin where the one above ends, from the prior to the total."""

import math
import re
from itertools import pairwise, product

import numpy as np
import pytest
from matplotlib import pyplot

import deciban
from deciban.cli import render
from deciban.errors import InputError
from deciban.formatting import shorten_evidence_name
from deciban.plots import evidence, style
from deciban.plots.evidence import make_steps
from tests.plots.readability import assert_readable
from tests.plots.tables import EXTREMES, clinic, clinic_model, many, many_model, posterior


def bars(ax):
    """Name, begin and end of each bar, from the top down."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    spans = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    return list(zip(names, *zip(*spans)))


@pytest.mark.parametrize("row", range(0, 120, 17))
def test_the_bars_lead_from_even_odds_over_the_prior_to_the_posterior(row):
    model = clinic_model()
    explanation = model.explain(clinic())[row]
    *parts, (name, start, end) = bars(evidence(explanation))
    assert (parts[0][0], parts[0][1], name, start) == ("prior", 0.0, "total", 0.0)
    for (_, _, before), (_, begins, _) in pairwise(parts):
        assert begins == pytest.approx(before, abs=1e-9)
    assert parts[-1][2] == pytest.approx(end, abs=1e-9)
    p = posterior(model, clinic(), row)
    assert end == pytest.approx(10 * math.log10(p[explanation.winner[0]] / p[explanation.runner_up[0]]), abs=1e-9)


def test_a_shortened_name_keeps_the_value_of_its_own_column():
    text = "adoption-of-the-budget-resolution = y, given aid-to-nicaraguan-contras = n"
    for shorten, width in product((style.shorten, render.shorten), range(16, 80)):
        own, given, parent = shorten_evidence_name(text, width, shorten).partition(", given ")
        assert len(own + given + parent) <= width
        assert re.fullmatch("adop.*on = y(, …)?", own)
        assert re.fullmatch("ai.*s = n", parent) if given else width < 40


def test_the_prior_comes_first_and_then_the_strongest():
    _, *parts, _ = make_steps(clinic_model().explain(clinic()), 0, 12)
    sizes = [abs(step.decibans) for step in parts]
    assert sizes == sorted(sizes, reverse=True)


def test_reasons_without_a_bar_of_their_own_are_one_together():
    explanation = many_model(2, 300).explain(many(2, 300))
    every, some = make_steps(explanation, 1, 10**6), make_steps(explanation, 1, 5)
    assert [step.name for step in some[:6]] == [step.name for step in every[:6]]
    assert some[6].name == f"{len(every) - 7} more"
    assert some[6].decibans == pytest.approx(sum(step.decibans for step in every[6:-1]))
    assert some[-1] == every[-1]


def test_evidence_against_differs_from_evidence_for_without_colour():
    ax = evidence(clinic_model().explain(clinic())[5])
    for bar in ax.patches[:-1]:
        assert bool(bar.get_hatch()) == (bar.get_width() < 0)


def test_a_text_is_shown_by_its_words():
    table = {"message": ["free prize now", "lunch at noon", "free money", "noon lunch"], "y": ["spam", "ham"] * 2}
    model = deciban.train(table, target="y", roles={"message": "text"}, judge=False)
    explanation = model.explain(table)
    names = [name for name, _, _ in bars(evidence(explanation))]
    assert "“free”" in names
    assert "message" not in " ".join(names)
    assert make_steps(explanation, 0, 12)[-2].end == pytest.approx(float(explanation.total[0]))


def test_documents_are_shown_by_their_words():
    model = deciban.TextClassifier().fit(["free $money$", "lunch at noon"], ["spam", "ham"])
    ax = evidence(model.explain(["free lunch"]))
    assert {"prior", "“free”", "“lunch”", "total"} == {name for name, _, _ in bars(ax)}
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_what_is_impossible_goes_to_the_edge():
    model = deciban.BernoulliNB(alpha=0.0, force_alpha=True).fit([[1, 0], [1, 1], [0, 0], [0, 1]], list("aabb"))
    with np.errstate(divide="ignore", invalid="ignore"):
        ax = evidence(model.explain([[1, 1]]))
    assert "+∞" in [text.get_text() for text in ax.texts]
    assert all(np.isfinite(bar.get_x() + bar.get_width()) for bar in ax.patches)


@pytest.mark.parametrize(("classes", "columns", "rows"), EXTREMES)
def test_every_text_can_be_read(classes, columns, rows):
    explanation = many_model(classes, columns, rows).explain(many(classes, columns, rows))
    assert_readable(evidence(explanation).figure)


def test_it_is_drawn_into_an_axes_that_is_given():
    _, ax = pyplot.subplots()
    assert evidence(clinic_model().explain(clinic())[0], ax=ax) is ax


@pytest.mark.parametrize(
    ("given", "words"),
    [({"row": 120}, "row 120 is not there"), ({"most": 0}, "most must be a whole number"), ({"most": True}, "most")],
)
def test_what_cannot_be_drawn_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        evidence(clinic_model().explain(clinic()), **given)
    with pytest.raises(InputError, match="not list"):
        evidence([1, 2])
