"""The command line: stdout is data, stderr is talk.

Heavy libraries are imported inside the commands, so that `--help` and `--version` answer at once.
"""
