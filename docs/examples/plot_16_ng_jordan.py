r"""
Naive Bayes against logistic regression as rows grow
====================================================

Ng and Jordan (2001): naive Bayes and logistic regression have the same linear form. Fitted to :math:`p(x|k)`, the
first comes near to its final error with about :math:`\ln d` rows; fitted to :math:`p(k|x)`, the second needs about
d, and its final error is no higher. So naive Bayes is ahead with few rows, and may be overtaken with many.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

from deciban import BernoulliNB, LogisticRegression
from deciban.plots import style


def draw(n, seed):
    """Return n rows of 60 flags of little evidence each; five of them repeat the first one in most rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.random((n, 60)) < 0.5 + 0.08 * (2 * y[:, None] - 1)
    X[:, 1:6] = np.where(rng.random((n, 5)) < 0.6, X[:, :1], X[:, 1:6])
    return X.astype(int), y


sizes, draws = (10, 20, 40, 80, 160, 320, 640, 1280, 2560), 8
learners = {"naive Bayes": BernoulliNB(), "logistic, no penalty": LogisticRegression(C=1e4, max_iter=1000)}
held_out, truth = draw(4000, seed=1000)
errors = {name: np.zeros((draws, len(sizes))) for name in learners}
for seed in range(draws):
    X, y = draw(max(sizes), seed)
    for (name, learner), (i, n) in product(learners.items(), enumerate(sizes)):
        errors[name][seed, i] = 100 * np.mean(learner.fit(X[:n], y[:n]).predict(held_out) != truth)
for name, found in errors.items():
    print(f"{name:21}", *(f"{error:5.1f}" for error in found.mean(axis=0)))

# %%
# Right: the census table *adult*, 20 draws, measured for the lab; the curves cross between 160 and 640 rows. With
# a penalty chosen by cross-validation, logistic regression is ahead there with any number of rows.

lab_sizes = (10, 20, 40, 80, 160, 320, 640, 1280)
lab = {"naive Bayes": [25.4, 23.6, 21.3, 19.2, 18.0, 17.3, 16.8, 16.8]}
lab["logistic, no penalty"] = [24.7, 24.0, 25.4, 24.3, 21.3, 17.9, 16.1, 14.9]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for k, name in enumerate(learners):
    look = {"linestyle": style.dashes(k), "linewidth": 2, **style.marker_look(k, 7)}
    error = errors[name].std(axis=0, ddof=1) / np.sqrt(draws)
    left.errorbar(sizes, errors[name].mean(axis=0), yerr=error, capsize=3, label=name, **look)
    right.plot(lab_sizes, lab[name], label=name, **look)
right.axvline(435, color=style.INK, linewidth=1, linestyle=style.dashes(2))
right.text(460, 24.5, "they cross\nat 435 rows", fontsize=9)
for ax, title, ticks in ((left, "60 flags, drawn here", sizes), (right, "Census, from the lab", lab_sizes)):
    ax.set(xscale="log", xlabel="rows learned", ylabel="error on held-out rows in percent", title=title)
    ax.set_xticks(ticks, ticks, minor=False)
    ax.minorticks_off()
    ax.legend(frameon=False)
style.add_grid_lines(left, right)
plt.show()
