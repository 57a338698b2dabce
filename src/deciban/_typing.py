"""Types of arrays that every package uses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""An array of floating-point numbers."""

Codes = NDArray[np.int32]
"""The class of each row, as an index into the classes."""
