r"""
Bag of words, step by step, on six sentences
============================================

A text is split into words, and only their counts :math:`z_v` are kept. The multinomial model multiplies one
probability for each word, estimated with a pseudo-count of 1:

.. math:: \theta_{kv} = \frac{n_{kv} + 1}{\sum_u n_{ku} + V}, \qquad
          \ln p(k|z) = \ln \pi_k + \sum_v z_v \ln \theta_{kv} + \text{const}.
"""

from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

from deciban import TextClassifier, Words, plots
from deciban.plots import style

sport = ["The match was a great game.", "Our team won the game!", "A great team, a great match."]
politics = ["The vote was close.", "The party won the vote.", "A close vote, a great party."]
print("1. words: ", Words().tokens_of("A great team, a great match."))
model = TextClassifier().fit(sport + politics, ["sport"] * 3 + ["politics"] * 3)
words = list(model.vocabulary_)
counts = model.feature_count_.astype(int)
print("2. counts:", {k: dict(zip(words, row.tolist())) for k, row in zip(model.classes_.tolist(), counts)})

# %%
# The table of counts is all that is learned (words of one letter are left out, as in scikit-learn): 14 words of
# sport, 13 of politics, of which V = 11 are different.

V, n = len(words), counts.sum(axis=1)
new = "Our great party won!"
print(f"3. θ: n = {n[1]} words of sport, {n[0]} of politics, V = {V}")
product = np.array([Fraction(1, 2), Fraction(1, 2)])  # of politics and of sport: three sentences of six each
for word in Words().tokens_of(new):
    theta = [Fraction(int(c[words.index(word)]) + 1, int(total) + V) for c, total in zip(counts, n)]
    product = product * theta
    print(f"   {word:6} politics {theta[0]}, sport {theta[1]}")
by_hand = product / product.sum()
print(f"4. {new!r}: sport {by_hand[1]} = {float(by_hand[1]):.4f}; deciban: {model.predict_proba([new])[0, 1]:.4f}")

# %%
# Left: the counts. Right: the evidence of each word of the new sentence, in decibans, from the prior to the total.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=(1, 1.5), layout="constrained")
order = np.argsort(counts[1] - counts[0], kind="stable")
left.imshow(counts.T[order], cmap="Blues", vmax=7, aspect="auto")
for (i, k), count in np.ndenumerate(counts.T[order]):
    left.text(k, i, count, ha="center", va="center", color="white" if count > 4 else style.INK)
left.set(xticks=[0, 1], xticklabels=model.classes_, yticks=range(V), title="Words counted in six sentences")
left.set_yticklabels([words[v] for v in order])
plots.evidence(model.explain([new]), ax=right)
right.set_title(f"“{new}”", fontsize=11, loc="left")
plt.show()
