r"""
Boosting, round by round
========================

The boundary of one Gaussian naive Bayes is one conic along the axes. AdaBoost fits another model in each round, to
rows whose weights have grown where the previous one was wrong, and lets all of them vote, each with its share

.. math:: s_t = \ln \frac{1 - e_t}{e_t}, \qquad w_i \leftarrow w_i \, e^{s_t [\text{wrong}_i]} / Z,

:math:`e_t` the weighted error of round t, Z such that the weights add up to 1. Many textbooks write :math:`\alpha_t =
\frac12 \ln \frac{1 - e_t}{e_t}` and multiply by :math:`e^{-\alpha_t y_i h_t(x_i)}`; after division by Z these are the
same weights, and half the shares give the same vote.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import BoostedBayes, GaussianNB
from deciban.plots import style

X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
y = (np.abs(X).sum(axis=1) < 0.8).astype(int)  # a square on its corner: no conic fits it
model = BoostedBayes(GaussianNB(), n_estimators=17).fit(X, y)
accuracy = list(model.staged_score(X, y))
print("round  error e  share ln((1−e)/e)  accuracy of all so far")
for t in (0, 1, 2, 3, 9, 16):
    print(f"{t + 1:5}  {model.estimator_errors_[t]:7.4f}  {model.estimator_weights_[t]:17.4f}  {accuracy[t]:.3f}")

# %%
# Shades: the vote of all rounds so far. The size of a marker is the row's weight in that round.

across, up = np.meshgrid(np.linspace(-1, 1, 200), np.linspace(-1, 1, 200))
grid = np.column_stack([across.ravel(), up.ravel()])
votes, weights = list(model.staged_decision_function(grid)), list(model.staged_weights(X, y))
figure, axes = plt.subplots(2, 2, figsize=(9, 8), sharex=True, sharey=True, layout="constrained")
for ax, t in zip(axes.ravel(), (0, 1, 3, 16)):
    side = (votes[t] > 0).astype(int).reshape(across.shape)
    ax.contourf(across, up, side, levels=[-0.5, 0.5, 1.5], colors=[style.pale(0), style.pale(1)], alpha=0.6)
    for k in (0, 1):
        look = {"color": style.colour(k), "marker": style.marker(k), "edgecolors": "white", "linewidths": 0.5}
        ax.scatter(*X[y == k].T, s=18 * len(X) * weights[t][y == k], label=f"class {k}", **look)
    ax.set_title(f"round {t + 1}: {accuracy[t]:.1%} right")
axes[0, 0].legend(loc="lower left", fontsize=9)
figure.supxlabel("x₁")
figure.supylabel("x₂")

# %%
# The error of the vote falls from 14.5 % to 5.5 %, but not in every round: the second model has the larger share, so
# after two rounds the vote is its prediction alone (79.2 % right). In most later rounds the weighted error is larger,
# because the rows that are still wrong have most of the weight.

_, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
rounds = range(1, len(accuracy) + 1)
ax.plot(rounds, 1 - np.array(accuracy), color=style.colour(0), linewidth=2, label="error of the vote of all rounds")
look = {"color": style.colour(1), "linestyle": style.dashes(1), "linewidth": 2}
ax.plot(rounds, model.estimator_errors_, label="weighted error of the round", **look)
ax.set(xlabel="round", ylabel="error on the training rows", ylim=(0, 0.55), title="Seventeen rounds")
ax.legend(frameon=False)
style.add_grid_lines(ax)
plt.show()
