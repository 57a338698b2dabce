"""Modules of docs/, which is no package."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def import_from_docs(name):
    """Import a module of the folder docs."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    return importlib.import_module(name)
