"""How good a mail filter is: splits, online evaluation, thresholds and metrics."""
