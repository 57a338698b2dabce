r"""
The personal spam detector: 400, 50 and 50 messages
===================================================

Label 500 of your own messages; learn 400, choose the smoothing :math:`\alpha` and the thresholds on 50 others, and
test *once* on the last 50. A message that was used for a choice cannot measure how good the choice is. The filter
``bayes`` is a variant of naive Bayes: it adds up :math:`\ln p(\text{word}|\text{spam}) - \ln
p(\text{word}|\text{ham})` of the words that are present, with pseudo-count :math:`\alpha`, multiplies the sum by one
fitted weight and by a factor for the length, and reduces it where both sides have strong evidence (:doc:`/maths`,
*Scores of mail*). Plain naive Bayes is ``TextClassifier``, see :doc:`plot_08_bag_of_words`.

Here the mailbox that comes with deciban (``deciban example mailbox``) is used: 380 synthetic messages in the same
proportions, 304, 38 and 38. On the command line: ``deciban mail evaluate --split 304/38/38 --draws 10``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from deciban.cli.example import unpack_mailbox
from deciban.mail.evaluation.evaluate_filter import evaluate_draws
from deciban.mail.evaluation.labelled_mail import read_labelled_mail
from deciban.plots import style

with tempfile.TemporaryDirectory() as folder:
    mailbox = Path(folder) / "Maildir"
    unpack_mailbox(mailbox)
    mail = read_labelled_mail([str(mailbox / "cur"), str(mailbox / "new")], [str(mailbox / ".Junk")])
print(len(mail), "messages,", int((mail.codes == 1).sum()), "of them spam")

report = evaluate_draws(mail, (304, 38, 38), seeds=range(5), model="bayes")
first = report.draws[0]
print("log-loss on the 38 of the choice:", {alpha: round(loss, 4) for alpha, loss in first.tried.items()})
print(f"chosen: α = {first.alpha:g}, ham below {first.thresholds[0]:g}, spam from {first.thresholds[1]:g}")
for draw in report.draws:
    counts = draw.metrics
    print(f"draw {draw.seed}: of {counts.ham} ham {counts.lost} lost, of {counts.spam} spam {counts.missed} missed,")
    print(f"        {counts.unsure} unsure, {counts.error:.1%} wrong at p ≥ ½")

# %%
# With real mail: 400, 50 and 50 messages of SpamAssassin's corpus, 50 draws, measured for the lab
# (page *Mail*): mean and standard deviation of the errors on the 50 test messages. One draw of 50 is a rough
# measure: one more error is two percentage points.

lab = {"evidence": (1.72, 1.46), "bayes": (3.00, 2.60), "logistic": (3.04, 2.26), "bogofilter": (3.16, 2.74)}
error, deviation = np.array(list(lab.values())).T
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for k in range(len(lab)):
    below, look = min(deviation[k], error[k]), style.marker_look(k, 9)
    ax.errorbar(error[k], k, xerr=[[below], [deviation[k]]], capsize=4, **look)
    ax.annotate(f"{error[k]:.2f} %", (error[k], k), (0, 9), textcoords="offset points", ha="center")
ax.set(yticks=range(len(lab)), yticklabels=lab, xlim=(0, 6.2), ylim=(len(lab) - 0.5, -0.6))
ax.set(xlabel="errors on 50 test messages in percent, mean ± standard deviation of 50 draws")
ax.set_title("Learned from 400 messages: filters of deciban, and bogofilter")
style.add_grid_lines(ax, axis="x")
style.hide_spines(ax, "top", "right")
plt.show()
