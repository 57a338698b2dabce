"""Score forms, posterior and explanation, against exact and independent values."""
