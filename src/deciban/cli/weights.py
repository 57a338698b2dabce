"""Evidence and probabilities in writing."""

from __future__ import annotations

import math


def probability(p: float, open_to_doubt: bool = True) -> str:
    """Four digits; nearly certain is not certain, even where no number tells the two apart."""
    return "over 0.9999" if 0.9999 < p < 1 or (p == 1 and open_to_doubt) else f"{p:.4f}"


def decibans(value: float) -> str:
    """Evidence with its sign."""
    if math.isnan(value):
        return "undefined   "
    if math.isinf(value):
        return f"{'+∞' if value > 0 else '−∞':>9} dB"
    return f"{value:>+9.2f} dB"


def odds(total: float) -> str:
    """Decibans as people bet."""
    if math.isnan(total):
        return "impossible under both"
    if abs(total) > 60:
        return "over a million to 1" + ("" if total > 0 else " against")
    return f"{10 ** (abs(total) / 10):.3g} to 1" + ("" if total >= 0 else " against")
