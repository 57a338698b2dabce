"""The driver of the tests on a cluster: python cluster_driver.py MASTER PATH MODEL MARK [EXECUTOR_PATH]

It trains a model on the rows of a Parquet file, one partition for each row group; each takes a while, and the first
ones write a file MARK, so that a worker can be killed meanwhile.
"""

import sys
import time

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import deciban
from deciban.errors import InputError


def main(master, path, model, mark, executor_path=""):
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.executor.memory", "512m").config("spark.driver.host", "localhost")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "OFF")
    if executor_path:
        builder = builder.config("spark.executorEnv.PYTHONPATH", executor_path)
    spark = builder.getOrCreate()
    n, schema = pq.ParquetFile(path).num_row_groups, spark.read.parquet(path).schema

    def rows(batches):
        for batch in batches:
            for group in batch.column(0).to_pylist():
                open(mark, "w").close()
                time.sleep(0.4)
                yield from pq.ParquetFile(path).read_row_group(group).to_batches()

    frame = spark.range(0, n, 1, n).mapInArrow(rows, schema)
    try:
        deciban.train(frame, target="diagnosis").save(model)
        deciban.train(path, target="diagnosis", spark=spark).save(f"{model}.by-path")
    except InputError as error:
        print(error)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
