"""Telltales: the model's own evidence, and intervals against draws from the posterior."""

import numpy as np
import pytest

from deciban.errors import InputError, UndefinedError
from deciban.families.telltales import telltales
from deciban.families.text_family import Text
from deciban.ledger import Bags, Counts, Tallies
from tests.families.bags import bags, corpus

DECIBAN = 10 / np.log(10)
K = 4


def table(rows, documents):
    """Bags of a table of classes × words."""
    tallies = Tallies.from_counts(Counts(np.array(rows, float), np.array(documents, float)[:, None]))
    return Bags(tallies, tallies)


@pytest.mark.parametrize("event", ["multinomial", "bernoulli", "complement"])
@pytest.mark.parametrize("choice", [{}, {"most": 9}, {"alpha": 0.02}], ids=str)
def test_of_two_classes_they_are_the_models_own_evidence(event, choice):
    X, y = corpus(K=2)
    family, part = Text("words", event, **choice), bags(X, y, 2)
    weights = family.solve(part).linear().weights
    found = telltales(family, part, 1, 1000)
    assert sorted(t.word for t in found) == [v for v in family.select_words(part).places if X[y == 1][:, v].any()]
    for each in found:
        assert each.decibans == pytest.approx(DECIBAN * (weights[1] - weights[0])[each.word], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
def test_of_many_classes_the_others_are_taken_together(event):
    X, y = corpus()
    family = Text("words", event, most=12)
    part = bags(X, y, K)
    kept = family.select_words(part).places
    two = bags(X[:, kept], (y == 2) * 1, 2)  # the same words, class 2 against the rest
    for one, other in zip(telltales(family, part, 2, 99), telltales(Text("words", event), two, 1, 99), strict=True):
        assert one.word == kept[other.word]
        assert (one.decibans, one.low, one.high) == pytest.approx((other.decibans, other.low, other.high), rel=1e-10)


def test_a_complement_is_compared_with_the_mean_of_the_others():
    X, y = corpus()
    for norm in (False, True):
        family, part = Text("words", "complement", norm=norm), bags(X, y, K)
        weights = family.log_theta(part)
        expected = DECIBAN * (weights[1] - np.delete(weights, 1, axis=0).mean(axis=0))
        for found in telltales(family, part, 1, 99):
            assert found.decibans == pytest.approx(expected[found.word], rel=1e-9, abs=1e-12)
            assert found.low < found.decibans < found.high


def test_how_often_each_word_was_where():
    X, y = corpus()
    w = np.random.default_rng(0).integers(1, 3, len(y))
    part = bags(X, y, K, w)
    for found in telltales(Text("words", least=3, idf=True), part, 3, 99):
        x, here = X[:, found.word], y == 3
        assert found.count == (w * x)[here].sum()
        assert found.elsewhere == (w * x)[~here].sum()
        assert found.documents == w[here & (x > 0)].sum()
        assert found.documents_elsewhere == w[~here & (x > 0)].sum()


WORDS = [[30, 1, 5, 0, 300, 64], [40, 0, 1, 9, 150, 700]]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_intervals_of_words_are_those_of_draws_from_the_dirichlet(alpha):
    rng = np.random.default_rng(0)
    shares = [rng.dirichlet(np.array(n) + alpha, 400_000) for n in WORDS]
    with np.errstate(divide="ignore"):
        drawn = DECIBAN * (np.log(shares[0]) - np.log(shares[1]))
    for found in telltales(Text("words", alpha=alpha), table(WORDS, [50, 50]), 0, 9):
        low, high = np.quantile(drawn[:, found.word], [0.05, 0.95])
        near = 0.08 * (high - low)
        assert found.low == pytest.approx(low, abs=near)
        assert found.high == pytest.approx(high, abs=near)
        assert found.low < found.decibans < found.high


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_intervals_of_odds_are_those_of_draws_from_the_beta(alpha):
    rng, n, rows = np.random.default_rng(0), [[30, 1, 5, 0, 49], [40, 0, 1, 9, 3]], [50, 70]
    shares = [rng.beta(np.array(x) + alpha, r - np.array(x) + alpha, (400_000, 5)) for x, r in zip(n, rows)]
    drawn = DECIBAN * (np.log(shares[0] / (1 - shares[0])) - np.log(shares[1] / (1 - shares[1])))
    for found in telltales(Text("words", "bernoulli", alpha), table(n, rows), 0, 9):
        low, high = np.quantile(drawn[:, found.word], [0.05, 0.95])
        near = 0.08 * (high - low)
        assert found.low == pytest.approx(low, abs=near)
        assert found.high == pytest.approx(high, abs=near)


@pytest.mark.parametrize("event", ["multinomial", "bernoulli", "complement"])
@pytest.mark.parametrize("alpha", [1.0, 0.01, 1e-10])
def test_a_word_seen_once_does_not_head_the_list(event, alpha):
    words = [[1] * 50 + [200, 400], [0] * 50 + [1, 380]]
    found = telltales(Text("words", event, alpha), table(words, [500, 500]), 0, 5)
    assert found[0].word == 50
    assert all(t.low <= t.decibans <= t.high for t in found)
    assert [t.low for t in found] == sorted((t.low for t in found), reverse=True)


def test_words_of_equal_worth_come_in_their_order():
    found = telltales(Text("words"), table([[3, 3, 3, 0], [0, 0, 0, 9]], [3, 3]), 0, 2)
    assert [t.word for t in found] == [0, 1]


def test_without_a_pseudo_count_a_word_of_one_class_has_infinite_evidence_and_a_finite_low_end():
    found = {t.word: t for t in telltales(Text("words", alpha=0.0), table([[9, 1, 5], [0, 0, 5]], [5, 5]), 0, 9)}
    assert found[0].decibans == found[0].high == found[1].decibans == np.inf
    assert found[1].low < found[0].low < np.inf
    assert found[2].decibans == pytest.approx(DECIBAN * np.log(1 / 3))


def test_idf_makes_no_word_surer():
    X, y = corpus(K=2)
    plain = {t.word: t for t in telltales(Text("words"), bags(X, y, 2), 0, 99)}
    for weighed in telltales(Text("words", idf=True), bags(X, y, 2), 0, 99):
        width = weighed.high - weighed.low
        assert width >= 0.99 * (plain[weighed.word].high - plain[weighed.word].low)


def test_other_classes_without_words_are_no_trouble():
    part = table([[9, 1], [0, 0]], [5, 0])
    assert [t.decibans for t in telltales(Text("words", alpha=0.0), part, 0, 9)] == [0.0, 0.0]
    assert telltales(Text("words"), part, 1, 9) == []
    assert telltales(Text("words", least=99), part, 0, 9) == []
    for event in ("bernoulli", "complement"):
        assert np.isfinite(
            [t.low for t in telltales(Text("words", event), table([[4, 1], [0, 0]], [5, 0]), 0, 9)]
        ).all()


def test_their_number_may_be_an_integer_of_numpy():
    part = table([[5, 1], [1, 5]], [5, 5])
    assert telltales(Text("words"), part, 0, np.int64(1)) == telltales(Text("words"), part, 0, 1)


def test_one_class_has_no_telltales():
    with pytest.raises(UndefinedError, match="one class"):
        telltales(Text("words"), table([[1]], [1]), 0, 3)
    with pytest.raises(InputError, match=r"no class 2.*0 to 1"):
        telltales(Text("words"), table([[1], [1]], [1, 1]), 2, 3)


def test_words_are_sorted_by_their_low_evidence_times_the_documents_of_the_class():
    """A word that fills three documents comes after one of forty documents, though its evidence is larger."""
    X = np.array([*[[200.0, 0, 5]] * 3, *[[0, 5.0, 5]] * 40, *[[0, 0, 25.0]] * 43])
    part = bags(X, [0] * 43 + [1] * 43, 2)
    found = telltales(Text("words"), part, 0, 2)
    assert [each.word for each in found] == [1, 0]
    assert found[0].low < found[1].low
    assert found[0].low * 40 > found[1].low * 3


@pytest.mark.parametrize("event", ["multinomial", "bernoulli", "complement"])
def test_the_order_is_that_of_low_ends_times_documents(event):
    X, y = corpus()
    found = telltales(Text("words", event), bags(X, y, K), 1, 1000)
    worth = [each.low * each.documents if each.low > 0 else each.low for each in found]
    assert worth == sorted(worth, reverse=True)
