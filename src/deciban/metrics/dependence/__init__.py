"""Dependence: how far features violate the naive assumption, and what to do about it."""

from deciban.metrics.dependence.dependence import HEAD, Advice, Dependence, Pair
from deciban.metrics.dependence.mutual_information import Feature
from deciban.metrics.dependence.pair_dependence import Sample

__all__ = ["HEAD", "Advice", "Dependence", "Feature", "Pair", "Sample"]
