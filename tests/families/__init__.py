"""Families against the exact oracle, NumPy and scikit-learn."""
