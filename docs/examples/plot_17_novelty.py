r"""
Novelty: rows that are improbable under every class
===================================================

The posterior compares the classes; it does not measure whether the row is like any that was learned. Far from all
data it is often *nearer* to 1. A generative model has the density too,

.. math:: \ln p(x) = \ln \sum_k \pi_k \, p(x|k),

and rejects rows whose density is lower than that of nearly all training rows, each scored by a model without it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import load_iris

from deciban import GaussianBayes
from deciban.plots import style

iris = load_iris()
X, y = iris.data[:, 2:], iris.target_names[iris.target]  # length and width of petals
model = GaussianBayes(covariance="full").fit(X, y).fit_novelty(X, y)
flowers = np.array([[4.5, 1.4], [6.9, 0.5], [1.5, 1.6]])
density = model.score_samples(flowers)
answers = model.predict(flowers, reject_novel=0.01)
for flower, log_p, answer, posterior in zip(flowers, density, answers, model.predict_proba(flowers)):
    sure = f"{model.classes_[posterior.argmax()]} with probability {posterior.max():.4f}"
    print(f"petals {flower}: {sure}, ln p(x) = {log_p:.1f}, answer: {answer}")
print("by the formula:", logsumexp(model.predict_joint_log_proba(flowers), axis=1).round(1))

# %%
# Shades: the posterior, deeper where it is nearer to 1. Lines: the density. Two flowers lie where the posterior is
# nearly 1 although nothing like them was learned.

across, up = np.meshgrid(np.linspace(0, 8, 320), np.linspace(-0.4, 3, 240))
grid = np.column_stack([across.ravel(), up.ravel()])
log_p = model.score_samples(grid).reshape(across.shape)
figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.8), width_ratios=(1.7, 1), layout="constrained")
shades = style.tint(model.predict_proba(grid)).reshape(*across.shape, 4)
left.imshow(shades, extent=(0, 8, -0.4, 3), origin="lower", aspect="auto")
lines = left.contour(across, up, log_p, levels=[-50, -20, -10, -5, -2], colors=style.INK, linewidths=0.8)
left.clabel(lines, fontsize=8)
for k, label in enumerate(model.classes_):
    left.plot(*X[y == label].T, linestyle="none", label=label, **style.marker_look(k, 6))
left.plot(*flowers.T, linestyle="none", marker="X", markersize=12, color=style.INK, label="new flowers")
left.set(xlabel="petal length (cm)", ylabel="petal width (cm)", title="Posterior (shades) and ln p(x) (lines)")
left.legend(loc="upper left", fontsize=9)
right.hist(model.score_samples(X), bins=25, color=style.colour(0), label="150 learned flowers")
for place, answer in zip(density, answers):
    shade = style.INK if answer else style.colour(5)
    right.axvline(place, color=shade, linewidth=2, linestyle=style.dashes(1))
right.set(xlabel="ln p(x)", ylabel="flowers", title="Dashed: new flowers, red if rejected")
plt.show()
