"""Pictures of what a model has learned, and of how good it is (extra: `plot`).

surface.py   the closed-form score over one or two columns
geometry.py  where two scores are equal: line, conic, thresholds
equation.py  the same, in words
view.py      the rows and columns that are shown, and how far the axes reach
style.py     colours, markers and line styles that survive grey print and colour blindness
plane.py     two columns; axis.py one column; boundary.py the way in
telltales.py the words that tell classes apart
sigmoid.py   log-odds to probability; losses.py the losses of a margin
evidence.py  why a row is predicted as it is
conditionals.py  p(x|k) of each column of a table model: panels.py and densities.py, scales.py and nomogram.py
rows.py      the rows of a table that are drawn
digits.py    classes of images
bayes.py     a population that takes a test
heat.py      tables as shaded cells: confusion.py, dependence.py
reliability.py, roc.py, learning.py  of reports and learning curves; comparison.py of several learners
"""

from deciban.plots.bayes import bayes
from deciban.plots.boundary import boundary
from deciban.plots.comparison import comparison
from deciban.plots.confusion import confusion
from deciban.plots.densities import densities
from deciban.plots.dependence import dependence
from deciban.plots.digits import digits
from deciban.plots.evidence import evidence
from deciban.plots.learning import learning
from deciban.plots.losses import losses
from deciban.plots.nomogram import nomogram
from deciban.plots.reliability import reliability
from deciban.plots.roc import roc
from deciban.plots.sigmoid import sigmoid
from deciban.plots.telltales import telltales

__all__ = [
    "bayes",
    "boundary",
    "comparison",
    "confusion",
    "densities",
    "dependence",
    "digits",
    "evidence",
    "learning",
    "losses",
    "nomogram",
    "reliability",
    "roc",
    "sigmoid",
    "telltales",
]
