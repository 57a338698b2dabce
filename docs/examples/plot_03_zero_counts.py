r"""
The zero-count problem and Laplace's pseudo-counts
==================================================

Fourteen days, and whether tennis was played (Mitchell, *Machine Learning*, 1997). No day without tennis was
overcast, so by maximum likelihood :math:`p(\text{overcast} \mid \text{no}) = 0/5`, and one zero makes the whole
product zero: on an overcast day tennis is *certain*, whatever the other columns say. A pseudo-count :math:`\alpha`
is added to the count of every level, whether it was seen or not: :math:`\theta_{kv} = (n_{kv} + \alpha) / (n_k +
\alpha V)`. It is the posterior mean under the prior :math:`\text{Dir}(\alpha, \ldots, \alpha)`, and the mode (maximum
a posteriori, MAP) under :math:`\text{Dir}(\alpha + 1, \ldots, \alpha + 1)`; :math:`\alpha = 1` is Laplace's rule.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import deciban
from deciban.plots import style

tennis = files("deciban.cli.examples") / "tennis.csv"
roles = dict.fromkeys(("outlook", "temperature", "humidity", "wind"), "category")
alphas = [0, *np.geomspace(1e-4, 1e3, 43).tolist(), 1]
models = {a: deciban.train(tennis, target="play", roles=roles, alpha=a, judge=False) for a in alphas}
day = {"outlook": ["overcast"], "temperature": ["mild"], "humidity": ["high"], "wind": ["strong"]}
no = {alpha: float(model.predict_proba(day)[0, 0]) for alpha, model in models.items()}
print(models[1].table("outlook"))
print(f"\np(no | overcast, mild, high, strong): {no[0]:g} without a pseudo-count, {no[1]:.4f} with α = 1")

# %%
# The probability that tennis is not played on that day, by the pseudo-count: with any α above 0 the other three
# columns count, and with a very large one no column is evidence, which leaves the prior, 5/14.

_, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(alphas[1:-1], [no[a] for a in alphas[1:-1]], color=style.colour(0), linewidth=2, label="p(no | x)")
ax.plot(1, no[1], **style.marker_look(1, 9), linestyle="none", label=f"Laplace, α = 1: {no[1]:.3f}")
ax.axhline(5 / 14, color=style.INK, linestyle=style.dashes(2), linewidth=1.2, label="prior 5/14")
ax.set(xscale="log", ylim=(0, 0.45), xlabel="pseudo-count α", ylabel="p(no | overcast, mild, high, strong)")
ax.set_title("One zero count decides only where α = 0")
ax.legend(frameon=False, loc="lower right")
style.add_grid_lines(ax)

# %%
# Another prior adds, for each class, one imagined example with all features present. The ledger (the counts) of such
# examples can be a prior. It keeps θ from being 0 but lets it be 1, and moves the class prior from 3/5 to 4/7:

X, y = [[1, 0], [1, 1], [1, 0], [0, 0], [0, 1]], ["a", "a", "a", "b", "b"]
imagined = deciban.BernoulliNB().fit([[1, 1], [1, 1]], ["a", "b"]).ledger_
model = deciban.BernoulliNB(alpha=imagined).fit(X, y)
theta, prior = np.exp(model.feature_log_prob_), np.exp(model.class_log_prior_)
print("θ of class a:", theta[0].round(4), "of class b:", theta[1].round(4), "priors:", prior.round(4))
plt.show()
