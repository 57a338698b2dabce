"""Atomic writing: whatever happens while a file is written, the old one stays until the new one is complete."""

import errno
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from deciban import persistence
from deciban.atomic_write import atomic_write
from deciban.errors import ModelFileError

OLD = {"a": np.arange(10.0)}


@pytest.fixture
def path(tmp_path):
    persistence.write(tmp_path / "m.deciban", {"old": True}, OLD)
    return tmp_path / "m.deciban"


def old_and_alone(path):
    contents = persistence.read(path)
    assert contents.header == {"old": True}
    assert np.array_equal(contents.arrays["a"], OLD["a"])
    return [p.name for p in path.parent.iterdir()] == ["m.deciban"]


def test_a_full_disk_leaves_the_old_file_whole_and_nothing_else(path):
    script = """
import resource, sys, numpy as np
from deciban import persistence
from deciban.errors import ModelFileError
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    persistence.write(sys.argv[1], {}, {"a": np.zeros(100_000)})
except ModelFileError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert "cannot write the model file" in done.stdout
    assert "File too large" in done.stdout
    assert "Nothing was changed" in done.stdout
    assert old_and_alone(path)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_fails_late_leaves_the_old_file_whole(path, monkeypatch, call):
    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ModelFileError, match="No space left on device"):
        persistence.write(path, {}, {"a": np.zeros(5)})
    monkeypatch.undo()
    assert old_and_alone(path)


def test_an_interruption_leaves_the_old_file_whole(path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        persistence.write(path, {}, {"a": np.zeros(5)})
    monkeypatch.undo()
    assert old_and_alone(path)


def test_the_folder_is_synchronised_after_the_file_has_its_name(path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda f: (done.append(os.path.isdir(f"/proc/self/fd/{f}")), fsync(f)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("named"), replace(a, b)))
    persistence.write(path, {}, {})
    assert done == [False, "named", True]


def test_being_killed_at_any_moment_leaves_a_whole_file(path):
    script = """
import sys, numpy as np
from deciban import persistence
print("ready", flush=True)
while True:
    persistence.write(sys.argv[1], {"old": True}, {"a": np.arange(10.0), "b": np.ones(500_000)})
"""
    for wait in np.linspace(0.0, 0.05, 8):
        writer = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        old_and_alone(path)


def test_the_mode_is_that_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        persistence.write(tmp_path / "m", {}, {})
        (tmp_path / "any").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_a_link_goes_on_pointing_to_the_file(tmp_path, path):
    (tmp_path / "link").symlink_to(path)
    persistence.write(tmp_path / "link", {"new": True}, {})
    assert (tmp_path / "link").is_symlink()
    assert persistence.read(path).header == {"new": True}


def test_what_is_no_ordinary_file_is_never_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("folder", "it is a folder"), ("pipe", "not an ordinary file"), ("not/there", "No such file")):
        with pytest.raises(ModelFileError, match=why):
            persistence.write(tmp_path / name, {}, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "pipe"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_protected_file_is_not_replaced(path):
    path.chmod(0o444)
    with pytest.raises(ModelFileError, match="no permission"):
        persistence.write(path, {}, {})
    assert old_and_alone(path)


def test_a_long_name_is_no_trouble(tmp_path):
    name = "ü" * 120 + ".deciban"
    persistence.write(tmp_path / name, {}, {})
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_several_files_get_their_names_when_all_are_complete(tmp_path):
    with atomic_write(tmp_path / "a") as a, atomic_write(tmp_path / "b") as b:
        a.write_text("a")
        b.write_text("b")
        assert not (tmp_path / "a").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
