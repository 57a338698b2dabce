r"""
One-dimensional Gaussians and where they cross
==============================================

With one feature, each class has a Gaussian density, weighted by its prior: :math:`\pi_k \, p(x|k)`. Two cross where

.. math:: \ln \pi_0 - \ln \sigma_0 - \frac{(x - \mu_0)^2}{2 \sigma_0^2} =
          \ln \pi_1 - \ln \sigma_1 - \frac{(x - \mu_1)^2}{2 \sigma_1^2},

a quadratic equation in x: two thresholds, one (equal variances), or none.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import GaussianNB, plots

# (mean, standard deviation) of each class, and the priors
cases = {
    "One threshold: equal deviations": ((0, 1), (4, 1), (0.5, 0.5)),
    "Another prior moves it": ((0, 1), (4, 1), (0.9, 0.1)),
    "Two thresholds: unequal deviations": ((0, 1), (1, 2), (0.5, 0.5)),
    "None: a class that never wins": ((0, 1), (0, 3), (0.05, 0.95)),
}


def solve(first, second, priors, half=0.5):
    """Return the real roots of the quadratic equation above; half=1 is the mistake below."""
    (m, s), (n, t) = first, second
    a, b = half / t**2 - half / s**2, 2 * half * (m / s**2 - n / t**2)
    c = half * (n**2 / t**2 - m**2 / s**2) + np.log(priors[0] * t / (priors[1] * s))
    roots = np.roots([a, b, c] if a else [b, c])
    return np.sort(roots[np.isreal(roots)].real)


figure, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
for ax, (name, (first, second, priors)) in zip(axes.ravel(), cases.items()):
    # two points m ± s have mean m and standard deviation s
    X = np.array([[m + sign * s] for m, s in (first, second) for sign in (-1, 1)], dtype=float)
    model = GaussianNB(priors=list(priors), var_smoothing=0).fit(X, [0, 0, 1, 1])
    plots.boundary(model, X, [0, 0, 1, 1], features=[0], names=["x"], ax=ax)
    ax.set_title(name)
    print(f"{name}: {solve(first, second, priors).round(4)}, Bayes error {model.bayes_error():.2%}")

# %%
# Equal deviations and priors: the midpoint, 2. With priors 0.9 and 0.1 it moves by ln 9 · σ² / (μ₁ − μ₀) = 0.549.
#
# The rule that chooses the larger :math:`\pi_k p(x|k)` is Bayes-optimal if these are the true densities: no rule has
# fewer errors. Its error is the area under the lower of the curves, in the first case :math:`\Phi(-2) = 2.28\,\%`;
# `bayes_error` estimates it by rows sampled from the model.
#
# **Common mistakes:** the exponent without its ½, or no −ln σ. For means 0 and 1, deviations 1 and 2 and equal
# priors the equation is 3x² + 2x − 1 − 8 ln 2 = 0. Without the ½ it is 3x² + 2x − 1 − 4 ln 2 = 0, without −ln
# σ 3x² + 2x − 1 = 0. Their roots are too close to each other, and the densities there are *not* equal.

right, no_half = solve((0, 1), (1, 2), (1, 1)), solve((0, 1), (1, 2), (1, 1), half=1)
no_log = solve((0, 1), (1, 2), (1, 2))  # priors 1 : 2 cancel the deviations 1 : 2
print(f"right: (−1 ± √(4 + 24 ln 2))/3 = {right.round(4)}")
print(f"without ½: (−1 ± √(4 + 12 ln 2))/3 = {no_half.round(4)}; without −ln σ: {no_log.round(4)}")
plt.show()
