"""Model files: one safetensors file with a JSON header, written atomically, read without trust.

`write` and `read` know arrays and JSON, and nothing of models; a `Section` is the part of a file that one object
is written to and read from, checked name by name. The format is described in docs/model-files.md.
"""

from deciban.persistence.container import Contents, read, write
from deciban.persistence.section import Section

__all__ = ["Contents", "Section", "read", "write"]
