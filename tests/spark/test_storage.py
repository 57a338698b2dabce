"""Files of a storage service: a server of S3's protocol on this machine, read by the executors as files are."""

import os
import socket
import subprocess
import sys
import time
import urllib.request

import pyarrow.parquet as pq
import pytest

import deciban
from tests.spark.compare import assert_same_ledger
from tests.spark.test_frames import mixed
from tests.tables import clinic

START_SECONDS = 60
TARGET = ("--target", "diagnosis")


@pytest.fixture
def storage(needs_spark, monkeypatch, tmp_path):
    """The file system of an empty storage service; its address and keys are in the environment."""
    pytest.importorskip("moto.server", reason="moto is not installed: make spark installs it")
    from pyarrow import fs

    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port = opened.getsockname()[1]
    settings = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    for name, value in (settings | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}).items():
        monkeypatch.setenv(name, value)
    with open(tmp_path / "server.log", "wb") as log:
        server = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    try:
        wait_for(f"http://127.0.0.1:{port}/moto-api/data.json")
        yield fs.S3FileSystem(endpoint_override=f"127.0.0.1:{port}", scheme="http", allow_bucket_creation=True)
    finally:
        server.kill()
        server.wait()


def wait_for(address):
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address).close()
            return
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)


def run(*words):
    command = [sys.executable, "-m", "deciban", *map(str, words)]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def fill(storage, path):
    """Create a bucket with the table as two Parquet files in folders, and as CSV."""
    table = mixed()
    storage.create_dir("clinic")
    for i in range(2):
        part = table.slice(i * 1500, 1500)
        pq.write_table(part, f"clinic/year/part-{i}.parquet", row_group_size=400, filesystem=storage)
    clinic.csv(table, path)
    with storage.open_output_stream("clinic/rows.csv") as out:
        out.write(path.read_bytes())
    return table


def test_files_of_a_storage_service_are_read_as_local_ones(storage, tmp_path):
    table = fill(storage, tmp_path / "rows.csv")
    expected = {"s3://clinic/year/*.parquet": deciban.train(table, target="diagnosis")}
    expected["s3://clinic/rows.csv"] = deciban.train(str(tmp_path / "rows.csv"), target="diagnosis")
    for i, (path, local) in enumerate(expected.items()):
        done = run("train", path, *TARGET, "--spark", "local[2]", "-o", tmp_path / f"{i}.deciban")
        assert done.returncode == 0, done.stderr
        assert_same_ledger(deciban.load(tmp_path / f"{i}.deciban").ledger, local.ledger)


def test_a_missing_file_of_a_storage_service_is_named(storage, tmp_path):
    storage.create_dir("clinic")
    for path in ("s3://clinic/none*.parquet", "s3://nowhere/rows.csv"):
        done = run("train", path, *TARGET, "--spark", "local[1]", "-o", tmp_path / "m.deciban")
        assert done.returncode == 1, (path, done.stderr)
        assert path in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "m.deciban").exists()
