"""Pictures show what they say, and can be read."""
