"""How good the answers are, and cross-validation by subtraction."""
