"""The command line, as its user sees it."""
