"""The mail store: token counts of a mailbox in one SQLite file."""
