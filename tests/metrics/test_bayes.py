"""The Bayes table: against exact fractions, and as a sum of evidence."""

import json
import math
from fractions import Fraction

import matplotlib

matplotlib.use("Agg")

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot

from deciban import BayesTable
from deciban.errors import InputError
from deciban.plots import bayes
from deciban.plots.theory_pictures import count_groups, share_dots
from tests.cli.terminal import call, done
from tests.plots.readability import assert_readable

LECTURE = BayesTable(prior=0.01, sensitivity=0.9, specificity=0.95)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    pyplot.close("all")


def test_the_figures_of_the_lecture():
    """1 % are ill, 90 % of them test positive, and 5 % of the others: 90 of 585 positives are ill, 2 in 13."""
    assert LECTURE.true_positives == pytest.approx(90)
    assert LECTURE.false_positives == pytest.approx(495)
    assert LECTURE.positive_predictive_value == pytest.approx(float(Fraction(90, 585)))
    assert Fraction(90, 585) == Fraction(2, 13)
    assert LECTURE.negative_predictive_value == pytest.approx(float(Fraction(9405, 9415)))


shares = st.integers(0, 100).map(lambda n: n / 100)


@given(prior=shares, sensitivity=shares, specificity=shares, population=st.integers(1, 30_000))
def test_everybody_is_counted_once_and_bayes_theorem_holds(prior, sensitivity, specificity, population):
    table = BayesTable(prior, sensitivity, specificity, population)
    p, se, sp = (Fraction(round(100 * x), 100) for x in (prior, sensitivity, specificity))
    groups = [table.true_positives, table.false_negatives, table.false_positives, table.true_negatives]
    exact = [population * part for part in (p * se, p * (1 - se), (1 - p) * (1 - sp), (1 - p) * sp)]
    assert groups == pytest.approx([float(part) for part in exact], abs=1e-6)
    positive = p * se + (1 - p) * (1 - sp)
    if positive:
        assert table.positive_predictive_value == pytest.approx(float(p * se / positive), abs=1e-9)
    else:
        assert math.isnan(table.positive_predictive_value) or population * float(positive) < 1e-6
    dots = share_dots(count_groups(table), min(population, 10_000))
    assert sum(dots) == min(population, 10_000)
    assert all(abs(n - part) < 1 for n, part in zip(dots, _in_dots(exact, population)))
    assert str(table)


def _in_dots(exact, population):
    scale = Fraction(min(population, 10_000), population)
    found, missed, alarmed, cleared = (float(part * scale) for part in exact)
    return [missed, found, alarmed, cleared]


def test_the_few_whom_a_negative_test_misses_are_not_lost_by_rounding():
    rare = BayesTable(prior=1e-15, sensitivity=0.5, specificity=1.0)
    assert "Of those who test negative, 0.00000000000005 % have it" in str(rare)


def test_evidence_adds_up_to_the_odds_after_the_test():
    after = LECTURE.prior_decibans + LECTURE.positive_decibans
    p = LECTURE.positive_predictive_value
    assert after == pytest.approx(10 * math.log10(p / (1 - p)))
    p = 1 - LECTURE.negative_predictive_value
    assert LECTURE.prior_decibans + LECTURE.negative_decibans == pytest.approx(10 * math.log10(p / (1 - p)))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1.2, 0.9, 0.9), "prior must be a share"),
        ((0.1, -0.1, 0.9), "sensitivity"),
        ((0.1, 0.9, math.nan), "specificity"),
        ((0.1, 0.9, "0.9"), "specificity"),
        ((0.1, 0.9, 0.9, 0), "population"),
        ((0.1, 0.9, 0.9, 2.5), "population"),
    ],
)
def test_what_is_no_share_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        BayesTable(*values)


def test_every_dot_is_a_person():
    ax = bayes(LECTURE)
    assert [len(group.get_offsets()) for group in ax.collections] == [10, 90, 495, 9405]
    _, positive, _ = ax.figure.axes
    assert [len(group.get_offsets()) for group in positive.collections] == [0, 90, 495, 0]
    assert "15.4 %" in positive.get_title(loc="left")
    places = [tuple(place) for group in ax.collections for place in group.get_offsets()]
    assert len(set(places)) == 10_000


def test_of_many_people_a_dot_stands_for_several_and_of_the_positives_for_fewer():
    ax = bayes(BayesTable(1e-5, 0.99, 0.999, 10**7))
    assert sum(len(group.get_offsets()) for group in ax.collections) == 10_000
    assert "a dot stands for" in ax.get_title(loc="left")
    _, have, have_not, _ = ax.figure.axes[1].collections
    share = len(have.get_offsets()) / (len(have.get_offsets()) + len(have_not.get_offsets()))
    assert share == pytest.approx(99 / (99 + 9999.9), abs=1 / 2500)


CORNERS = [
    LECTURE,
    BayesTable(0.3, 0.8, 0.7, 150),
    BayesTable(0.01, 0.9, 0.95, 1),
    BayesTable(1e-5, 0.99, 0.999, 10**7),
    BayesTable(0.0, 0.9, 1.0),
    BayesTable(0.5, 1.0, 1.0),
    BayesTable(1.0, 1.0, 1.0),
]


@pytest.mark.parametrize("table", CORNERS, ids=range(len(CORNERS)))
def test_every_text_can_be_read(table):
    assert_readable(bayes(table).figure)
    _, ax = pyplot.subplots()
    assert bayes(table, ax=ax) is ax


ASKED = ["bayes", "--prior", "0.01", "--sensitivity", "0.9", "--specificity", "0.95"]


def test_the_command_states_it_in_words_in_figures_and_as_a_picture(tmp_path):
    reported = done(*ASKED).stdout
    assert "Of those who test positive, 15.4 % have it: 90 of 585." in reported
    figures = json.loads(done(*ASKED, "--json").stdout)
    assert figures["positive_predictive_value"] == pytest.approx(2 / 13)
    assert figures["population"] == 10_000
    assert "10 000 people" in done(*ASKED, "-o", tmp_path / "people.png").stderr
    assert (tmp_path / "people.png").read_bytes().startswith(b"\x89PNG")
    assert "100 have it" not in done(*ASKED, "--population", "500").stdout


def test_the_command_refuses_what_is_no_share():
    result = call("bayes", "--prior", "1", "--sensitivity", "90", "--specificity", "0.95")
    assert result.exit_code == 2
    assert "--sensitivity: '90' is more than 1" in result.stderr
    assert call("bayes", "--prior", "1").exit_code == 2
    assert call(*ASKED, "-o", "people.gif").exit_code == 2
