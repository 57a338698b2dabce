"""Dependence: how far features violate the naive assumption, and what to do about it."""

from deciban.judge.dependence.coding import Feature
from deciban.judge.dependence.dependence import HEAD, Advice, Dependence, Pair
from deciban.judge.dependence.measured import Sample

__all__ = ["HEAD", "Advice", "Dependence", "Feature", "Pair", "Sample"]
