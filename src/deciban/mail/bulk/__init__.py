"""Many messages at once: reader processes, batches of tokens, and scores of batches."""
