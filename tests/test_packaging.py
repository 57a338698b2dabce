"""What is compiled on the way into a wheel, and what becomes of it where nothing can be."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from sysconfig import get_config_var, get_path

import pytest

ROOT = Path(__file__).parents[1]
NATIVE = Path("deciban/mail/native")
COMPILED = str(NATIVE / f"small{get_config_var('EXT_SUFFIX')}")
SOURCE = "def byte(bytes data, Py_ssize_t i):\n    return data[i]\n"
EDITABLE = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"

can_compile = bool(shutil.which((get_config_var("CC") or "cl").split()[0])) and (
    os.name != "posix" or Path(get_path("include"), "Python.h").exists()
)
needs_a_compiler = pytest.mark.skipif(not can_compile, reason="no C compiler, or no headers of Python")


@pytest.fixture
def project(tmp_path):
    """The project, but for what it holds: one small module that is to be compiled."""
    for name in ("hatchling", "Cython", "setuptools"):
        pytest.importorskip(name)
    native = tmp_path / "project" / "src" / NATIVE
    native.mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path / "project")
    for folder in (native, native.parent, native.parents[1]):
        (folder / "__init__.py").touch()
    (native / "small.pyx").write_text(SOURCE)
    return tmp_path / "project"


def run(project, *arguments, **environment):
    """A process in the project; the variable that decides comes from here alone."""
    known = {name: value for name, value in os.environ.items() if name not in {"DECIBAN_COMPILE", "CC"}}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=project, env=known | environment, capture_output=True, text=True, check=False)


def build(project, target, **environment):
    """A wheel or an sdist: its file, what it holds, and what was said."""
    done = run(project, "-m", "hatchling", "build", "-t", target, "-d", "dist", **environment)
    assert done.returncode == 0, done.stderr
    (file,) = (project / "dist").iterdir()
    if target == "wheel":
        return file.name, set(zipfile.ZipFile(file).namelist()), done.stderr
    with tarfile.open(file) as archive:
        return file.name, {name.partition("/")[2] for name in archive.getnames()}, done.stderr


def install_editable(project, **environment):
    done = run(project, "-c", EDITABLE, str(project.parent), **environment)
    assert done.returncode == 0, done.stderr


@needs_a_compiler
def test_a_wheel_has_the_compiled_modules_and_is_for_this_platform(project):
    file, names, _ = build(project, "wheel", DECIBAN_COMPILE="must")
    assert COMPILED in names
    assert not file.endswith("-none-any.whl")
    assert not [name for name in names if name.endswith((".c", ".o"))]
    assert not (project / "build").exists()
    assert not (project / "src" / COMPILED).exists()


def test_nothing_is_compiled_where_that_is_not_wanted(project):
    (project / "src" / COMPILED).write_bytes(b"of an earlier installation")
    file, names, said = build(project, "wheel", DECIBAN_COMPILE="no", CC="false")
    assert file.endswith("-py3-none-any.whl")
    assert COMPILED not in names
    assert str(NATIVE / "__init__.py") in names
    assert "not compiled" not in said


@pytest.mark.parametrize("broken", ["false", "no-such-compiler"])
def test_without_a_compiler_the_wheel_is_pure_and_that_is_said(project, broken):
    file, names, said = build(project, "wheel", CC=broken)
    assert file.endswith("-py3-none-any.whl")
    assert COMPILED not in names
    (line,) = [line for line in said.splitlines() if "not compiled" in line]
    assert broken in line


def test_source_that_does_not_compile_is_no_reason_to_fail(project):
    (project / "src" / NATIVE / "small.pyx").write_text("cdef int f(:\n")
    file, _, said = build(project, "wheel")
    assert file.endswith("-py3-none-any.whl")
    assert "not compiled" in said


@pytest.mark.parametrize("wish", ["must", "perhaps"])
def test_a_build_fails_where_compiling_must_be_and_cannot_or_the_wish_is_unknown(project, wish):
    done = run(project, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist", DECIBAN_COMPILE=wish, CC="false")
    assert done.returncode
    assert not (project / "dist").exists() or not list((project / "dist").iterdir())


def test_an_sdist_has_the_sources_alone(project):
    (project / "src" / COMPILED).write_bytes(b"of an earlier installation")
    _, names, _ = build(project, "sdist")
    assert {f"src/{NATIVE}/small.pyx", "hatch_build.py"} <= names
    assert f"src/{COMPILED}" not in names


@needs_a_compiler
def test_an_editable_installation_compiles_beside_the_sources_what_is_newer(project):
    source, compiled = project / "src" / NATIVE / "small.pyx", project / "src" / COMPILED
    install_editable(project)
    first = compiled.stat().st_mtime_ns
    assert {path.name for path in compiled.parent.iterdir()} == {"__init__.py", "small.pyx", compiled.name}
    install_editable(project, CC="false")  # which is not called
    assert compiled.stat().st_mtime_ns == first
    source.write_text(f"{SOURCE}\nanswer = 42\n")
    install_editable(project)
    done = run(project / "src", "-c", "from deciban.mail.native.small import *; print(answer); byte(b'abc', 3)")
    assert done.stdout == "42\n"
    assert "IndexError" in done.stderr


def test_what_was_compiled_of_other_sources_does_not_stay(project):
    compiled = project / "src" / COMPILED
    compiled.write_bytes(b"of an earlier installation")
    os.utime(compiled, (0, 0))
    install_editable(project, CC="false")
    assert not compiled.exists()


@needs_a_compiler
@pytest.mark.skipif(os.environ.get("DECIBAN_COMPILE") == "no", reason="DECIBAN_COMPILE=no")
def test_what_can_be_compiled_is_compiled_here():
    names = {path.stem for path in (ROOT / "src" / NATIVE).glob("*.pyx")}
    compiled = {name for name in names if importlib.util.find_spec(f"deciban.mail.native.{name}")}
    assert compiled == names, "Hint: make .venv/ready"
