"""The figures published for text come out; skipped where the data folder is absent."""

import pytest
from benchmarks import data, lab_text

pytestmark = pytest.mark.corpus


def present(measure):
    try:
        return list(measure())
    except data.DataAbsent as absent:
        pytest.skip(str(absent))


def test_newsgroups_are_as_published_and_as_scikit_learn_says():
    for figure in present(lambda: lab_text.newsgroups([1.0])):
        assert figure.met, figure
        assert figure.ours == figure.peer


def test_movie_sentences_are_as_published():
    for figure in present(lab_text.sentences):
        assert figure.met, figure
        assert figure.ours == pytest.approx(figure.peer, abs=2e-4)


@pytest.mark.parametrize("event", ["boolean", "bernoulli"])
def test_spam_is_recalled_as_published_when_each_batch_is_judged_before_it_is_learned(event):
    for figure in present(lambda: lab_text.mails([(1, event)])):
        assert figure.met, figure
