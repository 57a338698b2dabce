"""Pictures of models and of their quality (extra: `plot`).

Each public function draws one picture: it takes `ax=None` and returns its Axes, or its Figure where it has several
panels. Colours, markers and line styles (`style`) remain distinct in grey print and for colour-blind readers.
"""

from deciban.plots.boundary import boundary
from deciban.plots.densities import densities
from deciban.plots.dependence import dependence
from deciban.plots.digits import digits
from deciban.plots.evidence import evidence, telltales
from deciban.plots.heat_map import confusion
from deciban.plots.learning import comparison, learning
from deciban.plots.nomogram import nomogram
from deciban.plots.report_curves import reliability, roc
from deciban.plots.theory_pictures import bayes, losses, sigmoid

__all__ = [
    "bayes", "boundary", "comparison", "confusion", "densities", "dependence", "digits", "evidence", "learning",
    "losses", "nomogram", "reliability", "roc", "sigmoid", "telltales",
]  # fmt: skip
