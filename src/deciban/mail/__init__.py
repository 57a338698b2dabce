"""THE MAIL ROOM: messages are read, become tokens, are learned, and judged."""
