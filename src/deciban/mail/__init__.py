"""The mail filter: messages are parsed, turned into tokens, learned and classified."""
