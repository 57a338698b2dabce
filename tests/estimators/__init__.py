"""The scikit-learn estimators: conformance, agreement, algebra, explanations and bad input."""
