"""The figures known for public data sets come out; skipped where the data folder is absent."""

import pytest
from benchmarks import data, lab

import deciban

pytestmark = pytest.mark.corpus


def figures(which):
    try:
        return list(which())
    except data.DataMissingError as absent:
        pytest.skip(str(absent))


@pytest.mark.parametrize("which", [lab.measure_letter, lab.measure_vote], ids=["letters", "votes"])
def test_letters_and_votes_are_as_published(which):
    for figure in figures(which):
        assert figure.met, figure


def test_black_and_white_digits_are_as_published():
    try:
        X, y = data.load_mnist("train")
        X_test, y_test = data.load_mnist("t10k")
    except data.DataMissingError as absent:
        pytest.skip(str(absent))
    model = deciban.BernoulliNB(binarize=127).fit(X, y)
    assert round(model.score(X_test, y_test), 4) == 0.8427
