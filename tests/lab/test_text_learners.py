"""The comparison of learners of texts: tuning of the peer, continuing after an interruption, verdicts."""

import numpy as np
import pytest
from benchmarks import lab_text
from benchmarks import lab_text_learners as learners
from benchmarks.lab import Figure, format_figures
from benchmarks.text_data import Corpus
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline


def make_documents(n=120, seed=0):
    """Return texts of two classes that share most words; of the words of a class one in three is of the other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    own = np.where(rng.random((n, 3)) < 0.33, 1 - y[:, None], y[:, None])
    noise = rng.integers(0, 30, (n, 4))
    texts = [
        " ".join([f"own{k}{v}" for k, v in zip(a, b)] + [f"word{v}" for v in b])
        for a, b in zip(own, noise)
    ]  # fmt: skip
    return Corpus(texts, y.astype(str))


def test_the_peer_is_tuned_to_the_least_held_out_loss():
    corpus = make_documents()
    found = learners.TunedLogistic().fit(*corpus)
    path = [10.0**e for e in (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5)]
    X = learners.make_tfidf(found.ngrams).fit_transform(corpus.documents)
    folds = KFold(3, shuffle=True, random_state=learners.SEED)
    grid = GridSearchCV(learners.make_logistic(1.0), {"C": path}, scoring="neg_log_loss", cv=folds)
    grid.fit(X, corpus.labels)
    losses = -grid.cv_results_["mean_test_score"]
    assert losses[path.index(pytest.approx(found.C))] <= losses.min() + 1e-3
    same = make_pipeline(learners.make_tfidf(found.ngrams), learners.make_logistic(found.C)).fit(*corpus)
    np.testing.assert_allclose(found.predict_proba(corpus.documents), same.predict_proba(corpus.documents))


def test_a_class_that_only_one_document_has_is_no_obstacle_to_tuning():
    corpus = make_documents(60)
    labels = corpus.labels.astype("<U4")
    labels[:3] = ["rare", "few", "few"]
    model = learners.TunedLogistic().fit(corpus.documents, labels)
    p = model.predict_proba(corpus.documents)
    assert p.shape == (60, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-5)


def test_results_of_an_interrupted_run_are_found_again(monkeypatch, tmp_path):
    monkeypatch.setenv("DECIBAN_BENCH", str(tmp_path))
    train, test = make_documents(), make_documents(seed=1)
    name = "CountVectorizer, MultinomialNB"
    first = learners.keep_evaluation("a corpus", name, [(train, test)])
    again = learners.keep_evaluation("a corpus", name, [])
    np.testing.assert_array_equal(again.hits, first.hits)
    np.testing.assert_array_equal(again.losses, first.losses)
    assert again.cells == first.cells
    monkeypatch.setattr(learners, "hash_code", lambda: "other code")
    measured = learners.keep_evaluation("a corpus", name, [(test, train)])
    assert measured.losses.sum() != first.losses.sum()
    learners.remove_kept_results()
    assert not any(tmp_path.iterdir())


def test_figures_of_an_interrupted_run_keep_their_verdicts(monkeypatch, tmp_path):
    monkeypatch.setenv("DECIBAN_BENCH", str(tmp_path))
    measured = [
        Figure("a", "80.0 %", 0.8, 0.79, lambda share: share >= 0.8),
        Figure("b", "90.0 %", 0.8, None, lambda share: share >= 0.9),
        Figure("c", "–", 0.8),
    ]
    first, seconds = lab_text.keep_figures("some", lambda: iter(measured))
    again, same = lab_text.keep_figures("some", lambda: iter(()))
    assert [figure.met for figure in again] == [True, False, None]
    assert format_figures(again) == format_figures(first) == format_figures(measured)
    assert same == seconds


def test_a_gain_of_more_than_two_standard_errors_is_won():
    hits = np.ones(4, dtype=bool)
    old, better, noisy = (np.array(losses) for losses in ([1.0] * 4, [0.9, 0.8, 0.9, 0.8], [0.1, 1.9, 0.1, 1.8]))
    old, better, noisy = (learners.LearnerResult(hits, losses, 1.0) for losses in (old, better, noisy))
    assert learners.compare_losses(better, old) == "won (+0.1500 ± 0.0250)"
    assert learners.compare_losses(old, better).startswith("lost (-0.1500")
    assert learners.compare_losses(noisy, old).startswith("tied")
    results = {learners.DEFAULT: better, learners.TUNED: old, learners.FORMER: noisy}
    assert learners.compare_default("R52", results)[:3] == ["R52", "100.00 %", "≥ 95.0 %: reached"]
    assert learners.compare_default("SMS", results)[2] == "–"
