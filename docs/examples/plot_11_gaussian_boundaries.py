r"""
Gaussian Bayes: bisector, line, axis-aligned conic, conic
=========================================================

Each class is a Gaussian with mean :math:`\mu_k` and covariance :math:`\Sigma_k`:

.. math:: a_k(x) = \ln \pi_k - \tfrac12 \ln |\Sigma_k| - \tfrac12 (x - \mu_k)^\top \Sigma_k^{-1} (x - \mu_k)
          + \text{const}.

What is assumed of :math:`\Sigma_k` decides the shape of the boundary :math:`a_0 = a_1`: the identity (and equal
priors) gives the perpendicular bisector of the segment between the two means, one shared matrix a line (d = 2; a
hyperplane in general), diagonal matrices a conic (a quadric) along the axes, a matrix for each class any conic.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import GaussianBayes, plots
from deciban.plots.boundary import draw_means

first = np.random.default_rng(7).multivariate_normal([0, 0], [[2.0, 0.8], [0.8, 1.0]], 40)
second = np.random.default_rng(8).multivariate_normal([2, 1], [[0.5, -0.3], [-0.3, 1.5]], 25)
X = np.vstack([first, second])
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

means = [X[y == k].mean(axis=0) for k in (0, 1)]
line = models["tied"].linear_form()
print("identity: w =", models["identity"].linear_form().w.round(3), " μ₁ − μ₀ =", (means[1] - means[0]).round(3))
print("shared Σ: w =", line.w.round(3), " b =", round(float(line.b), 3))

# %%
# **Common mistakes:** :math:`-\tfrac12 \ln |\Sigma_k|` is dropped, the sign of the quadratic form reversed, or a
# class's covariance summed over all rows. The log-odds at a point, term by term, and the determinants of both:

own = [np.cov(X[y == k].T, bias=True) for k in (0, 1)]
over_all = [(X - m).T @ (X - m) / len(X) for m in means]
h0, h1 = -0.5 * np.linalg.slogdet(own)[1]
q0, q1 = (0.5 * ([1.5, 0.5] - m) @ np.linalg.inv(S) @ ([1.5, 0.5] - m) for m, S in zip(means, own))
print(f"right: ({h1:.3f} − {q1:.3f}) − ({h0:.3f} − {q0:.3f}) = {h1 - q1 - h0 + q0:+.3f}")
print(f"without determinants: {q0 - q1:+.3f}; with the sign reversed: {h1 + q1 - h0 - q0:+.3f}, the other class")
print("|Σ| over own rows:", np.linalg.det(own).round(3), "over all rows:", np.linalg.det(over_all).round(3))
plt.show()
