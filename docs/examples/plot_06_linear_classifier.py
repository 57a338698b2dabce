r"""
Bernoulli naive Bayes is a linear classifier
============================================

Ten messages of spam and ten of ham; of each we know whether it has the words "free" and "meeting". For two classes
the log-odds of naive Bayes are a weighted sum of the features, :math:`w \cdot x + b`, with

.. math:: w_j = \ln \frac{\theta_{1j} (1 - \theta_{0j})}{\theta_{0j} (1 - \theta_{1j})}, \qquad
          b = \ln \frac{\pi_1}{\pi_0} + \sum_j \ln \frac{1 - \theta_{1j}}{1 - \theta_{0j}}.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import BernoulliNB, plots

# messages with "free" alone, with both words, with "meeting" alone, with neither
cells = np.array([[1, 0], [1, 1], [0, 1], [0, 0]])
counts = {"spam": [7, 1, 0, 2], "ham": [1, 1, 5, 3]}
X = np.vstack([np.repeat(cells, n, axis=0) for n in counts.values()])
y = np.repeat(list(counts), 10)
model = BernoulliNB().fit(X, y)
form = model.linear_form()
print("θ of ham: ", np.exp(model.feature_log_prob_[0]).round(4), "  (2+1)/(10+2), (6+1)/(10+2)")
print("θ of spam:", np.exp(model.feature_log_prob_[1]).round(4), "  (8+1)/(10+2), (1+1)/(10+2)")
print("w =", form.w.round(4), "= ln 9, −ln 7;   b =", round(float(form.b), 4), "= ln 1 + ln(1/3) + ln 2 = ln(2/3)")

# %%
# The boundary w·x + b = 0 is a line. (Larger markers are more messages; the classes are drawn side by side.)

ax = plots.boundary(model, X, y, names=["free", "meeting"])
ax.set(xticks=[0, 1], yticks=[0, 1], title="The line on which spam and ham are equally probable")

# %%
# **A common mistake:** the log-likelihood has :math:`x_j \ln \theta_j` without :math:`(1 - x_j) \ln (1 -
# \theta_j)`, and is averaged over the features. Then the absence of a word is no evidence, and evidence does not
# add up:

theta = np.exp(model.feature_log_prob_)
for x in cells:
    right = float(x @ form.w + form.b)
    present = float((x * np.log(theta[1] / theta[0])).sum())
    print(f"free {x[0]}, meeting {x[1]}: log-odds {right:+.3f}, not {present:+.3f}, nor its mean {present / 2:+.3f}")

# %%
# A message without either word is more probably ham, by ln(2/3): spam would have had "free". By the mistake
# the log-odds would be 0, even odds.

p_spam = model.predict_proba([[0, 0]])[0, 1]
print(f"p(spam | neither word) = {p_spam:.3f} = (2/3) / (1 + 2/3), and not 0.5")

# %%
# The multinomial model of word counts is linear, too: :math:`w_v = \ln \theta_{1v} - \ln \theta_{0v}` and :math:`b =
# \ln(\pi_1/\pi_0)`; an absent word adds nothing.

plt.show()
