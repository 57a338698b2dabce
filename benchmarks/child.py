"""Measurements in a fresh Python process, whose last line of output is the result as JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from .data import ROOT


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """Run `python ARGUMENTS` in the root of the repository; return its last line of output, parsed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"a measurement failed: python {' '.join(arguments)[:200]}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
