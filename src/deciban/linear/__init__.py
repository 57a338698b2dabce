"""Score forms fitted to rows: logistic regression, evidence regression, and boosting."""
