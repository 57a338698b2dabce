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
    examples = {f"deciban/cli/examples/{name}" for name in ("patients.csv", "new-patients.csv", "mailbox.tar.xz")}
    assert {"deciban/py.typed", *examples} <= set(names)
    assert not [name for name in names if name.endswith((".so", ".pyd", ".c", ".pyx"))]
