"""deciban in pipelines of Spark's machine learning: `DecibanClassifier` and the model that it fits.

`deciban.train` takes a DataFrame of Spark as it is; this is for `pyspark.ml.Pipeline` and `CrossValidator`.
"""

from deciban.errors import MissingExtraError

try:
    import pyspark.ml  # noqa: F401
except ImportError as error:
    raise MissingExtraError(f"deciban.spark needs pyspark: {error}. Hint: pip install 'deciban[spark]'") from None

from deciban.spark.classifier import DecibanClassificationModel, DecibanClassifier

__all__ = ["DecibanClassificationModel", "DecibanClassifier"]
