"""How many messages there must be before anything is fitted, or any verdict is sure."""

from __future__ import annotations

from typing import Final

MIN_MESSAGES_TO_FIT: Final = 20
"""So many messages must be there for trusts to be fitted."""

MIN_MESSAGES_PER_LABEL: Final = 5
"""And so many of every label, also for a verdict."""
