"""The wheel is pure Python: nothing is compiled, and one file serves every platform."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_wheel_is_pure_python(tmp_path):
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True)
    (wheel,) = tmp_path.iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"deciban/py.typed", "deciban/cli/examples/patients.csv", "deciban/cli/examples/new-patients.csv"} <= set(
        names
    )
    assert "deciban/cli/examples/mailbox/phrases/english.txt" in names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".c", ".pyx"))]
