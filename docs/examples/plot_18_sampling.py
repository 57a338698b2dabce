r"""
Sampling from the model
=======================

A generative model can make data: draw a class from the prior, then a row from :math:`p(x|k)`. A sample lacks what
the model does not represent. Naive Bayes draws each pixel independently of the others, and its digits are noisy.
With a covariance matrix pixels vary together, and the digits have strokes.
"""

import csv
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from deciban import BernoulliNB, GaussianBayes, GaussianNB, TextClassifier

X, y = load_digits(return_X_y=True)
models = {
    "Bernoulli naive Bayes\n(black-and-white)": BernoulliNB(binarize=7.5).fit(X, y),
    "Gaussian naive Bayes": GaussianNB(var_smoothing=1e-3).fit(X, y),
    "own covariance": GaussianBayes(covariance="full", shrinkage=0.05).fit(X, y),
}
figure, axes = plt.subplots(len(models) + 1, 10, figsize=(10, 4.6), layout="constrained")
for row, (name, model) in zip(axes, models.items()):
    rows, labels = model.sample(300, random_state=0)
    for digit, ax in enumerate(row):
        ax.imshow(rows[labels == digit][0].reshape(8, 8), cmap="Greys", vmin=0)
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")
for digit, ax in enumerate(axes[-1]):
    ax.imshow(X[y == digit][0].reshape(8, 8), cmap="Greys", vmin=0)
axes[-1, 0].set_ylabel("a real one", rotation=0, ha="right", va="center")
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[])
figure.suptitle("Digits drawn from three models")

# %%
# Samples have the statistics that the model learned, and no others. The correlation of two neighbouring pixels
# within the digit 3, in the data and in 20 000 rows sampled from each Gaussian:

neighbours = np.corrcoef(X[y == 3][:, [19, 20]].T)[0, 1]
print(f"data: {neighbours:+.2f}")
correlation = {}
for name in ("Gaussian naive Bayes", "own covariance"):
    rows, labels = models[name].sample(20_000, random_state=1)
    correlation[name] = np.corrcoef(rows[labels == 3][:, [19, 20]].T)[0, 1]
    print(f"{name}: {correlation[name]:+.2f}")

# %%
# A bag of words has no order: sampled texts have the right words, and no sentence.

with (files("deciban.cli.examples") / "messages.csv").open(encoding="utf-8") as file:
    messages = list(csv.DictReader(file))
texts = TextClassifier().fit([m["message"] for m in messages], [m["topic"] for m in messages])
for text, topic in zip(*texts.sample(3, random_state=2)):
    print(f"{topic}: {text[:100]} …")
plt.show()
