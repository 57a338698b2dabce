"""The exact reference: the lectures' estimates and posteriors in fractions, no code shared with the library.

Letters as in the lectures: k a class, j a feature, v a level, n counts, w weights, α the pseudo-count, π the
prior, θ parameters. A table is a list of rows, a missing cell is None, weights default to one each.

>>> coin = [[1], [1], [1], [0], [0]]
>>> bernoulli(coin, "ccccc", "c"), bernoulli(coin, "ccccc", "c", alpha=1)
([[Fraction(3, 5)]], [[Fraction(4, 7)]])
"""

from fractions import Fraction as Q
from itertools import product
from math import prod


def exact(x):
    """Return the fraction equal to a float; a missing cell stays missing."""
    return None if x is None or x != x else Q(x)


def ratio(a, b):
    """Return a/b, and 0 where b is 0."""
    return Q(a) / Q(b) if b else Q(0)


def rows_of(X, y, k, w=None):
    """Return the rows of class k, each with its weight."""
    return [(x, Q(c)) for x, label, c in zip(X, y, w or [1] * len(X)) if label == k]


def class_prior(y, classes, w=None, alpha=0):
    """Return π_k = (n_k + α)/(n + αK)."""
    n = [sum(c for _, c in rows_of(y, y, k, w)) for k in classes]
    return [ratio(n_k + alpha, sum(n) + alpha * len(classes)) for n_k in n]


def categorical(X, y, classes, V, w=None, alpha=0):
    """Return θ_kjv = (n_kjv + α)/(n_kj + α V_j), over the rows in which feature j is present."""

    def theta(k, j):
        present = [(x[j], c) for x, c in rows_of(X, y, k, w) if x[j] is not None]
        n_kj = sum(c for _, c in present)
        return [ratio(sum(c for x_j, c in present if x_j == v) + alpha, n_kj + alpha * V[j]) for v in range(V[j])]

    return [[theta(k, j) for j in range(len(V))] for k in classes]


def bernoulli(X, y, classes, w=None, alpha=0):
    """Return θ_kj = (n_kj1 + α)/(n_kj + 2α)."""
    tables = categorical(X, y, classes, [2] * len(X[0]), w, alpha)
    return [[theta[1] for theta in row] for row in tables]


def word_counts(X, y, k, w=None):
    """Return n_kv, how often word v occurs in class k."""
    return [sum(c * Q(x[v]) for x, c in rows_of(X, y, k, w)) for v in range(len(X[0]))]


def multinomial(X, y, classes, w=None, alpha=0):
    """Return θ_kv = (n_kv + α)/(Σ_v n_kv + α V)."""
    n = [word_counts(X, y, k, w) for k in classes]
    return [[ratio(n_kv + alpha, sum(n_k) + alpha * len(n_k)) for n_kv in n_k] for n_k in n]


def complement(X, y, classes, w=None, alpha=0):
    """Return θ_kv counted over every class but k (Rennie et al. 2003)."""
    return [multinomial(X, ["rest" if label != k else k for label in y], ["rest"], w, alpha)[0] for k in classes]


def poisson(X, y, classes, w=None, alpha=0):
    """Return λ_kj = (Σ w x + α m_j)/(Σ w + α), m_j the mean of the whole column."""
    w = w or [1] * len(X)

    def column(rows, j):
        present = [(Q(x[j]), c) for x, c in rows if x[j] is not None]
        return sum(c * x_j for x_j, c in present), sum(c for _, c in present)

    m = [ratio(*column(list(zip(X, w)), j)) for j in range(len(X[0]))]
    sums = [[column(rows_of(X, y, k, w), j) for j in range(len(m))] for k in classes]
    return [[ratio(s + alpha * m_j, n + alpha) for (s, n), m_j in zip(row, m)] for row in sums]


def gaussian(X, y, classes, w=None):
    """Return (μ_kj, σ²_kj): the class mean and the biased variance."""

    def moments(k, j):
        present = [(exact(x[j]), c) for x, c in rows_of(X, y, k, w) if exact(x[j]) is not None]
        n = sum(c for _, c in present)
        mu = ratio(sum(c * x_j for x_j, c in present), n)
        return mu, ratio(sum(c * (x_j - mu) ** 2 for x_j, c in present), n)

    return [[moments(k, j) for j in range(len(X[0]))] for k in classes]


def joint(X, y, classes, V, w=None, alpha=0):
    """Return θ_kx: one parameter for every cell x of the table."""
    cells = list(product(*map(range, V)))
    codes = [[cells.index(tuple(x))] for x in X]
    tables = categorical(codes, y, classes, [len(cells)], w, alpha)
    return [dict(zip(cells, table)) for (table,) in tables]


def p_categorical(theta_k, x):
    """Return p(x|k) = Π_j θ_kjv, a missing feature left out."""
    return prod((t[v] for t, v in zip(theta_k, x) if v is not None), start=Q(1))


def p_bernoulli(theta_k, x):
    """Return p(x|k) = Π_j θ_j^x_j (1−θ_j)^(1−x_j), a missing feature left out."""
    return p_categorical([(1 - t, t) for t in theta_k], x)


def p_multinomial(theta_k, z):
    """Return p(z|k) = Π_v θ_v^z_v, without the multinomial coefficient."""
    return prod((t**n for t, n in zip(theta_k, z)), start=Q(1))


def posterior(pi, likelihoods):
    """Return p(k|x) = p(x|k) π_k / p(x); where every class is impossible, the class prior."""
    joint_k = [pi_k * p for pi_k, p in zip(pi, likelihoods)]
    return [p / sum(joint_k) for p in joint_k] if sum(joint_k) else list(pi)
