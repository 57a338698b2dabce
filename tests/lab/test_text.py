"""Published figures for text are reproduced; skipped where the data folder is missing."""

from itertools import islice

import pytest
from benchmarks import data, lab_text

pytestmark = pytest.mark.corpus


def list_or_skip(measure):
    try:
        return list(measure())
    except data.DataMissingError as error:
        pytest.skip(str(error))


@pytest.mark.thorough
def test_newsgroups_are_as_published_and_equal_scikit_learn():
    figures = list_or_skip(lambda: lab_text.measure_newsgroups([1.0]))
    assert len(figures) == 3
    for figure in figures:
        assert figure.met, figure
        assert figure.ours == figure.peer


def test_four_newsgroups_weighted_by_tf_idf_are_as_published_and_equal_scikit_learn():
    (figure,) = list_or_skip(lambda: islice(lab_text.measure_weightings(), 1))
    assert figure.met, figure
    assert figure.ours == figure.peer


def test_movie_sentences_are_as_published():
    figures = list_or_skip(lab_text.measure_sentences)
    assert len(figures) == 2
    for figure in figures:
        assert figure.met, figure
        assert figure.ours == pytest.approx(figure.peer, abs=2e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("event", ["boolean", "bernoulli"])
def test_spam_recall_is_as_published_when_each_batch_is_scored_before_it_is_learned(event):
    figures = list_or_skip(lambda: lab_text.measure_mailboxes([(1, event)]))
    assert len(figures) == 2
    for figure in figures:
        assert figure.met, figure
