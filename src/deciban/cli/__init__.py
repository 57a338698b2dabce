"""The command line: results go to stdout, messages to stderr.

Heavy libraries are imported inside the commands, so that `--help` and `--version` answer at once.
"""
