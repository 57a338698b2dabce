"""Published figures for public data sets are reproduced; skipped where the data folder is missing."""

import pytest
from benchmarks import data, lab

import deciban

pytestmark = pytest.mark.corpus


def list_or_skip(measure):
    try:
        return list(measure())
    except data.DataMissingError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("measure", [lab.measure_letter, lab.measure_vote], ids=["letters", "votes"])
def test_letters_and_votes_are_as_published(measure):
    for figure in list_or_skip(measure):
        assert figure.met, figure


def test_black_and_white_digits_are_as_published():
    try:
        X, y = data.load_mnist("train")
        X_test, y_test = data.load_mnist("t10k")
    except data.DataMissingError as error:
        pytest.skip(str(error))
    model = deciban.BernoulliNB(binarize=127).fit(X, y)
    assert round(model.score(X_test, y_test), 4) == 0.8427
