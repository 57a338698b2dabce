"""Counts kept sparse give what dense ones give: statistic, scores, boundary and explanation."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from deciban.errors import InputError, UndefinedError
from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.ledger import Counts, Tallies
from tests.engines.paths import IMPLEMENTATIONS, Case, always_tallies, flags, near, words

pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")

EACH = np.array([0.5, 1.0, 2.0, 0.1, 3.0, 1.5])
SOME = np.array([0.5, 0.0, 2.0, 0.0, 3.0, 1.5])
K = 5


def rare(rng, n):
    """Words that most classes never show."""
    return rng.poisson(0.25, (n, 6)).astype(float)


CASES = [
    *(Case(f"bernoulli {a}", Bernoulli(alpha=a), flags) for a in (1.0, 1e-10)),
    *(Case(f"multinomial {a}", Multinomial(alpha=a), rare, holes=False) for a in (1.0, 1e-10, 0.0, EACH, SOME)),
    *(Case(f"poisson {a}", Poisson(alpha=a), rare) for a in (1.0, 1e-10, 0.0)),
    *(
        Case(f"complement {a}{' norm' * norm}", Complement(alpha=a, norm=norm), words, holes=False, density=False)
        for a in (1.0, 1e-10, 0.0, EACH, SOME)
        for norm in (False, True)
    ),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def both(case, **rows):
    """The model with dense counts, the same with sparse ones, and the rows."""
    X, codes, weight = case.rows(n=40, K=K, **rows)
    dense = case.model(csr_array(X), codes, weight, K)
    with always_tallies():
        sparse = case.model(csr_array(X), codes, weight, K)
    assert isinstance(dense.ledger.parts[0], Counts)
    assert isinstance(sparse.ledger.parts[0], Tallies)
    return dense, sparse, np.vstack([X, case.rows(n=20, seed=5)[0]])


@every_case
@pytest.mark.parametrize("way", IMPLEMENTATIONS)
@pytest.mark.parametrize("store", [csr_array, np.asarray], ids=["sparse rows", "dense rows"])
def test_scores_agree(case, way, store):
    with IMPLEMENTATIONS[way]():
        dense, sparse, Q = both(case, weights=True)
        assert sparse.ledger == dense.ledger
        for wanted in case.wanted:
            near(sparse.scores([store(Q)], wanted, 1), dense.scores([store(Q)], wanted, 1))


@every_case
@pytest.mark.parametrize("way", IMPLEMENTATIONS)
def test_explanations_agree_and_add_up(case, way):
    labels = np.arange(K)
    with IMPLEMENTATIONS[way]():
        dense, sparse, Q = both(case)
        for pair in [(0, 1), (4, 2)]:
            explanation = [model.explain([csr_array(Q)], pair, labels, 1) for model in (dense, sparse)]
            near(explanation[1].total, explanation[0].total)
            with np.errstate(invalid="ignore"):
                joint = dense.scores([Q], "joint", 1)
                near(explanation[1].total, 10 / np.log(10) * (joint[:, pair[0]] - joint[:, pair[1]]))


@every_case
def test_boundaries_agree(case):
    dense, sparse, _ = both(case)
    try:
        expected = dense.boundary()
    except UndefinedError as error:
        with pytest.raises(UndefinedError, match=re.escape(str(error))):
            sparse.boundary()
        return
    near(sparse.boundary().weights, expected.weights)
    near(sparse.boundary().bias, expected.bias)


@pytest.mark.parametrize("case", [c for c in CASES if c.holes], ids=lambda case: case.name)
@pytest.mark.parametrize("store", [csr_array, np.asarray], ids=["sparse rows", "dense rows"])
def test_missing_values_say_nothing(case, store):
    dense, sparse, Q = both(case)
    Q = np.where(np.random.default_rng(3).random(Q.shape) < 0.3, np.nan, Q)
    for wanted in set(case.wanted) - {"winner"}:  # ties are many here, and rounding decides them
        near(sparse.scores([store(Q)], wanted, 1), dense.scores([store(Q)], wanted, 1))
    explanation = [model.explain([store(Q)], (0, 1), np.arange(K), 1) for model in (dense, sparse)]
    near(explanation[1].total, explanation[0].total)


@every_case
def test_solving_never_writes_out_classes_times_words(case):
    """A thousand classes by a hundred thousand words would be 800 MB; here the shape of the form shows it."""
    if isinstance(case.family, Complement) and not np.all(case.family.alpha):
        pytest.skip("without a pseudo-count a complement is solved dense, or refused")
    _, sparse, _ = both(case)
    (form,) = sparse.solved.forms
    tables = [v for v in vars(form).values() if isinstance(v, np.ndarray) and v.shape == (K, 6)]
    assert not tables, type(form).__name__


@pytest.mark.parametrize(
    "family",
    [*(Bernoulli(alpha=a) for a in (0.0, EACH, SOME)), *(Poisson(alpha=a) for a in (EACH, SOME))],
    ids=lambda family: f"{type(family).__name__} {family.alpha}",
)
def test_pseudo_counts_that_would_need_a_full_table_are_refused(family):
    """An honest gap: every absent word would then count differently, in every class."""
    _, sparse, _ = both(Case("", family, rare))
    with pytest.raises(InputError, match="kept sparse, which takes one alpha"):
        sparse.solved  # noqa: B018
