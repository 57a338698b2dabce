"""Tables of databases as sources: addresses, connections, and rows streamed as Arrow batches."""
