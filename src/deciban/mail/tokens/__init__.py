"""From a message to the tokens that a filter counts."""
