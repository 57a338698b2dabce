"""Databases that tests of exports share: a server of PostgreSQL, and a session of Spark."""

import os
import shutil
import sys

import pytest

from tests.postgres import postgres  # noqa: F401


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: make spark installs it")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[1]").appName("deciban")
    for name, value in {"ui.enabled": "false", "sql.session.timeZone": "UTC", "driver.host": "localhost"}.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))).getOrCreate()
    yield session
    session.stop()
