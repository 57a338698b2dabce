"""Terms of joined numbers in SQL: the log-density of a Gaussian with covariances, also where numbers are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deciban.export import sql_expressions as e
from deciban.export.portable import Term
from deciban.export.sql_expressions import Expression, Speller, Terms, exp
from deciban.export.sql_numbers import NumberTerms, find_finite_range
from deciban.export.sql_steps import QuerySteps

Lower = dict[tuple[int, int], Expression]
"""The entries of a triangular matrix L, by row and column."""

FINITE_SHARE = 1e-8
"""The share of a variance that is assumed to remain, given the other features, in the range of finite squares."""


@dataclass
class JointTerm:
    """Writes t · (−½ zᵀz − ln|L|) of the features that are present, Σ = LLᵀ, z = L⁻¹(x − μ).

    A missing feature has the row and column of the unit matrix in Σ, and 0 in x − μ: it adds nothing to zᵀz and to
    ln|L|, and the others have their marginal distribution. ½ ln 2π for each present feature is common to all classes.
    Before the weight t, scores are bounded by that of the likeliest class, less the bound for each present feature.
    L is computed by Cholesky's algorithm, column by column in steps of the query.
    """

    numbers: NumberTerms
    steps: QuerySteps
    term: Term
    features: Sequence[dict[str, Any]]
    prefix: str
    have: list[Expression] = field(default_factory=list)

    @property
    def speller(self) -> Speller:
        """The spelling of the dialect."""
        return self.numbers.speller

    def write(self) -> Terms:
        """Return the term of each class."""
        xs, limits = [self.numbers.column(feature) for feature in self.features], self._find_limits()
        inside = [e.between(x, low, high) for x, low, high in zip(xs, *limits)]
        self.have = self.steps.let({f"{self.prefix}_h{i}": e.indicator(near) for i, near in enumerate(inside)})
        deviations = {}
        for k, mean in enumerate(self.term["mean"]):
            for i, (x, near, m) in enumerate(zip(xs, inside, mean)):
                gap = e.when((near, e.minus(x, e.number(m))), otherwise=e.number(0.0))
                deviations[f"{self.prefix}_x{i}_{k}"] = gap
        gaps, d = self.steps.let(deviations), len(xs)
        scores = self._bound(self._whiten([gaps[k * d : (k + 1) * d] for k in range(self.numbers.K)]))
        terms: Terms = [e.scale(self.term["weight"], score) for score in scores]
        guards = [self.numbers.guard_only(feature) for feature in self.features]
        return [e.sum_of([terms[0], *guards]), *terms[1:]]

    def _bound(self, scores: list[Expression]) -> list[Expression]:
        """Return scores that are bounded by the greatest of them, less the bound for each present feature."""
        if self.term["bound"] is None:
            return scores
        plain = self.steps.let({f"{self.prefix}_s{k}": score for k, score in enumerate(scores)})
        most = e.multiply(e.number(self.term["bound"]), e.sum_of(self.have))
        least = self.steps.let({f"{self.prefix}_b": e.minus(self.speller.greatest(plain), most)})[0]
        return [self.speller.greatest([score, least]) for score in plain]

    def _find_limits(self) -> list[list[float]]:
        """Return the least and the greatest value of each feature that counts; by default those of finite squares.

        Beyond the latter all classes are impossible.
        """
        if self.term["limits"] is not None:
            limits: list[list[float]] = self.term["limits"]
            return limits
        lows, highs = [], []
        for i, (feature, means) in enumerate(zip(self.features, zip(*self.term["mean"]))):
            variance = FINITE_SHARE * min(matrix[i][i] for matrix in self.term["covariance"])
            ranges = [find_finite_range(mean, variance) for mean in means]
            lows.append(max(low for low, _ in ranges))
            highs.append(min(high for _, high in ranges))
            near = e.between(self.numbers.column(feature), lows[i], highs[i])
            far = e.join_conditions([self.numbers.is_valid(feature), e.negate(near)], exp.And)
            for k in range(self.numbers.K if self.term["weight"] > 0 else 0):
                self.numbers.rule_out(k, far)
        return [lows, highs]

    def _whiten(self, gaps: Sequence[Sequence[Expression]]) -> list[Expression]:
        """Return −½ zᵀz − ln|L| of each class; without the logarithm where all classes share one covariance."""
        covariance, d, K = self.term["covariance"], len(self.have), len(gaps)
        lower: list[Lower] = [{} for _ in covariance]
        owner = [lower[k if len(covariance) > 1 else 0] for k in range(K)]
        z: list[list[Expression]] = [[] for _ in gaps]
        for j in range(d):
            pivots = {f"{self.prefix}_l{j}_{m}": self._pivot(c, lower[m], j) for m, c in enumerate(covariance)}
            for own, pivot in zip(lower, self.steps.let(pivots)):
                own[j, j] = pivot
            entries = {
                (m, i): self._entry(c, lower[m], i, j) for m, c in enumerate(covariance) for i in range(j + 1, d)
            }
            named = {f"{self.prefix}_l{i}_{j}_{m}": entry for (m, i), entry in entries.items()}
            solved = {f"{self.prefix}_z{j}_{k}": self._solve(gaps[k][j], owner[k], z[k], j) for k in range(K)}
            found = self.steps.let({**named, **solved})
            for (m, i), entry in zip(entries, found):
                lower[m][i, j] = entry
            for own_z, value in zip(z, found[len(entries) :]):
                own_z.append(value)
        return [self._score(owner[k] if len(covariance) > 1 else {}, z[k]) for k in range(K)]

    def _score(self, lower: Mapping[tuple[int, int], Expression], z: Sequence[Expression]) -> Expression:
        """Return −½ zᵀz − ln|L|."""
        squares = e.scale(-0.5, e.add(*(e.multiply(value, value) for value in z)))
        logs = e.add(*(self.speller.log(entry) for (i, j), entry in lower.items() if i == j))
        return e.or_zero(e.subtract(squares, logs))

    def _pivot(self, covariance: Any, lower: Lower, j: int) -> Expression:
        """Return L_jj = √(Σ_jj − Σ_m L_jm²), 1 for a missing feature."""
        own = e.add(e.scale(covariance[j][j], self.have[j]), e.minus(e.number(1.0), self.have[j]))
        squares = e.add(*(e.multiply(lower[j, m], lower[j, m]) for m in range(j)))
        return exp.Sqrt(this=e.or_zero(e.subtract(own, squares)))

    def _entry(self, covariance: Any, lower: Lower, i: int, j: int) -> Expression:
        """Return L_ij = (Σ_ij − Σ_m L_im L_jm) / L_jj, where Σ_ij is 0 if one of the features is missing."""
        own = e.scale(covariance[i][j], e.multiply(self.have[i], self.have[j]))
        products = e.add(*(e.multiply(lower[i, m], lower[j, m]) for m in range(j)))
        return e.divide(e.or_zero(e.subtract(own, products)), lower[j, j])

    def _solve(self, gap: Expression, lower: Lower, z: Sequence[Expression], j: int) -> Expression:
        """Return z_j = (x_j − μ_j − Σ_m L_jm z_m) / L_jj."""
        products = e.add(*(e.multiply(lower[j, m], z[m]) for m in range(j)))
        return e.divide(e.or_zero(e.subtract(gap, products)), lower[j, j])
