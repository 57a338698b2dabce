"""AFTER THE SCORE: how good the answers are."""

from deciban.judge.metrics import BINS, Scorecard
from deciban.judge.report import Report
from deciban.judge.rows import score_rows

__all__ = ["BINS", "Report", "Scorecard", "score_rows"]
