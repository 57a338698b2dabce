r"""
Gaussian Bayes: bisector, line, axis-aligned conic, conic
=========================================================

Each class is a Gaussian with mean :math:`\mu_k` and covariance :math:`\Sigma_k`:

.. math:: a_k(x) = \ln \pi_k - \tfrac12 \ln |\Sigma_k| - \tfrac12 (x - \mu_k)^\top \Sigma_k^{-1} (x - \mu_k).

What is assumed of :math:`\Sigma_k` decides the shape of the boundary :math:`a_0 = a_1`: the identity (and equal
priors) gives the perpendicular bisector of the means, one shared matrix a line, diagonal matrices a conic along the
axes, a matrix for each class any conic.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import GaussianBayes, plots
from deciban.plots.boundary import draw_means

X = np.vstack(
    [
        np.random.default_rng(7).multivariate_normal([0, 0], [[2.0, 0.8], [0.8, 1.0]], 40),
        np.random.default_rng(8).multivariate_normal([2, 1], [[0.5, -0.3], [-0.3, 1.5]], 25),
    ]
)
y = np.repeat([0, 1], [40, 25])
kinds = {"identity": "Σ = I: the bisector", "tied": "shared Σ: a line"}
kinds |= {"diagonal": "diagonal Σₖ: a conic along the axes", "full": "own Σₖ: a conic"}

figure, axes = plt.subplots(2, 2, figsize=(11, 10.5), layout="constrained")
models = {}
for ax, (kind, title) in zip(axes.ravel(), kinds.items()):
    models[kind] = GaussianBayes(covariance=kind, priors="uniform").fit(X, y)
    plots.boundary(models[kind], X, y, names=["x", "y"], ax=ax, to_scale=True)
    ax.set_title(f"{title} ({models[kind].n_parameters_} parameters)")
    if kind == "identity":
        draw_means(ax, models[kind].means_)

# %%
# With one shared Σ the quadratic terms cancel: :math:`w = \Sigma^{-1} (\mu_1 - \mu_0)`. With the identity it is the
# difference of the means itself, at a right angle to the boundary.

m0, m1 = (X[y == k].mean(axis=0) for k in (0, 1))
print("identity: w =", models["identity"].linear_form().w.round(3), " μ₁ − μ₀ =", (m1 - m0).round(3))
print(
    "shared Σ: w =", models["tied"].linear_form().w.round(3), " b =", round(float(models["tied"].linear_form().b), 3)
)

# %%
# **Slips.** Lectures drop :math:`-\tfrac12 \ln |\Sigma_k|`, turn the sign of the quadratic form, or sum a class's
# covariance over all rows. The first, at a point in the middle; and the determinants of a covariance over its own
# and over all rows:

own = [np.cov(X[y == k].T, bias=True) for k in (0, 1)]
over_all = [(X - X[y == k].mean(axis=0)).T @ (X - X[y == k].mean(axis=0)) / len(X) for k in (0, 1)]
a0, a1 = models["full"].predict_joint_log_proba([[1.5, 0.5]])[0]
dropped = a1 - a0 - 0.5 * (np.linalg.slogdet(own[0])[1] - np.linalg.slogdet(own[1])[1])
print(f"log-odds at (1.5, 0.5): {a1 - a0:.3f}; without the determinants {dropped:.3f}")
print("|Σ| over own rows:", np.linalg.det(own).round(3), "over all rows:", np.linalg.det(over_all).round(3))
plt.show()
