r"""
Log-space arithmetic, and underflow as it happens
=================================================

Naive Bayes multiplies one small probability for each word. The smallest positive double is about :math:`5 \cdot
10^{-324}`; after about a hundred words every product is 0, and the posterior 0/0. Sums of logarithms do not vanish:

.. math:: a_k = \ln \pi_k + \sum_j \ln p(x_j|k), \qquad
          p(k|x) = \frac{e^{a_k - m}}{\sum_l e^{a_l - m}}, \quad m = \max_l a_l.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import MultinomialNB
from deciban.plots import style

rng = np.random.default_rng(0)
V, n = 1000, 300
theta = np.exp(0.1 * rng.standard_normal((2, V))) * rng.dirichlet(np.ones(V))  # two similar classes
theta /= theta.sum(axis=1, keepdims=True)
document = rng.choice(V, size=n, p=theta[1])  # 300 words of class 1
p = np.cumprod(theta[:, document], axis=1) / 2  # the product after each word, as doubles
log_p = np.log(0.5) + np.cumsum(np.log(theta[:, document]), axis=1)
with np.errstate(invalid="ignore"):
    by_products = p[1] / p.sum(axis=0)
by_logs = 1 / (1 + np.exp(log_p[0] - log_p[1]))
first_zero = int(np.argmax(p.max(axis=0) == 0)) + 1
print(f"after {first_zero} words both products are 0.0; their logarithms are {log_p[:, first_zero - 1].round(1)}")

# %%
# Above: the products end at the smallest double. Below: near it the posterior by products is wrong (a product loses
# its digits before it is zero), then it is not a number; by logarithms it is right to the end.

figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5.6), sharex=True, layout="constrained")
words = np.arange(1, n + 1)
for k in (0, 1):
    look = {"color": style.colour(k), "linestyle": style.dashes(k)}
    above.plot(words, log_p[k] / np.log(10), alpha=0.5, linewidth=1.2, **look)
    with np.errstate(divide="ignore"):
        above.plot(words, np.log10(p[k]), linewidth=2.6, label=f"class {k}: product as a double", **look)
above.axhline(-323.3, color=style.INK, linewidth=1)
above.text(n - 3, -310, "smallest double, 5·10⁻³²⁴", ha="right", fontsize=9)
above.set(ylabel="log₁₀ of the product", title="Thin: the sum of logarithms. Thick: the product")
above.legend(frameon=False)
below.plot(words, by_logs, color=style.colour(2), linewidth=4, alpha=0.5, label="by logarithms")
below.plot(words, by_products, color=style.INK, linewidth=1.2, label="by products, until 0/0")
below.axvline(first_zero, color=style.FAINT_COLOUR, linestyle=style.dashes(2))
below.set(xlabel="words read", ylabel="p(class 1 | words)", ylim=(-0.05, 1.05), xlim=(1, n))
below.legend(frameon=False, loc="center right")

# %%
# deciban works in logarithms everywhere. **A common mistake:** the prior's logarithm inside the sum over
# features. Then it counts once for each word, here 3 times: priors of ¼ and ¾ are evidence of ln 3, not 3 ln 3.

model = MultinomialNB(class_prior=[0.25, 0.75]).fit([[3, 1], [1, 3]], ["x", "y"])
print("30 000 words:", model.predict_log_proba([[20_000, 10_000]])[0].round(1))
a = model.predict_joint_log_proba([[2, 1]])[0]
print(f"3 words: ln(1/3) + ln 2 = {a[0] - a[1]:.4f}, not 3 ln(1/3) + ln 2 = {np.log(2 / 27):.4f}")
plt.show()
