"""AFTER THE SCORE: how good the answers are, and exact cross-validation by subtracting ledgers."""

from deciban.judge.folds import score_folds, score_rows, without_each
from deciban.judge.metrics import BINS, Scorecard
from deciban.judge.report import Report

__all__ = ["BINS", "Report", "Scorecard", "score_folds", "score_rows", "without_each"]
