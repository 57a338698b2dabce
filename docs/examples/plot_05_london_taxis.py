r"""
London taxis: dependent, and independent given the weather
==========================================================

In London, taxi drivers who wear coats have more accidents. A coat causes none: when it rains, drivers put on coats,
and when it rains, there are accidents. Say it rains on one day in four; 9 in 10 drivers wear a coat in the rain, 2
in 10 on a dry day; 3 in 10 have an accident in the rain, 1 in 20 on a dry day:

.. math:: p(\text{coat}, \text{accident} \mid \text{rain}) =
          p(\text{coat} \mid \text{rain}) \, p(\text{accident} \mid \text{rain}).

Independence given the class is all that naive Bayes assumes. It does not imply independence.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import deciban
from deciban.plots import style

rows = []
for weather, days, coats, accidents in [("rain", 1, 0.9, 0.3), ("dry", 3, 0.2, 0.05)]:
    for coat, accident in product((True, False), repeat=2):
        share = (coats if coat else 1 - coats) * (accidents if accident else 1 - accidents)
        rows += [(coat, accident, weather)] * round(2000 * days * share)
coat, accident, weather = (np.array(column) for column in zip(*rows))

found = deciban.dependence({"coat": coat, "accident": accident, "weather": weather}, target="weather")
print(found)

# %%
# The dependence is mutual information, in decibans per row: 0.10 without the weather, 0 given the weather. The
# shares of accidents show the same. Of all drivers with coats, (0.25·0.9·0.3 + 0.75·0.2·0.05) / (0.25·0.9 +
# 0.75·0.2) = 0.075 / 0.375 = 20 % have an accident; of those without coats 0.0375 / 0.625 = 6 %.

panels = {"all days": np.full(len(rows), True), "in the rain": weather == "rain", "on dry days": weather == "dry"}
shares = {name: [accident[days & (coat == worn)].mean() for worn in (True, False)] for name, days in panels.items()}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (name, pair) in zip(axes, shares.items()):
    bars = ax.bar(["coat", "no coat"], pair, color=[style.colour(0), style.colour(1)], width=0.6)
    ax.bar_label(bars, [f"{share:.0%}" for share in pair], padding=2)
    ax.set(title=f"{name}: " + ("dependent" if name == "all days" else "independent"), ylim=(0, 0.36))
    style.hide_spines(ax, "top", "right")
    print(f"p(accident | coat) and p(accident | no coat), {name}: {pair[0]:.2f} and {pair[1]:.2f}")
axes[0].set_ylabel("p(accident)")
plt.show()
