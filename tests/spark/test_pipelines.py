"""`DecibanClassifier` among the estimators of pyspark.ml, and streams that are learned batch by batch."""

import numpy as np
import pyarrow as pa
import pytest

import deciban
from tests.spark.compare import assert_same_ledger, in_partitions
from tests.spark.test_frames import ROLES, mixed

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")


def numbers(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return pa.table({f"x{j}": rng.normal(y * (j + 1) / 3, 1.0) for j in range(3)} | {"label": y.astype(float)})


def test_a_pipeline_with_a_vector_column_is_fitted_written_and_read(spark, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler

    from deciban.spark import DecibanClassifier

    table = numbers()
    frame = in_partitions(spark, table, 2)
    stages = [
        VectorAssembler(inputCols=["x0", "x1", "x2"], outputCol="features"),
        DecibanClassifier(numbers="number", calibrate="none"),
    ]
    fitted = Pipeline(stages=stages).fit(frame)
    answers = fitted.transform(frame)
    assert answers.columns == [*table.column_names, "features", "rawPrediction", "probability", "prediction"]
    local = deciban.train(table, target="label", numbers="number", calibrate="none")
    expected = np.column_stack([local.predict_proba(table).column(i) for i in range(3)])
    found = np.array([row.probability.toArray() for row in answers.collect()])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    accuracy = MulticlassClassificationEvaluator(metricName="accuracy").evaluate(answers)
    assert accuracy == np.mean(np.array(local.predict(table)) == np.array(table.column("label")))
    fitted.write().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline")).transform(frame)
    assert [row.prediction for row in again.collect()] == [row.prediction for row in answers.collect()]
    assert again.schema == answers.schema


def test_a_missing_vector_has_missing_features_and_one_of_another_length_is_an_error(spark):
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql.types import DoubleType, StructType

    from deciban.spark import DecibanClassifier

    schema = StructType().add("features", VectorUDT()).add("label", DoubleType())
    rows = [(None if i < 2 else Vectors.dense([0.1 * i, i % 3]), float(i % 2)) for i in range(40)]
    model = DecibanClassifier(numbers="number").fit(spark.createDataFrame(rows, schema))
    assert model.transform(spark.createDataFrame(rows, schema)).first().probability.toArray() == pytest.approx(
        [0.5] * 2
    )
    for values in ([0.5, 1.0, 2.0], [0.5]):
        other = spark.createDataFrame([(Vectors.dense(values), 0.0)], schema)
        with pytest.raises(Exception, match="'features' has a vector that is not of 2 elements"):
            model.transform(other).collect()


def test_the_raw_prediction_of_a_class_whose_probability_underflows_is_minus_infinity(spark):
    from deciban.spark import DecibanClassifier

    x, names = [0.0, 1.0, 2.0, 4e4, 4e4 + 1.0, 4e4 + 2.0], [f"x{j}" for j in range(80)]
    table = pa.table(dict.fromkeys(names, x) | {"label": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]})
    frame = in_partitions(spark, table, 1)
    classifier = DecibanClassifier(inputCols=names, roles=dict.fromkeys(names, "number"), calibrate="none")
    raw = np.array([row.rawPrediction.toArray() for row in classifier.fit(frame).transform(frame).collect()])
    assert np.isneginf(raw).any()
    assert (np.argmax(raw, axis=1) == np.array(table.column("label"))).all()


def test_the_best_of_several_settings_is_found_by_cross_validation(spark):
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from deciban.spark import DecibanClassifier

    frame = in_partitions(spark, numbers(), 2)
    classifier = DecibanClassifier(inputCols=["x0", "x1", "x2"])
    grid = ParamGridBuilder().addGrid(classifier.numbers, ["number", "binned"]).build()
    found = CrossValidator(
        estimator=classifier, estimatorParamMaps=grid, evaluator=MulticlassClassificationEvaluator(), numFolds=2
    ).fit(frame)
    assert len(found.avgMetrics) == 2
    assert found.bestModel.model.ledger.n_rows == 400
    assert found.bestModel.copy().transform(frame).count() == 400


def test_columns_of_every_role_and_labels_that_are_texts(spark, tmp_path):
    from deciban.spark import DecibanClassificationModel, DecibanClassifier

    table = mixed(500)
    names = [name for name in table.column_names if name not in ("diagnosis", "patient", "w")]
    classifier = DecibanClassifier(
        inputCols=names, labelCol="diagnosis", weightCol="w", roles=ROLES | {"ward": "skip"}
    )
    classifier.write().save(str(tmp_path / "classifier"))
    classifier = DecibanClassifier.read().load(str(tmp_path / "classifier"))
    model = classifier.fit(in_partitions(spark, table, 2))
    local = deciban.train(table, target="diagnosis", weights="w", roles=ROLES | {"patient": "skip", "ward": "skip"})
    assert_same_ledger(model.model.ledger, local.ledger)
    model.write().overwrite().save(str(tmp_path / "model"))
    model = DecibanClassificationModel.load(str(tmp_path / "model"))
    answers = model.transform(in_partitions(spark, table, 2)).collect()
    assert [row.prediction for row in answers] == local.predict(table).to_pylist()


def test_a_stream_learned_batch_by_batch_is_the_table_learned_at_once(spark, tmp_path):
    """The recipe of docs/guides/spark.md: the first batch is trained, every other one added."""
    import pyarrow.parquet as pq

    table, roles, learned = mixed(900), ROLES | {"w": "skip"}, []
    (tmp_path / "arriving").mkdir()
    for i in range(3):
        pq.write_table(table.slice(i * 300, 300), tmp_path / "arriving" / f"{i}.parquet")

    def learn(batch, number):
        if learned:
            learned[0].add(batch)
        else:
            learned.append(deciban.train(batch, target="diagnosis", roles=roles, judge=False))

    schema = spark.read.parquet(str(tmp_path / "arriving")).schema
    arriving = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "arriving"))
    query = arriving.writeStream.foreachBatch(learn).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    whole = deciban.train(table, target="diagnosis", roles=roles, judge=False)
    assert_same_ledger(learned[0].ledger, whole.ledger)
