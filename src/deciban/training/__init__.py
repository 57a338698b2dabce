"""Training: from a table to a model and its evaluation; every "auto" is decided here."""
