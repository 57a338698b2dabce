"""Probabilities in writing."""

from __future__ import annotations


def probability(p: float, can_be_doubted: bool = True) -> str:
    """Four digits; nearly certain is not certain, even where no number tells the two apart."""
    return "over 0.9999" if 0.9999 < p < 1 or (p == 1 and can_be_doubted) else f"{p:.4f}"
