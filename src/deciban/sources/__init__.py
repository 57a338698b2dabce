"""Tables of named columns: any file or frame, read as a stream of Arrow batches.

pyarrow and DuckDB are imported when they are first used.
"""
