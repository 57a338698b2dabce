"""Fresh environments: Python without packages, no compiler on the path, packages from an index."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = re.compile(
    r"(.*-)?(cc|c\+\+|c99|c89|gcc|g\+\+|clang|clang\+\+|ld|as|cpp|make|cmake|ninja|cargo|rustc|f77|gfortran)(-.*|\.\w+)?"
)
NO_INDEX = re.compile(r"No matching distribution found|Could not find a version|Temporary failure in name resolution")


def make_path_without_compilers(folder):
    """A folder of links to the programs of the system, except those that compile."""
    folder.mkdir()
    for place in ("/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if not COMPILER.fullmatch(program.name) and not link.is_symlink():
                link.symlink_to(program)
    return folder


def make_environment(folder, programs):
    """A virtual environment without packages; the variables of the processes that run in it."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": f"{folder / 'bin'}:{programs}", "HOME": str(folder)}


def run(*command, env, cwd):
    """Run a command of a fresh environment; the test is skipped where packages cannot be had."""
    done = subprocess.run([*map(str, command)], env=env, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode and NO_INDEX.search(done.stderr):
        pytest.skip(f"no index of packages: {NO_INDEX.search(done.stderr)[0]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
