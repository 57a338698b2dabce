"""A session of Spark with small settings, shared by the tests of this folder; they are skipped without pyspark."""

import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """A session takes a while to start: these tests run if the folder is named, or with the thorough ones."""
    if any("spark" in argument for argument in config.args):
        return
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.thorough(reason="starts Spark"))


SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.host": "localhost",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
}


@pytest.fixture(scope="session")
def needs_spark():
    pytest.importorskip("pyspark", reason="pyspark is not installed: make spark installs it")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17")


@pytest.fixture(scope="session")
def spark(needs_spark, tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.filterwarnings("ignore", message="PySpark does not yet", category=FutureWarning)
    builder = SparkSession.builder.master("local[2]").appName("deciban")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = builder.getOrCreate()
    yield session
    session.stop()
