"""Pictures of what a model has learned (extra: `plot`).

surface.py   the closed-form score over one or two columns
geometry.py  where two scores are equal: line, conic, thresholds
equation.py  the same, in words
view.py      the rows and columns that are shown, and how far the axes reach
style.py     colours, markers and line styles that survive grey print and colour blindness
plane.py     two columns; axis.py one column; boundary.py the way in
telltales.py the words that tell classes apart
"""

from deciban.plots.boundary import boundary
from deciban.plots.telltales import telltales

__all__ = ["boundary", "telltales"]
