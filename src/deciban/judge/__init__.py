"""AFTER THE SCORE: how good the answers are."""

from deciban.judge.metrics import BINS, Scorecard, report_of
from deciban.judge.ranking import Ranks
from deciban.judge.report import Report
from deciban.judge.rows import score_rows

__all__ = ["BINS", "Ranks", "Report", "Scorecard", "report_of", "score_rows"]
