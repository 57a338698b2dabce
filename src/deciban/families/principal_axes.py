"""Principal axes of all rows of a ledger: Gaussians of few projections, as densities of all columns."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from deciban._typing import Array
from deciban.ledger import Scatter
from deciban.ledger.statistic import divide
from deciban.scores import Diagonal, Full


def count_parameters_of_axes(d: int, m: int) -> int:
    """Count the parameters of m axes of d columns, and of the mean and variance of the other directions."""
    return d * m - m * (m + 1) // 2 + (d - m) + 1


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """The m directions of the largest variance of all rows, of columns divided by `unit` about `centre`.

    z = Aᵀ (x − c)/u, A d×m with orthonormal columns. Along the other d − m directions every class has the mean c
    and the variance `residual`, the mean of theirs (probabilistic PCA, Tipping & Bishop 1999), so they are no
    evidence: the posterior of x is that of z.
    """

    axes: Array
    unit: Array
    centre: Array
    residual: float

    @classmethod
    def of(cls, part: Scatter, centre: Array, unit: Array, m: int) -> Self:
        """Return the m leading axes of a ledger's total covariance, within and between classes."""
        n = part.moments.weight.max(axis=1)
        gap = (part.moments.mean + part.moments.rest - centre) / unit
        within = divide(part.comoment.sum(axis=0), part.weight.sum(axis=0)) / unit / unit[:, None]
        total = within + (gap * divide(n, n.sum())[:, None]).T @ gap
        values, vectors = np.linalg.eigh(total)
        d = len(values)
        rest = max(float(values[: d - m].mean()), np.finfo(np.float64).eps * float(values[-1])) if m < d else 0.0
        return cls(np.ascontiguousarray(vectors[:, d - m :][:, ::-1]), unit, centre, rest)

    def project(self, part: Scatter) -> Scatter:
        """Return the scatter of the projections; where values are missing, by the covariances of the pairs."""
        n = part.moments.weight.max(axis=1)[:, None, None]
        comoment = divide(part.comoment, part.weight) * n / self.unit / self.unit[:, None]
        mean = self.transform(part.moments.mean + part.moments.rest)[:, :, None]
        return Scatter(n, mean, np.zeros_like(mean), self.axes.T @ comoment @ self.axes)

    def transform(self, X: Array) -> Array:
        """Return the projections of rows, n×m."""
        return ((X - self.centre) / self.unit) @ self.axes

    def embed(self, form: Diagonal | Full) -> Full:
        """Return the Gaussians of all columns whose projections have these Gaussians."""
        A, u = self.axes, self.unit
        own = form.covariance if isinstance(form, Full) else form.variance[:, :, None] * np.eye(A.shape[1])
        own = own[:1] if (own == own[:1]).all() else own  # one for all classes
        other = self.residual * (np.eye(len(u)) - A @ A.T)
        covariance = (A @ own @ A.T + other) * u * u[:, None]
        return Full(self.centre + (form.mean @ A.T) * u, (covariance + np.swapaxes(covariance, 1, 2)) / 2)
