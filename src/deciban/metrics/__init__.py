"""AFTER THE SCORE: how good the answers are."""

from deciban.metrics.ranking import Ranks
from deciban.metrics.report import Report
from deciban.metrics.score_rows import score_rows
from deciban.metrics.scorecard import BINS, Scorecard, report_of

__all__ = ["BINS", "Ranks", "Report", "Scorecard", "report_of", "score_rows"]
