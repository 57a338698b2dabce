"""The wheel is pure Python: nothing is compiled, and one file serves every platform."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import deciban
from tests.fresh_environment import make_environment, make_path_without_compilers, run

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


@pytest.mark.thorough(reason="makes an environment and installs into it")
def test_a_wheel_made_by_build_installs_without_a_compiler_and_passes_the_demo(tmp_path):
    programs = make_path_without_compilers(tmp_path / "programs")
    builder = make_environment(tmp_path / "builder", programs)
    run("python", "-m", "pip", "install", "build", env=builder, cwd=tmp_path)
    run("python", "-m", "build", "--outdir", tmp_path / "dist", ROOT, env=builder, cwd=tmp_path)
    release = f"deciban-{deciban.__version__}"
    wheel, source = tmp_path / "dist" / f"{release}-py3-none-any.whl", tmp_path / "dist" / f"{release}.tar.gz"
    assert sorted((tmp_path / "dist").iterdir()) == sorted([wheel, source])
    with tarfile.open(source) as archive:
        names = archive.getnames()
    assert {f"{release}/{name}" for name in ("LICENSE", "README.md", "pyproject.toml", "tests/oracle.py")} <= set(
        names
    )
    assert not [name for name in names if "/.venv" in name or "/.git/" in name or name.endswith(".pyc")]

    user = make_environment(tmp_path / "user", programs)
    assert not any(shutil.which(name, path=user["PATH"]) for name in ("cc", "gcc", "c++", "clang", "ld"))
    run("python", "-m", "pip", "install", "--only-binary", ":all:", wheel, env=user, cwd=tmp_path)
    assert run("deciban", "-V", env=user, cwd=tmp_path) == f"deciban {deciban.__version__}\n"
    assert run("python", "-m", "deciban", "--version", env=user, cwd=tmp_path) == f"deciban {deciban.__version__}\n"
    shown = run("deciban", "demo", "--folder", tmp_path / "demo", env=user, cwd=tmp_path)
    assert "Forgetting" in shown
    assert list((tmp_path / "demo").iterdir())
