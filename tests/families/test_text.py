"""The family of words against exact fractions, scikit-learn on the selected columns, and its own draws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from deciban.errors import InputError, ModelFileError, UndefinedError
from deciban.families.text_family import Text, compute_idf
from deciban.ledger import Bags, Tallies
from deciban.persistence.family_sections import read_family, write_family
from deciban.scores import SparseLinear
from tests.families.bags import bags, corpus

K = 4
EVENTS = ["multinomial", "bernoulli", "complement"]
MODELS = {"multinomial": MultinomialNB, "bernoulli": BernoulliNB, "complement": ComplementNB}
CHOICES = [{}, {"least": 3}, {"most": 7}, {"least": 2, "most": 5, "by": "chi2"}]


def shares(n, total, V):
    """The lecture: p(w|C) = (n_w + 1)/(Σ n + |V|)."""
    return [Fraction(int(x) + 1, int(total) + V) for x in n]


@given(arrays(np.int64, (5, 4), elements=st.integers(0, 3)), arrays(np.int32, 5, elements=st.integers(0, 1)))
def test_the_lectures_smoothing_in_fractions(X, y):
    seen = np.flatnonzero(X.sum(axis=0))  # the vocabulary is what the documents have
    form = Text("words").solve(bags(X, y, 2))
    for k in (0, 1):
        n = X[y == k][:, seen].sum(axis=0)
        theta = shares(n, n.sum(), len(seen))
        for i, row in enumerate(X[:, seen]):
            p = math.prod((t ** int(z) for t, z in zip(theta, row)), start=Fraction(1))
            assert form.log_likelihoods(csr_array(X))[i, k] == pytest.approx(math.log(p), rel=1e-12, abs=1e-12)


def theirs(event, X, y, alpha, norm=False):
    """scikit-learn's scores of all classes, priors left out."""
    options = {"norm": norm} if event == "complement" else {}
    model = MODELS[event](alpha=alpha, fit_prior=False, force_alpha=True, **options).fit(X, y)
    joint = model.predict_joint_log_proba(X)
    return joint if event == "complement" else joint + np.log(len(np.unique(y)))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("alpha", [1.0, 0.01, 2.5])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_scores_are_those_of_scikit_learn_on_the_kept_words(event, alpha, choice):
    X, y = corpus()
    family, part = Text("words", event, alpha, **choice), bags(X, y, K)
    kept = family.select_words(part).places
    form = family.solve(part)
    expected = theirs(event, X[:, kept], y, alpha)
    np.testing.assert_allclose(form.log_likelihoods(csr_array(X)), expected, rtol=1e-12, atol=1e-11)
    assert (form.mute is None) == (len(kept) == X.shape[1])
    assert family.n_parameters(part) == K * (len(kept) - (event != "bernoulli"))


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_normalised_complements_are_normalised_over_the_kept_words(choice):
    X, y = corpus(seed=3)
    family, part = Text("words", "complement", norm=True, **choice), bags(X, y, K)
    expected = theirs("complement", X[:, family.select_words(part).places], y, 1.0, norm=True)
    np.testing.assert_allclose(family.solve(part).log_likelihoods(csr_array(X)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("event", ["multinomial", "complement"])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_idf_is_that_of_scikit_learn_before_any_words_are_left_out(event, choice):
    X, y = corpus(seed=1)
    family, part = Text("words", event, idf=True, **choice), bags(X, y, K)
    kept = family.select_words(part).places
    seen = X.sum(axis=0) > 0
    weighed = TfidfTransformer(norm=None).fit_transform(X).toarray()
    np.testing.assert_allclose((X * compute_idf(part))[:, seen], weighed[:, seen], rtol=1e-13)
    expected = theirs(event, weighed[:, kept], y, 1.0)
    np.testing.assert_allclose(
        family.solve(part).log_likelihoods(csr_array(weighed)), expected, rtol=1e-12, atol=1e-11
    )


def test_boolean_words_are_a_multinomial_of_presence():
    X, y = corpus()
    part = bags(X, y, K, presence=True)
    flags = (X > 0) * 1.0
    kept = X.any(axis=0)
    expected = theirs("multinomial", flags[:, kept], y, 1.0)
    np.testing.assert_allclose(Text("words").solve(part).log_likelihoods(csr_array(flags)), expected, rtol=1e-12)


def test_a_bernoulli_text_counts_documents_whatever_the_values_are():
    X, y = corpus()
    family = Text("words", "bernoulli", most=9)
    counted, present = family.solve(bags(X, y, K)), family.solve(bags(X, y, K, presence=True))
    np.testing.assert_array_equal(
        counted.log_likelihoods(csr_array(X)), present.log_likelihoods(csr_array((X > 0) * 1.0))
    )


@pytest.mark.parametrize("most", [None, 6])
def test_without_a_pseudo_count_words_that_a_class_never_had_rule_it_out(most):
    X, y = corpus()
    family, part = Text("words", alpha=0.0, most=most), bags(X, y, K)
    kept = family.select_words(part).places
    with np.errstate(divide="ignore", invalid="ignore"):
        totals = np.array([X[y == k][:, kept].sum(axis=0) for k in range(K)])
        logs = np.log(totals / totals.sum(axis=1, keepdims=True))
        expected = np.where(X[:, None, kept] > 0, X[:, None, kept] * logs, 0.0).sum(axis=2)
    np.testing.assert_allclose(family.solve(part).log_likelihoods(csr_array(X)), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(family.log_theta(part)[:, kept], logs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("event", "alpha"), [*((event, 1.0) for event in EVENTS), ("multinomial", 0.0)])
@pytest.mark.parametrize("presence", [False, True])
def test_classes_without_words_documents_or_anything_never_give_nan(event, alpha, presence):
    one = np.array([[2.0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 0]])
    rows = csr_array(np.vstack([one, np.ones((1, 4)), np.zeros((1, 4))]))
    for X, y, n_classes in [(one, [0, 1, 2], 4), (one[:0], [], 3), (one[:1], [0], 1), (np.zeros((2, 4)), [0, 1], 2)]:
        for choice in ({}, {"most": 1}, {"least": 9}):
            part = bags(X, y, n_classes, presence=presence)
            family = Text("words", event, alpha, **choice)
            form = family.solve(part)
            assert not np.isnan(form.log_likelihoods(rows)).any()
            assert not np.isnan(family.log_theta(part)).any()
            k = np.zeros(rows.shape[0], int)
            form.pieces(rows, k, k + n_classes - 1)
            if event != "complement":
                assert not np.isnan(family.log_likelihood(part, part))
                assert family.sample(part, np.arange(n_classes), np.random.default_rng(0)).shape == (n_classes, 4)


def test_no_words_at_all_are_solved_too():
    for event in EVENTS:
        form = Text("words", event).solve(Bags.empty(3, 0))
        assert form.log_likelihoods(csr_array((2, 0))).tolist() == [[0.0] * 3] * 2


def test_words_that_were_forgotten_are_as_if_they_had_never_been():
    X, y = corpus()
    both, few = bags(X, y, K), bags(X[20:], y[20:], K)
    left, rows = both - bags(X[:20], y[:20], K), csr_array(X)
    lost = np.flatnonzero(~X[20:].any(axis=0))
    assert len(lost)
    assert X[:20][:, lost].any()
    for event in EVENTS:
        form = Text("words", event).solve(left)
        np.testing.assert_allclose(
            form.log_likelihoods(rows), Text("words", event).solve(few).log_likelihoods(rows), rtol=1e-12
        )
        shorter = np.delete(X, lost, axis=1)
        alone = Text("words", event).solve(bags(shorter[20:], y[20:], K))
        np.testing.assert_allclose(
            form.log_likelihoods(rows), alone.log_likelihoods(csr_array(shorter)), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("choice", [{}, {"most": 5}, {"alpha": 0.3}], ids=str)
def test_the_likelihood_of_the_ledger_is_that_of_the_rows(event, choice):
    X, y = corpus()
    w = np.random.default_rng(5).integers(1, 4, len(y)).astype(float)
    family = Text("words", event, **choice)
    part, solved = bags(X, y, K, w), bags(np.vstack([X, X[:9]]), np.concatenate([y, y[:9]]), K)
    rows = family.solve(solved).log_likelihoods(csr_array(X))[np.arange(len(y)), y]
    assert family.log_likelihood(part, solved) == pytest.approx(np.dot(w, rows), rel=1e-12)


def test_the_likelihood_of_words_weighed_by_idf_is_that_of_weighed_rows():
    X, y = corpus()
    family, part = Text("words", idf=True), bags(X, y, K)
    rows = family.solve(part).log_likelihoods(csr_array(X * compute_idf(part)))[np.arange(len(y)), y]
    assert family.log_likelihood(part, part) == pytest.approx(rows.sum(), rel=1e-12)


@pytest.mark.parametrize(("event", "alpha"), [("multinomial", 1.0), ("multinomial", 0.0), ("bernoulli", 0.5)])
def test_documents_are_drawn_as_the_model_says(event, alpha):
    X, y = corpus(V=12)
    family, part = Text("words", event, alpha, most=8), bags(X, y, K)
    kept, codes = family.select_words(part).places, np.repeat(np.arange(K), 20_000)
    drawn = family.sample(part, codes, np.random.default_rng(1))
    assert drawn.shape == (len(codes), 12)
    assert drawn.has_canonical_format
    mean = np.array([drawn[codes == k].mean(axis=0) for k in range(K)])
    theta = np.exp(family.log_theta(part))
    theta[:, np.setdiff1d(np.arange(12), kept)] = 0.0
    if event == "bernoulli":
        assert set(np.unique(drawn.data)) == {1.0}
        first, second = (drawn[:, [v]].toarray()[:, 0] for v in kept[:2])
        each = codes == 0
        assert np.corrcoef(first[each], second[each])[0, 1] == pytest.approx(0.0, abs=0.03)
        np.testing.assert_allclose(mean, theta, atol=0.016)
    else:
        length = np.array([X[y == k][:, kept].sum() / (y == k).sum() for k in range(K)])
        np.testing.assert_allclose(mean, length[:, None] * theta, atol=0.06)
        np.testing.assert_allclose(drawn.sum(axis=1).reshape(K, -1).var(axis=1), length, rtol=0.05)


def test_a_thousand_classes_are_solved_without_a_table_of_classes_by_words():
    rng = np.random.default_rng(0)
    V, entries, classes = 100_000, 200_000, 1000
    feature = np.sort(rng.integers(0, V, entries))
    class_code = rng.integers(0, classes, entries)
    key = np.unique(feature.astype(np.int64) * classes + class_code)
    feature, class_code = np.divmod(key, classes)
    start = np.concatenate([[0], np.cumsum(np.bincount(feature, minlength=V))])
    weight = np.full((classes, 1), 5000.0)
    tallies = Tallies(start, class_code.astype(np.int32), rng.integers(1, 9, len(key)).astype(float), weight)
    form = Text("words", most=3000, least=5).solve(Bags(tallies, tallies))  # 800 MB, were it a table
    assert form.mute is not None
    assert (~form.mute).sum() == 3000
    assert len(form.delta) < 50_000


@pytest.mark.parametrize(
    ("family", "why"),
    [
        (Text("words", "bernoulli", 0.0), "takes alpha > 0"),
        (Text("words", "complement", 0.0), "takes alpha > 0"),
        (Text("words", "bernoulli", idf=True), "nothing for idf to weigh"),
    ],
)
def test_what_cannot_be_solved_says_why(family, why):
    with pytest.raises(InputError, match=f"{why}[^H]*Hint"):
        family.solve(bags(*corpus(), K))


def test_a_complement_has_no_likelihood():
    family, part = Text("words", "complement"), bags(*corpus(), K)
    assert not family.probabilistic
    assert Text("words").probabilistic
    for ask in (
        lambda: family.log_likelihood(part, part),
        lambda: family.sample(part, np.zeros(1, int), np.random.default_rng(0)),
    ):
        with pytest.raises(UndefinedError, match="not a probability"):
            ask()


def test_a_likelihood_of_words_that_are_only_imagined_is_refused():
    with pytest.raises(UndefinedError, match="pseudo-observations"):
        Text("words").log_likelihood(Bags.empty(2, 3), Bags.empty(2, 4))


def test_endless_documents_are_not_drawn():
    part = bags([[1e12]], [0], 1)
    with pytest.raises(InputError, match="too long to draw"):
        Text("words").sample(part, np.zeros(1, int), np.random.default_rng(0))


def test_what_it_needs():
    needs = Text("lower words").needs()
    assert (needs.kind, needs.reading, needs.signed, needs.skips, needs.threshold) == (
        "bags", "lower words", False, False, None,
    )  # fmt: skip
    assert Text("words").enumerate_rows(Bags.empty(1, 1)) is None


@pytest.mark.parametrize(
    "family",
    [Text("words ü"), Text("", "complement", 0.01, True, 2.5, 3000, "chi2", True), Text("x", least=5)],
    ids=str,
)
def test_text_families_come_back_from_files(family):
    section = write_family(family, 7)
    assert read_family(section, 7) == family


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("event", "boolean", "one of"),
        ("by", "luck", "one of"),
        ("most", 0, "whole number"),
        ("most", 2.5, "whole number"),
        ("least", -1, "from 0"),
        ("least", float("nan"), "from 0"),
        ("alpha", -1.0, "from 0"),
        ("alpha", np.ones(7), "one pseudo-count"),
        ("norm", 1, "true or false"),
        ("idf", None, "true or false"),
        ("reading", 7, "a text"),
        ("threshold", 0.0, "has no 'threshold'"),
    ],
)
def test_texts_that_nobody_can_read_are_refused(name, value, why):
    section = write_family(Text("words"), 7)
    if isinstance(value, np.ndarray):
        del section.header[name]
    with pytest.raises(ModelFileError, match=why):
        read_family(section.put(name, value), 7)


def test_a_text_without_its_reading_is_refused():
    section = write_family(Text("words"), 7)
    del section.header["reading"]
    with pytest.raises(ModelFileError, match="there is no 'reading'"):
        read_family(section, 7)


@pytest.mark.parametrize("event", EVENTS)
def test_evidence_of_words_adds_up_and_left_out_words_say_nothing(event):
    X, y = corpus()
    form = Text("words", event, most=9).solve(bags(X, y, K))
    assert isinstance(form, SparseLinear)
    k, l, i = np.zeros(len(y), int), np.ones(len(y), int), np.arange(len(y))
    joint = form.log_likelihoods(csr_array(X))
    pieces = form.pieces(csr_array(X), k, l)
    total = np.asarray(pieces.features.sum(axis=1)) + sum(pieces.extras.values())
    np.testing.assert_allclose(total, joint[i, 0] - joint[i, 1], rtol=1e-11, atol=1e-11)
    assert not pieces.features.toarray()[:, form.mute].any()
