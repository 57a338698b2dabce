r"""
Joint model against naive Bayes: how many parameters
====================================================

Of M Boolean features there are :math:`2^M` combinations. The joint model has a probability for each of them in each
of two classes, :math:`2 (2^M - 1)` numbers (those of a class add up to 1); naive Bayes has one for each feature and
class, :math:`2M`. With the class prior it is one more: :math:`2^{M+1} - 1` and :math:`2M + 1`.
"""

import matplotlib.pyplot as plt

from deciban import parameter_count
from deciban.plots import style

M = list(range(1, 31))
joint = [parameter_count("joint", features=m, classes=2, levels=2) for m in M]
naive = [parameter_count("bernoulli", features=m, classes=2) for m in M]
for m in (2, 10, 30):
    print(f"M = {m:2}: joint {joint[m - 1].conditional:>13,}, naive Bayes {naive[m - 1].conditional}")

# %%
# For 30 features the joint model needs over two billion numbers. In any training set nearly all of these
# combinations are missing.

_, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for k, (name, counts) in enumerate([("joint: $2(2^M - 1)$", joint), ("naive Bayes: $2M$", naive)]):
    look = {"color": style.colour(k), "linestyle": style.dashes(k), "linewidth": 2}
    ax.plot(M, [count.conditional for count in counts], label=name, **look)
    ax.annotate(f"{counts[-1].conditional:,}", (30, counts[-1].conditional), (6, -4), textcoords="offset points")
ax.axhline(8e9, color=style.FAINT_COLOUR, linewidth=1)
ax.text(1, 9.5e9, "people on Earth", color=style.FAINT_COLOUR, fontsize=9)
ax.set(
    yscale="log",
    xlim=(0, 38),
    ylim=(1, 1e11),
    xticks=range(0, 31, 5),
    xlabel="Boolean features M",
    ylabel="parameters of two classes",
)
ax.set_title("The joint model doubles with every feature")
ax.legend(frameon=False, loc="center left")
style.add_grid_lines(ax)

# %%
# Numeric features need assumptions too. Images of 256 × 256 pixels in ten classes, each class with its own covariance
# matrix: 10·65 536 means and 10·65 536·65 537/2 covariances, 21.5 billion. Fewer if they are shared or zero:

kinds = ("full", "tied", "diagonal", "tied_diagonal", "spherical", "identity")
images = {k: parameter_count("gaussian", features=256**2, classes=10, covariance=k).conditional for k in kinds}
_, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
bars = ax.barh(list(images), list(images.values()), color=[style.colour(k) for k in range(len(kinds))])
ax.bar_label(bars, [f"{count:,}" for count in images.values()], padding=4)
ax.set(xscale="log", xlim=(1e5, 1e13), xlabel="parameters", ylabel="covariance of the classes")
ax.set_title("Ten classes of 256 × 256 pixels")
ax.invert_yaxis()
style.hide_spines(ax, "top", "right")
for kind, count in images.items():
    print(f"{kind:13} {count:>14,}")
plt.show()
