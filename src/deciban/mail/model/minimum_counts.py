"""How many messages there must be before anything is fitted, or any verdict is sure."""

from __future__ import annotations

from typing import Final

FEWEST: Final = 20
"""So many messages must be there for trusts to be fitted."""

OF_EACH: Final = 5
"""And so many of every label, also for a verdict."""
