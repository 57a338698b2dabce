"""Many messages at once: reader processes, and batches of tokens in the order of the messages."""
