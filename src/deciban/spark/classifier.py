"""An estimator of `pyspark.ml`: naive Bayes, or another learner of deciban, for columns or for a vector column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasInputCols,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as sql

from deciban.errors import InputError
from deciban.model.distributed_scores import ScoreTask, score_parts
from deciban.model.model import Model as TableModel
from deciban.persistence.table_models import dump_model, load_model
from deciban.sources.source import open_source
from deciban.training.train import train


class _ClassifierParams(
    HasInputCols, HasFeaturesCol, HasLabelCol, HasWeightCol, HasPredictionCol, HasProbabilityCol, HasRawPredictionCol
):
    """The columns of a classifier: `inputCols` are learned if they are set, else the vector `featuresCol`."""

    def feature_names(self, width: int) -> list[str]:
        """Return the names of the features: `inputCols`, or `features[0]`, `features[1]`, … of a vector column."""
        if self.isSet(self.inputCols):
            return list(self.getInputCols())
        return [f"{self.getFeaturesCol()}[{i}]" for i in range(width)]

    def feature_columns(self, dataset: Any, width: int) -> list[Any]:
        """Return a Spark column for each feature, named as in `feature_names`.

        Spark raises an error for a vector of another length than `width` when it computes the columns; the features
        of a row without a vector are missing.
        """
        names = self.feature_names(width)
        if self.isSet(self.inputCols):
            return [dataset[quote(name)] for name in names]
        vector = dataset[quote(self.getFeaturesCol())]
        values = sql.when(vector.isNotNull(), vector_to_array(vector))  # vector_to_array fails for null
        fault = sql.raise_error(f"column {self.getFeaturesCol()!r} has a vector that is not of {width} elements")
        values = sql.when(sql.size(values) != width, fault.cast("array<double>")).otherwise(values)
        return [values[i].alias(name) for i, name in enumerate(names)]


def quote(name: str) -> str:
    """Quote a column's name in backticks, so that Spark reads dots and backticks in it as part of the name."""
    return "`" + name.replace("`", "``") + "`"


def _to_roles(value: Any) -> dict[str, str]:
    """Convert the param `roles`: a mapping of names to roles; TypeError for anything else."""
    if not isinstance(value, Mapping) or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise TypeError(f"roles is a mapping of columns to roles, not {value!r}")
    return dict(value)


def _to_alpha(value: Any) -> float | str:
    """Convert the param `alpha` to a float; a text is left as it is, for `train` to check."""
    return value if isinstance(value, str) else TypeConverters.toFloat(value)


class DecibanClassifier(Estimator, _ClassifierParams, DefaultParamsReadable, DefaultParamsWritable):
    """Learn to predict a label from columns of any role (`inputCols`), or from a vector column (`featuresCol`).

    The other params are arguments of `deciban.train`: `learner`, `numbers`, `roles`, `alpha` and `calibrate`.
    """

    learner: Any = Param(Params._dummy(), "learner", "the learner: bayes, logistic, …", TypeConverters.toString)
    numbers: Any = Param(Params._dummy(), "numbers", "the role of all numbers", TypeConverters.toString)
    calibrate: Any = Param(Params._dummy(), "calibrate", "how probabilities are corrected", TypeConverters.toString)
    alpha: Any = Param(Params._dummy(), "alpha", "the pseudo-count, or 'auto'", _to_alpha)
    roles: Any = Param(Params._dummy(), "roles", "roles of columns by their names", _to_roles)

    def __init__(
        self,
        *,
        inputCols: Sequence[str] | None = None,
        featuresCol: str = "features",
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        learner: str = "bayes",
        numbers: str | None = None,
        calibrate: str | None = None,
        alpha: float | str = "auto",
        roles: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        self._setDefault(learner="bayes", alpha="auto")
        self._set(**{name: value for name, value in given.items() if value is not None})

    def _fit(self, dataset: Any) -> DecibanClassificationModel:
        """Train a model on features, label and weight of a DataFrame; it has the params of this estimator."""
        width = 0 if self.isSet(self.inputCols) else _read_vector_width(dataset, self.getFeaturesCol())
        label, weight = self.getLabelCol(), self.getWeightCol() if self.isSet(self.weightCol) else None
        others = [dataset[quote(name)] for name in (label, *([weight] if weight else []))]
        names = ("learner", "numbers", "calibrate", "alpha", "roles")
        settings = {name: self.getOrDefault(name) for name in names if self.isDefined(self.getParam(name))}
        frame = dataset.select(*self.feature_columns(dataset, width), *others)
        model = train(frame, target=label, weights=weight, **settings)
        return self._copyValues(DecibanClassificationModel(model, width))


def _read_vector_width(dataset: Any, name: str) -> int:
    """Read the length of the first vector of a column that is not null; raise an InputError if there is none."""
    vector = dataset[quote(name)]
    row = dataset.where(vector.isNotNull()).select(sql.size(vector_to_array(vector))).first()
    if row is None:
        raise InputError(f"column {name!r} has no vector, so there is nothing to learn from")
    return int(row[0])


class DecibanClassificationModel(Model, _ClassifierParams, MLReadable, MLWritable):
    """A fitted classifier; `model` is the table model, and `width` the length of its vectors (0 with `inputCols`)."""

    def __init__(self, model: TableModel | None = None, width: int = 0) -> None:
        super().__init__()
        self.model, self.width = model, width

    def _transform(self, dataset: Any) -> Any:
        """Add a prediction, the probabilities of the classes and their logarithms (`rawPredictionCol`) to each row.

        The prediction is a double where the classes are numbers, else the class as text. A column of the DataFrame
        with one of these names is replaced, and a name that is empty adds nothing.
        """
        assert self.model is not None
        kept = [f"kept {i}" for i in range(len(dataset.columns))]
        columns = [dataset[quote(name)].alias(safe) for safe, name in zip(kept, dataset.columns)]
        frame = dataset.select(*columns, *self.feature_columns(dataset, self.width))
        scored = score_parts(self.model, open_source(frame), ScoreTask("posterior"), kept)
        numbered = scored.toDF(*(f"c{i}" for i in range(len(scored.columns))))
        first = len(kept) + 3  # after prediction, probability and decibans
        classes = [f"c{i}" for i in range(first, len(scored.columns))]
        is_number = not isinstance(self.model.classes[0], str)
        prediction = sql.col(f"c{len(kept)}")
        added = {
            self.getRawPredictionCol(): array_to_vector(sql.array(*map(_log, classes))),
            self.getProbabilityCol(): array_to_vector(sql.array(*classes)),
            self.getPredictionCol(): prediction.cast("double") if is_number else prediction,
        }
        old = [sql.col(f"c{i}").alias(name) for i, name in enumerate(dataset.columns) if name not in added]
        return numbered.select(*old, *(column.alias(name) for name, column in added.items() if name))

    def write(self) -> MLWriter:
        """Return the writer of the model: its params, and the bytes of its model file."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return the reader of a model that was written."""
        return _ModelReader()


class _ModelWriter(MLWriter):
    def __init__(self, instance: DecibanClassificationModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write the params, and the model file as a table of one row, to a folder on any file system of Spark."""
        assert self.instance.model is not None
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession, {"width": self.instance.width})
        content = bytearray(dump_model(self.instance.model))
        self.sparkSession.createDataFrame([(content,)], "model binary").coalesce(1).write.parquet(f"{path}/data")


class _ModelReader(MLReader):
    def load(self, path: str) -> DecibanClassificationModel:
        """Read a model that `_ModelWriter` has written."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        (row,) = self.sparkSession.read.parquet(f"{path}/data").collect()
        made = DecibanClassificationModel(load_model(bytes(row[0])), int(metadata["width"]))
        made._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(made, metadata)
        return made


def _log(name: str) -> Any:
    """Return the logarithms of a column of probabilities: −∞ of 0, for which Spark's own is null."""
    return sql.coalesce(sql.log(name), sql.lit(float("-inf")))
