"""The figures published for text come out; skipped where the data folder is absent."""

from itertools import islice

import pytest
from benchmarks import data, lab_text

pytestmark = pytest.mark.corpus


def present(measure):
    try:
        return list(measure())
    except data.DataMissingError as absent:
        pytest.skip(str(absent))


@pytest.mark.thorough
def test_newsgroups_are_as_published_and_as_scikit_learn_says():
    figures = present(lambda: lab_text.newsgroups([1.0]))
    assert len(figures) == 3
    for figure in figures:
        assert figure.met, figure
        assert figure.ours == figure.peer


def test_four_newsgroups_weighed_by_tf_idf_are_as_published_and_as_scikit_learn_says():
    (figure,) = present(lambda: islice(lab_text.weighted(), 1))
    assert figure.met, figure
    assert figure.ours == figure.peer


def test_movie_sentences_are_as_published():
    figures = present(lab_text.sentences)
    assert len(figures) == 2
    for figure in figures:
        assert figure.met, figure
        assert figure.ours == pytest.approx(figure.peer, abs=2e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("event", ["boolean", "bernoulli"])
def test_spam_is_recalled_as_published_when_each_batch_is_judged_before_it_is_learned(event):
    figures = present(lambda: lab_text.mails([(1, event)]))
    assert len(figures) == 2
    for figure in figures:
        assert figure.met, figure
