"""The metrics of several workers that share a folder."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed (extra: serve)")

from deciban.server.metrics import FOLDER_VARIABLE, remove_dead_workers


def test_gauges_of_dead_workers_alone_are_removed(tmp_path, monkeypatch):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, alive = (tmp_path / f"gauge_livesum_{pid}.db" for pid in (ended.pid, os.getpid()))
    for path in (dead, alive):
        path.write_bytes(b"")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    remove_dead_workers()
    assert not dead.exists()
    assert alive.exists()
