r"""
Coin flips: maximum likelihood and MAP
======================================

A coin showed heads three times in five. The likelihood of :math:`\theta = p(\text{heads})` is

.. math:: L(\theta) = \theta^3 (1 - \theta)^2, \qquad
          \frac{d \ln L}{d\theta} = \frac{3}{\theta} - \frac{2}{1 - \theta} = 0 \;\Rightarrow\; \theta = \frac{3}{5}.

Laplace's rule adds one imagined head and one imagined tail: (3 + 1) / (5 + 2) = 4/7. It is the mode of the
posterior (MAP) under the prior Beta(2, 2), and the mean of the posterior under the uniform prior Beta(1, 1).
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta

from deciban import BernoulliNB
from deciban.plots import style

flips, coin = [[1], [1], [1], [0], [0]], ["coin"] * 5
estimates = {}
for alpha in (0, 1, 10):
    model = BernoulliNB(alpha=alpha).fit(flips, coin)
    estimates[alpha] = float(np.exp(model.feature_log_prob_[0, 0]))
    exact = Fraction(estimates[alpha]).limit_denominator(100)
    print(f"pseudo-count α = {alpha:2}: θ = (3 + α)/(5 + 2α) = {exact} = {estimates[alpha]:.4f}")

# %%
# Left: the likelihood (scaled to have the area of a density) and two posteriors; the more imagined flips, the
# nearer to ½. Right: with more flips the data outweigh the imagined ones, and all estimates of a coin that shows
# heads in 60 % of its flips meet.

theta, n = np.linspace(0, 1, 501), np.arange(5, 505, 5)
_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
names = {0: "likelihood", 1: "posterior, Beta(2, 2) prior", 10: "posterior, Beta(11, 11) prior"}
for k, (alpha, name) in enumerate(names.items()):
    density = beta(3 + alpha + 1, 2 + alpha + 1).pdf
    look = {"color": style.colour(k), "linestyle": style.dashes(k), "linewidth": 2}
    left.plot(theta, density(theta), label=f"{name}: θ = {estimates[alpha]:.3f}", **look)
    left.plot(estimates[alpha], density(estimates[alpha]), **style.marker_look(k, 9))
    right.plot(n, (0.6 * n + alpha) / (n + 2 * alpha), label=f"α = {alpha}", **look)
left.set(xlabel="θ = p(heads)", ylabel="density", xlim=(0, 1), ylim=(0, 5.6), title="Three heads in five flips")
right.set(xscale="log", xlabel="flips, 60 % of them heads", ylabel="estimate of θ", title="The prior fades")
left.legend(loc="upper left", frameon=False)
right.legend(loc="lower right", frameon=False)
style.add_grid_lines(left, right)
plt.show()
