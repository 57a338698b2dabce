"""From the tokens of a message to a verdict: token weights, mail models, their fitting, a caching filter."""
