"""Settings of every test, doctests among them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

OPTIONAL_FOLDERS = {"pyspark": ("src/deciban/spark", "tests/spark"), "triton": ("src/deciban/gpu", "tests/gpu")}
"""Folders whose modules cannot be imported, not even for their doctests, without a library."""

collect_ignore = [folder for name, folders in OPTIONAL_FOLDERS.items() if not find_spec(name) for folder in folders]

# Threads of matrix products spin for a while when they have nothing to do, on cores that other tests need; with this,
# which must be there before NumPy is, they sleep at once. How many there are does not change.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

if find_spec("torch") and find_spec("triton"):
    import torch

    # Without a GPU, Triton's interpreter runs the kernels. Triton and deciban read this when they are imported, by
    # whichever test is collected first.
    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close what a test drew: twenty open figures bring a warning, in whichever test comes next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
