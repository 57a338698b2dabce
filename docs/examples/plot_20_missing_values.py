r"""
A diagnosis with missing values
===============================

A patient's C-reactive protein (crp) was not measured. A missing value is summed out:

.. math:: \sum_{x_j} p(x_j|k) = 1 \quad\Rightarrow\quad
          p(k|x_\text{observed}) \propto \pi_k \prod_{j\,\text{observed}} p(x_j|k),

so its factor disappears from the product, when learning and when predicting (a number is integrated out). No value
is put in its place. This is right if whether a value is missing does not depend on the class, given the other
columns. If it does (a test that is ordered only for the seriously ill), the fact itself is evidence, which is lost:
add a column that says whether the value is there.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import deciban
from deciban import plots

model = deciban.train(files("deciban.cli.examples") / "patients.csv", target="diagnosis", alpha=1.0, judge=False)
patient = {"seen": "2025-08-23", "age": 50, "temperature": 38.7, "cough": "productive", "smoker": "no"}
patient |= {"headache": "yes", "days_ill": 3}
rows = {name: [value, value] for name, value in patient.items()} | {"crp": [10, None]}
for name, posterior in zip(("with crp = 10", "crp missing"), model.predict_proba(rows)):
    print(f"{name}:", dict(zip(model.classes, posterior.round(3).tolist())))

# %%
# The explanation loses one line; all others, and the prior, are unchanged. Without it the total has another sign.

explanation = model.explain(rows, classes=("flu", "pneumonia"))
print(explanation[0], explanation[1], sep="\n\n")
_, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for row, (ax, title) in enumerate(zip((left, right), ("With crp = 10: flu", "crp missing: pneumonia"))):
    plots.evidence(explanation, row=row, ax=ax)
    ax.set_title(title, loc="left")

# %%
# The density of a row without a flag is the sum of those of the rows with each of its values:

smoker = model.score_samples(rows | {"crp": [10, 10], "smoker": ["no", "yes"]})
print("p(x) with smoker = no, yes:", np.exp(smoker), "sum:", np.exp(smoker).sum())
print("p(x) with smoker missing:", np.exp(model.score_samples(rows | {"crp": [10, 10], "smoker": [None, None]}))[0])

# %%
# Learning leaves missing cells out in the same way: N is the number of rows of the class that have the value, here
# of 210, 114 and 73 rows.

print(*str(model.table("crp")).splitlines()[:10], sep="\n")
plt.show()
