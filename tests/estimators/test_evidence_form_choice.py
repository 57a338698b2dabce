"""EvidenceRegression's choice of smoothing and n-grams: by the loss of held-out documents of a sample."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import deciban
from deciban import EvidenceRegression
from deciban.linear import evidence_weights_of_words as word_weights
from deciban.validation.splits import StratifiedAssigner


def make_topics(n, seed=0):
    """Return texts whose topic is a pair of neighbours, or a single word: 'is not good', 'is good'."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    noise = rng.integers(0, 40, (n, 6))
    first = np.where(rng.random(n) < 0.5, "good", "bad")
    swap = (first == "good") != (y == 1)
    middle = np.where(swap, "not ", "very ")
    return [" ".join(f"w{v}" for v in row) + f" {m}{f}" for row, m, f in zip(noise, middle, first)], y


def test_pairs_of_neighbours_are_counted_where_they_predict_better_and_files_keep_that(tmp_path):
    X, y = make_topics(600)
    model = EvidenceRegression().fit(X, y)
    assert model._words.span == (1, 2)
    single = EvidenceRegression(words={"tokens": "words and punctuation"}).fit(X, y)
    Z, t = make_topics(300, seed=1)
    assert model.score(Z, t) > single.score(Z, t) + 0.1
    model.save(tmp_path / "a.model")
    again = deciban.load(tmp_path / "a.model")
    np.testing.assert_array_equal(again.predict_proba(Z), model.predict_proba(Z))
    assert EvidenceRegression().fit([f"w{v}" for v in range(50)] * 6, [0, 1] * 150)._words.span == (1, 1)


def test_the_smoothing_is_that_of_least_held_out_loss():
    X, y = make_topics(400)
    model = EvidenceRegression(words="classic").fit(X, y)
    rows = count_rows(X, y)
    fold = StratifiedAssigner(5).assign(rows.codes)
    candidates = [word_weights.Smoothing(1.0, False), word_weights.Smoothing(0.1, True)]
    losses = [sum(hold_out(rows, fold, f, each) for f in (0, 1)) for each in candidates]
    best = candidates[int(np.argmin(losses))]
    assert (model.alpha_, bool(model._get_setting("held_out"))) == best
    given = EvidenceRegression(words="classic", alpha=0.5, held_out=True).fit(X, y)
    assert (given.alpha_, bool(given._get_setting("held_out"))) == (0.5, True)


def hold_out(rows, fold, f, smoothing):
    """Return the log-loss of a fold of two classes, by weights of the other rows."""
    others, mine = rows.take(np.flatnonzero(fold != f)), rows.take(np.flatnonzero(fold == f))
    evidence = word_weights.count_word_evidence(others, smoothing.alpha)
    fit = word_weights.fit_word_weights(
        others.with_smoothing(smoothing), evidence, word_weights.EvidenceSettings(), 1.0
    )
    odds = (mine.scored @ (fit.weights * evidence))[:, 0] * rows.size + fit.fit.bias[0]
    return float(np.logaddexp(0.0, np.where(mine.codes == 1, -odds, odds)).sum())


def test_a_form_that_is_clearly_better_is_chosen_by_one_fold_and_any_other_by_two():
    y = np.arange(400) % 2
    X = [f"w{i % 7} {('good', 'bad')[k]} w{i % 11}" for i, k in enumerate(y)]
    rows = count_rows(X, y)
    fold, settings = StratifiedAssigner(5).assign(rows.codes), word_weights.EvidenceSettings()
    usual, same, poor = (
        word_weights.FormCandidate(rows, word_weights.Smoothing(alpha, False), settings, fold)
        for alpha in (1, 1, 1e6)
    )
    assert usual.is_better_than(poor)
    assert not poor.is_better_than(usual)
    assert len(poor.fold_losses) == len(usual.fold_losses) == 1
    np.testing.assert_allclose(usual.fold_losses[0].sum(), hold_out(rows, fold, 0, usual.smoothing), atol=0.1)
    assert not same.is_better_than(usual)
    assert len(same.fold_losses) == len(usual.fold_losses) == 2


def test_fewer_documents_choose_where_they_are_long_or_classes_are_many():
    short, long = csr_array(np.ones((4000, 5))), csr_array(np.ones((4000, 500)))

    def count_chosen(X, n_classes):
        rows = word_weights.WordRows(X, X, np.zeros(4000, np.int32), None, n_classes)
        return len(word_weights.sample_choice_documents(rows))

    assert count_chosen(short, 2) == 4000
    assert count_chosen(long, 10) == 2000
    assert count_chosen(long, 50) == word_weights.MIN_SAMPLE_DOCUMENTS


def count_rows(X, y):
    """Return the rows of words of texts, as `EvidenceRegression` counts them."""
    model = EvidenceRegression(words="classic").fit(X[:10], y[:10])
    model.classes_ = np.unique(y)
    return model._count_words(model._check_input(X), np.asarray(y, dtype=np.int32), None)[2]


@pytest.fixture
def choose_by_100_documents(monkeypatch):
    """Let at most 100 documents choose the form."""
    monkeypatch.setattr(word_weights, "MAX_CHOICE_DOCUMENTS", 100)


@pytest.mark.usefixtures("choose_by_100_documents")
def test_documents_of_a_rare_class_are_among_those_that_choose():
    X, y = [f"w{i} w{i % 7}" for i in range(2000)], np.arange(2000) % 2
    y[[17, 471, 1999]] = 2
    index = word_weights.sample_choice_documents(count_rows(X, y))
    assert 100 <= len(index) <= 103
    assert {17, 471, 1999} <= set(index.tolist())


@pytest.mark.usefixtures("choose_by_100_documents")
def test_of_equal_documents_that_choose_there_are_as_many_as_of_others():
    texts = np.arange(2000) // 2 % 5
    index = word_weights.sample_choice_documents(count_rows([f"w{v}" for v in texts], np.arange(2000) % 2))
    assert len(index) == 100
    assert np.bincount(texts[index], minlength=5).min() > 5
    assert 30 < (index % 2).sum() < 70


@pytest.mark.filterwarnings("error")
def test_where_no_document_can_be_held_out_the_form_is_the_first():
    model = EvidenceRegression().fit([f"w{i} v{i % 7}" for i in range(300)], range(300))
    assert (model.alpha_, bool(model._get_setting("held_out"))) == (1.0, False)
    assert model._words.span == (1, 1)


def test_one_held_out_document_does_not_decide_alone():
    X, y = [f"w{i % 7} {('good', 'bad')[i % 2]}" for i in range(40)], np.arange(40) % 2
    rows, fold = count_rows(X, y), np.full(40, -1, dtype=np.int32)
    fold[0], fold[1:12] = 0, 1
    usual, poor = (
        word_weights.FormCandidate(rows, word_weights.Smoothing(a, False), word_weights.EvidenceSettings(), fold)
        for a in (1.0, 1e6)
    )
    assert usual.is_better_than(poor)
    assert [len(losses) for losses in poor.fold_losses] == [1, 11]
