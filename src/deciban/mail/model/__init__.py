"""From the tokens of a message to a verdict: mail models, the fitting of their weights, the choice of thresholds."""
