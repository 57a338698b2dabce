r"""
Logistic regression: the loss, gradient steps, the same boundary
================================================================

With a shared covariance the log-odds of Gaussian Bayes are :math:`f(x) = w \cdot x + b`. Logistic regression takes
this form and fits w and b to :math:`p(y|x)` itself: it minimises the mean of :math:`\ln (1 + e^{-y f})`, :math:`y =
\pm 1`. The sigmoid turns log-odds into a probability, :math:`p(y|x) = 1/(1 + e^{-y f(x)})`; with K classes the
softmax does, :math:`p(k|x) = e^{f_k(x)} / \sum_l e^{f_l(x)}`, and for K = 2 it is the sigmoid of :math:`f_1 - f_0`.
A step of gradient descent is

.. math:: w \leftarrow w + \eta \, \frac1n \sum_i \frac{y_i x_i}{1 + e^{y_i f(x_i)}}.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import GaussianBayes, LogisticRegression
from deciban.plots import style

rng = np.random.default_rng(3)
X = np.vstack([rng.multivariate_normal(mean, [[1, 0.5], [0.5, 1]], 200) for mean in ([-1, 0], [1, 0.5])])
y = np.repeat([-1, 1], 200)
ones, path = np.column_stack([X, np.ones(len(X))]), [np.zeros(3)]  # the last weight is b
for _ in range(1000):
    pull = y / (1 + np.exp(y * (ones @ path[-1])))
    path.append(path[-1] + 0.5 * ones.T @ pull / len(y))
fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
best = np.append(fitted.coef_[0], fitted.intercept_)
form = GaussianBayes(covariance="tied").fit(X, y).linear_form()
bayes = np.append(form.w, form.b)
*losses, least, loss_of_bayes = (np.logaddexp(0, -y * (ones @ w)).mean() for w in [*path, best, bayes])
print(f"loss at the start: ln 2 = {losses[0]:.4f}; after 1000 steps {losses[-1]:.6f}, minimum {least:.6f}")
print(f"w, b: {path[-1].round(3)}, LogisticRegression {best.round(3)}")
print(f"Gaussian Bayes {bayes.round(3)}, its loss {loss_of_bayes:.6f}")

# %%
# Left: the loss falls with every step. Right: the line where p = ½ after some steps; the last is that of
# LogisticRegression. Gaussian Bayes with a shared covariance has nearly the same line, without any step.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
left.plot(losses, color=style.colour(0), linewidth=2)
left.axhline(least, color=style.INK, linestyle=style.dashes(2), linewidth=1, label="minimum")
left.set(xlim=(0, 100), xlabel="gradient steps", ylabel="mean loss in nats", title="Loss")
left.legend()
for k, label in enumerate((-1, 1)):
    right.plot(*X[y == label].T, linestyle="none", alpha=0.5, **style.marker_look(k, 5))
across = np.array([-3, 3])
lines = {f"step {step}": path[step] for step in (1, 5, 20, 1000)} | {"Gaussian Bayes": bayes}
for i, (name, (u, v, b)) in enumerate(lines.items()):
    shade = style.colour(5) if name == "Gaussian Bayes" else str(0.75 - 0.25 * i)
    right.plot(-(v * across + b) / u, across, color=shade, linestyle=style.dashes(i), linewidth=2.2, label=name)
right.set(xlim=(-3, 4), xlabel="x₁", ylabel="x₂", title="The line where p = ½, step by step")
right.legend(loc="lower right", fontsize=9)

# %%
# **A common mistake:** the log-odds, ln(p/(1 − p)), upside down. For p = 0.8:

f = np.log(0.8 / 0.2)
print(f"ln(0.8/0.2) = {f:+.4f}, back 1/(1 + e^−f) = {1 / (1 + np.exp(-f)):.1f}; upside down it would be {-f:+.4f}")
plt.show()
