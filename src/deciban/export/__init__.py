"""Models that run elsewhere: SQL, ONNX, JSON and JavaScript, all written from one portable document of a model.

`portable.py` makes the document from a table model; `portable_reader.py` reads it back as a model. The writers
(`sql.py`, `onnx_graph.py`, `javascript.py`) read the document alone. It is described in docs/export-json.md.
"""

from deciban.export.targets import TARGETS, export_model

__all__ = ["TARGETS", "export_model"]
