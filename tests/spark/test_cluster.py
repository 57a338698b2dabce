"""A real standalone cluster: a master and two workers of one core, processes of their own on this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import deciban
from tests.spark.compare import assert_same_ledger
from tests.spark.test_frames import mixed

pytestmark = pytest.mark.thorough(reason="starts Spark")
DRIVER = Path(__file__).parent / "cluster_driver.py"
START_SECONDS = 120


def free_port():
    with socket.socket() as opened:
        opened.bind(("localhost", 0))
        return opened.getsockname()[1]


def start(folder, kind, *words):
    """Start a daemon of Spark in a process group of its own."""
    import pyspark

    command = [os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class")]
    command += [f"org.apache.spark.deploy.{kind.lower()}.{kind}", *words]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with open(folder / f"{kind}-{time.monotonic_ns()}.log", "wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder, start_new_session=True)


def kill(process):
    """Kill a daemon that these tests have started, with the executors that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_until(condition, seconds=START_SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def cluster(needs_spark, tmp_path):
    port = free_port()
    master = start(tmp_path, "Master", "--host", "localhost", "--port", str(port), "--webui-port", "0")
    url = f"spark://localhost:{port}"

    def is_listening():
        with socket.socket() as opened:
            return opened.connect_ex(("localhost", port)) == 0

    processes = [master]
    try:
        wait_until(is_listening)
        for i in range(2):
            words = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / f"work{i}"), "--webui-port", "0")
            processes.append(start(tmp_path, "Worker", *words, url))
        yield url, processes[1:]
    finally:
        for process in reversed(processes):
            kill(process)


def drive(url, folder, *more):
    words = [sys.executable, "-W", "ignore", str(DRIVER), url, str(folder / "rows.parquet"), str(folder / "model")]
    words += [str(folder / "mark"), *more]
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=root)


def test_a_worker_killed_during_the_pass_changes_nothing(cluster, tmp_path):
    url, workers = cluster
    table = mixed(2400)
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=200)
    driver = drive(url, tmp_path)
    try:
        wait_until((tmp_path / "mark").exists)
        time.sleep(1.0)
        assert not (tmp_path / "model").exists()
        kill(workers[0])
        assert driver.wait(timeout=400) == 0
    finally:
        driver.kill()
    local = deciban.train(table, target="diagnosis")
    for name in ("model", "model.by-path"):
        assert_same_ledger(deciban.load(tmp_path / name).ledger, local.ledger)


@pytest.mark.parametrize("version", ["0.0.9", None])
def test_another_deciban_on_the_executors_is_an_error_that_names_both(cluster, tmp_path, version):
    url, _ = cluster
    pq.write_table(mixed(300), tmp_path / "rows.parquet", row_group_size=200)
    stub = tmp_path / "stub" / "deciban"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text(
        "raise ImportError('broken')" if version is None else f"__version__ = {version!r}"
    )
    driver = drive(url, tmp_path, str(stub.parent))
    output = driver.communicate(timeout=400)[0].decode()
    found = "is not installed" if version is None else f"is version {version}"
    assert f"deciban on the executors {found}" in output
    assert f"on the driver it is version {deciban.__version__}" in output
    assert "PYSPARK_PYTHON" in output
