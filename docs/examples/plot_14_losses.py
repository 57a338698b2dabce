r"""
Zero-one, logistic, hinge and exponential loss
==============================================

A classifier with score f errs on a row of class :math:`y = \pm 1` where the margin :math:`m = y f` is not positive.
The zero-one loss counts errors, but its gradient is 0 almost everywhere. The others are upper bounds with a gradient:

.. math:: [m \le 0] \;\le\; \log_2 (1 + e^{-m}), \quad \max(0, 1 - m), \quad e^{-m}.
"""

import matplotlib.pyplot as plt
import numpy as np

from deciban import plots
from deciban.plots import style
from deciban.plots.theory_pictures import LOSSES

margins = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
print("margin      ", *(f"{m:7.0f}" for m in margins))
for name, (_, loss) in LOSSES.items():
    print(f"{name:12}", *(f"{value:7.3f}" for value in loss(margins)))

ax = plots.losses()
ax.set_title("Three losses that bound the zero-one loss")

# %%
# The logistic loss is drawn with the base-2 logarithm: it is the log-loss in bits, and 1 at margin 0. With the
# natural logarithm it is ln 2 = 0.693 there, *below* the zero-one loss, and bounds nothing.

bits, nats = np.logaddexp(0, 0) / np.log(2), np.logaddexp(0, 0)
print(f"at margin 0: {bits:.3f} bits, {nats:.3f} nats")

# %%
# The negative derivative is the weight of a row in the gradient. A row far on the wrong side has at most 1.44 under
# logistic loss and 1 under hinge loss; under exponential loss, that of AdaBoost, its weight grows without bound:
# one wrong label may weigh as much as thousands of other rows.

m = np.linspace(-4, 3, 701)
slopes = {"logistic": 1 / np.log(2) / (1 + np.exp(m)), "exponential": np.exp(-m), "hinge": (m < 1).astype(float)}
_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for i, (name, slope) in enumerate(slopes.items()):
    ax.plot(m, slope, label=name, color=style.colour(i), linestyle=style.dashes(i + 1), linewidth=2)
    print(f"weight of a row of margin −4, {name}: {slope[0]:.2f}")
ax.set(
    ylim=(-0.1, 6),
    xlim=(-4, 3),
    xlabel="margin  m = y·f      ← wrong      right →",
    ylabel="negative derivative of the loss",
)
ax.set_title("The weight of a row in the gradient")
ax.legend(frameon=False)
style.add_grid_lines(ax)
plt.show()
