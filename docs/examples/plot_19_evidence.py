r"""
One decision, explained in decibans
===================================

Naive Bayes adds: the log-odds of two classes are those of the prior plus one term for each column,

.. math:: 10 \log_{10} \frac{p(k|x)}{p(l|x)} = 10 \log_{10} \frac{\pi_k}{\pi_l} +
          \sum_j 10 \log_{10} \frac{p(x_j|k)}{p(x_j|l)},

in decibans, Turing's unit: 10 is ten to one, 3 about two to one. 1 dB is about the smallest change in weight of
evidence that people can perceive (Good 1950).
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import deciban
from deciban import plots

examples = files("deciban.cli.examples")
model = deciban.train(examples / "patients.csv", target="diagnosis", judge=False)
explanation = model.explain(examples / "new-patients.csv")
print(explanation[1])

# %%
# The same as a picture: each bar begins where the one above it ends, and the scale above has the probabilities.

plots.evidence(explanation, row=1)

# %%
# The terms add up to the posterior odds in decibans: nothing else goes into the prediction.

posterior = model.predict_proba(examples / "new-patients.csv").read_all().to_pylist()[1]
p, q = posterior[explanation.winner[1]], posterior[explanation.runner_up[1]]
print(f"{explanation.total[1]:.6f} dB in all; 10·log₁₀({p:.6f} / {q:.6f}) = {10 * np.log10(p / q):.6f} dB")

# %%
# On a small table: a sign that is nine times as common in one class is 10·log₁₀ 9 = 9.54 dB of
# evidence for it, and a sign that is equally common in both is none.

X = np.array([[1, 1]] * 5 + [[1, 0]] * 4 + [[0, 1]] + [[1, 1]] + [[0, 0]] * 4 + [[0, 1]] * 5)
signs = deciban.BernoulliNB(alpha=0).fit(X, np.repeat([1, 0], 10)).explain([[1, 1]], classes=(1, 0))
print("evidence of the two signs:", (signs.evidence[0].round(4) + 0.0).tolist(), "dB")

# %%
# A nomogram is the whole model on paper: read the decibans of each value off its scale, add them up, and read the
# probability.

plots.nomogram(model, classes=("flu", "cold"))
plt.show()
