"""The scikit-learn facades: conformance, agreement, algebra, explanations and bad input."""
