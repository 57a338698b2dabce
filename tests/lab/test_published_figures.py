"""Figures expected of public data sets are reproduced; skipped where the data folder is missing."""

from itertools import islice

import pytest
from benchmarks import data, lab, lab_tables, lab_text

import deciban

pytestmark = pytest.mark.corpus


def list_or_skip(measure):
    try:
        return list(measure())
    except data.DataMissingError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    "measure",
    [
        pytest.param(lab.measure_letter, marks=pytest.mark.thorough(reason="needs a corpus, and minutes")),
        lab.measure_vote,
    ],
    ids=["letters", "votes"],
)
def test_letters_and_votes_are_as_published(measure):
    published = [each for each in list_or_skip(measure) if each.meets is not None and "mixed" not in each.model]
    assert published
    for figure in published:
        assert figure.met, figure


def test_black_and_white_digits_are_as_published():
    (X, y), (X_test, y_test) = list_or_skip(lambda: map(data.load_mnist, ("train", "t10k")))
    model = deciban.BernoulliNB(binarize=127).fit(X, y)
    assert round(model.score(X_test, y_test), 4) == 0.8427


@pytest.mark.thorough(reason="needs a corpus, and minutes")
def test_adult_is_as_published():
    for figure in list_or_skip(lab_tables.measure_adult):
        assert figure.met, figure


@pytest.mark.thorough(reason="needs a corpus, and minutes")
def test_skipping_missing_cells_costs_no_more_than_a_point_against_imputing_them():
    results = list_or_skip(lambda: lab_tables.measure_missing(lab_tables.TARGET_TABLES))
    assert len(results) == len(lab_tables.TARGET_TABLES)
    assert lab_tables.cost_of_skipping(results) <= lab_tables.MAX_SKIPPING_COST


@pytest.mark.thorough(reason="needs a corpus, and minutes")
def test_newsgroups_are_as_published_and_equal_scikit_learn():
    figures = list_or_skip(lambda: lab_text.measure_newsgroups([1.0]))
    assert len(figures) == 3
    for figure in figures:
        assert figure.met, figure
        assert figure.ours == figure.peer


@pytest.mark.thorough(reason="needs a corpus, and minutes")
def test_four_newsgroups_weighted_by_tf_idf_are_as_published_and_equal_scikit_learn():
    (figure,) = list_or_skip(lambda: islice(lab_text.measure_weightings(), 1))
    assert figure.met, figure
    assert figure.ours == figure.peer


@pytest.mark.thorough(reason="needs a corpus, and minutes")
def test_movie_sentences_are_as_published():
    figures = list_or_skip(lab_text.measure_sentences)
    assert len(figures) == 2
    for figure in figures:
        assert figure.met, figure
        assert figure.ours == pytest.approx(figure.peer, abs=2e-4)


@pytest.mark.thorough(reason="needs a corpus, and minutes")
@pytest.mark.parametrize("event", ["boolean", "bernoulli"])
def test_spam_recall_is_as_published_when_each_batch_is_scored_before_it_is_learned(event):
    figures = list_or_skip(lambda: lab_text.measure_mailboxes([(1, event)]))
    assert len(figures) == 2
    for figure in figures:
        assert figure.met, figure
