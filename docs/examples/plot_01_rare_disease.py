r"""
Bayes' theorem and the rare disease
===================================

One person in a hundred has a disease. A test finds nine in ten of those who have it, and is right about 95 in 100
of those who do not. Your test is positive: how probable is it that you have the disease?

.. math:: p(k|x) = \frac{\pi_k \, p(x|k)}{\sum_l \pi_l \, p(x|l)}

Count people instead of probabilities. Of 10 000 people 100 have the disease, and 90 of them test positive; so do
495 of the 9 900 healthy ones. The answer is 90 / (90 + 495), about 15 %, and not 90 %.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import BayesTable, plots
from deciban.plots import style

table = BayesTable(prior=0.01, sensitivity=0.9, specificity=0.95, population=10_000)
print(table)

# %%
# A dot is a person. In decibans, ten times the base-10 logarithm of odds, the theorem is an addition: the odds
# before the test, :math:`10 \log_{10} (0.01 / 0.99)`, plus the evidence of the test, :math:`10 \log_{10} (0.9 /
# 0.05)`.

ax = plots.bayes(table)
ax.figure.suptitle("Of 585 positive tests 90 are true", fontsize=13)

# %%
# Why is the answer so small? The test did not change; the population did. With the same test the answer depends on
# how common the disease is: among people of whom one in five has it, a positive test is good evidence.

priors = np.geomspace(1e-4, 0.5, 200)
answers = [BayesTable(prior, 0.9, 0.95).positive_predictive_value for prior in priors.tolist()]

_, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(priors, answers, color=style.colour(0), linewidth=2)
for prior in (0.001, 0.01, 0.2):
    answer = BayesTable(prior, 0.9, 0.95).positive_predictive_value
    print(f"prior {prior:.1%}: after a positive test {answer:.1%}")
    ax.plot(prior, answer, **style.marker_look(1, 9))
    ax.annotate(f"{prior:.3g} → {answer:.3f}", (prior, answer), (-9, 7), textcoords="offset points", ha="right")
ax.set(xscale="log", xlim=(1e-4, 0.5), ylim=(0, 1), xlabel="share that has the disease, p(ill)")
ax.set(ylabel="p(ill | positive)", title="The same test in other populations")
style.add_grid_lines(ax)
plt.show()
