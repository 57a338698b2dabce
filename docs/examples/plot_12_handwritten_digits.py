r"""
Handwritten digits, black-and-white and grey
============================================

1797 digits of 8 × 8 pixels (scikit-learn's copy of the UCI set). In black and white, each pixel has a
Bernoulli distribution in each class, :math:`\theta_{kj}`. In grey, each pixel has a Gaussian, :math:`(\mu_{kj},
\sigma_{kj}^2)`, or all pixels together have one multivariate Gaussian with a covariance matrix. Accuracies are out of
fold: each row is predicted by a model without it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from deciban import BernoulliNB, GaussianBayes, GaussianNB, cross_validate, plots
from deciban.plots import style

X, y = load_digits(return_X_y=True)
figure = plots.digits(BernoulliNB(binarize=7.5).fit(X, y))
figure.suptitle("Black-and-white: the mean of each class, and the evidence of each pixel")

# %%
# Accuracy by what is assumed of the covariance. The diagonal is naive Bayes. One shared matrix has the covariances
# of pixels too; a matrix for each digit has 20 800 numbers in all to learn from 1797 images, and needs shrinkage
# towards a multiple of the identity.

models = {"Bernoulli, black-and-white": BernoulliNB(binarize=7.5)}
models["Gaussian naive Bayes"] = GaussianNB(var_smoothing=0.1)
models |= {f"Σ {kind}": GaussianBayes(covariance=kind) for kind in ("identity", "spherical", "tied")}
models["own Σₖ"] = GaussianBayes(covariance="full")
models["own Σₖ, shrinkage 0.1"] = GaussianBayes(covariance="full", shrinkage=0.1, shrinkage_target="spherical")
accuracy = {name: float(cross_validate(model, X, y).accuracy) for name, model in models.items()}
for name, share in accuracy.items():
    print(f"{name:27} {share:.2%}")

best = models["own Σₖ, shrinkage 0.1"].fit(X[::2], y[::2])  # learned from every other image, tested on the rest
answer, truth, images = best.predict(X[1::2]), y[1::2], X[1::2]
wrong = np.flatnonzero(answer != truth)[:10]
figure = plt.figure(figsize=(9, 5.4), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=(2.4, 1))
ax = above.subplots()
for k, share in enumerate(accuracy.values()):
    ax.plot(share, k, **style.marker_look(k, 10))
    ax.annotate(f"{share:.1%}", (share, k), (8, -4), textcoords="offset points")
ax.set(yticks=range(len(accuracy)), yticklabels=accuracy, xlim=(0.88, 1.005), title="Accuracy by covariance")
ax.set(xlabel="accuracy, out of fold (10 folds)")
style.add_grid_lines(ax)
ax.invert_yaxis()
style.hide_spines(ax, "top", "right")
below.suptitle(f"Mistakes: {(answer != truth).sum()} of {len(truth)} images that were not learned", fontsize=11)
for ax, i in zip(below.subplots(1, 10), wrong):
    ax.imshow(images[i].reshape(8, 8), cmap="Greys")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{truth[i]} as {answer[i]}", fontsize=9)

# %%
# On MNIST (60 000 images of 28 × 28 pixels to learn, 10 000 to test), from the lab, page *Digits and letters*:

print({"BernoulliNB(binarize=127)": 84.27, "GaussianNB(var_smoothing=0.1)": 81.40, "own Σₖ, shrinkage 0.5": 96.03})
plt.show()
