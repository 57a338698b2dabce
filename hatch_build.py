"""Compiles `deciban.mail.native` as deciban is installed; where that cannot be done, it is installed without.

DECIBAN_COMPILE=no does not try, DECIBAN_COMPILE=must fails where it cannot.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path
from sysconfig import get_config_var
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path("src")
NATIVE = Path("deciban/mail/native")
ENDING = get_config_var("EXT_SUFFIX")
FLAGS = ["-O2", "-g0"] if os.name == "posix" else []
DIRECTIVES = {"language_level": 3, "boundscheck": True, "wraparound": False, "cdivision": True}
DIRECTIVES |= {"auto_pickle": False, "binding": False}  # two fifths less to compile: pickling and signatures
WITHOUT = "deciban: the mail reader is not compiled ({why}). It reads the same in Python, more slowly."


class CustomBuildHook(BuildHookInterface[Any]):
    """Puts compiled modules into a wheel, which then is one for this platform, or beside the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the files of a wheel are gathered."""
        with chdir(self.root):
            if version == "editable":
                _leave_only(self._compiled(SOURCES, Path("build")))
                return
            self._scratch = TemporaryDirectory(prefix="deciban-")
            folder = Path(self._scratch.name)
            if compiled := self._compiled(folder, folder):
                build_data["force_include"] |= {str(path): (NATIVE / path.name).as_posix() for path in compiled}
                build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """After the wheel is written."""
        if version != "editable":
            self._scratch.cleanup()

    def _compiled(self, to: Path, scratch: Path) -> list[Path]:
        """Compiled modules, in a tree of packages: all of them, or none."""
        wish = os.environ.get("DECIBAN_COMPILE", "")
        if wish not in {"", "no", "must"}:
            raise ValueError(f"DECIBAN_COMPILE is {wish!r}. Hint: it can be no or must, or not be set")
        if wish == "no":
            return []
        try:
            return _compile(to, scratch)
        except (Exception, SystemExit) as error:  # whatever a compiler, or what calls it, has to say
            if wish == "must":
                raise
            self.app.display_warning(WITHOUT.format(why=" ".join(str(error).split()) or type(error).__name__))
            return []


def _compile(to: Path, scratch: Path) -> list[Path]:
    """Compile what is newer than what came of it."""
    hook, folder = Path("hatch_build.py"), SOURCES / NATIVE
    names = sorted(path.stem for path in folder.glob("*.pyx"))
    built = [to / NATIVE / f"{name}{ENDING}" for name in names]
    sources = [hook, *folder.glob("*.pyx"), *folder.glob("*.pxd")]
    if any(_older(path, source) for path in built for source in sources):
        _build(names, to, scratch, force=any(_older(path, hook) for path in built))
        for path in built:
            path.touch()  # those that were left as they are, too: they are of these sources
    return built


def _older(path: Path, source: Path) -> bool:
    return not path.exists() or path.stat().st_mtime < source.stat().st_mtime


def _build(names: list[str], to: Path, scratch: Path, force: bool) -> None:
    import setuptools  # before Cython, which takes the tools of Python itself else, where it has any
    from Cython.Build import cythonize

    files = {name: str(SOURCES / NATIVE / f"{name}.pyx") for name in names}
    package = ".".join(NATIVE.parts)
    modules = [setuptools.Extension(f"{package}.{name}", [files[name]], extra_compile_args=FLAGS) for name in names]
    options = {"build_dir": str(scratch / "c"), "compiler_directives": DIRECTIVES, "include_path": [str(SOURCES)]}
    written = cythonize(modules, force=force, quiet=True, **options)
    command = setuptools.Distribution({"name": "deciban", "ext_modules": written}).get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(to), str(scratch / "objects")
    command.force, command.parallel = force, os.cpu_count()
    command.ensure_finalized()
    command.run()


def _leave_only(compiled: Iterable[Path]) -> None:
    """No module stays in the sources that was compiled from others."""
    for path in set((SOURCES / NATIVE).glob(f"*{ENDING}")).difference(compiled):
        path.unlink()
