"""Metrics: how good posterior probabilities are, as scorecards, reports, curves and comparisons."""

from deciban.metrics.ranking import ScoreSample
from deciban.metrics.report import Report
from deciban.metrics.scorecard import N_CONFIDENCE_BINS, Scorecard, report_of

__all__ = ["N_CONFIDENCE_BINS", "Report", "ScoreSample", "Scorecard", "report_of"]
