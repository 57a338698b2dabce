"""Tables of named columns: any file or frame, streamed as Arrow batches, and turned into matrices.

pyarrow and DuckDB are imported by the files that use them, when they are used.
"""
