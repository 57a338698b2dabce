"""Trees, averaged one-dependence and mixed covariances are learned from a DataFrame as from the same rows here."""

import numpy as np
import pyarrow as pa
import pytest

import deciban
from tests.export.models import posterior
from tests.export.test_dependent_columns import MODELS, NEW_ROWS, ROWS
from tests.spark.compare import in_partitions

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet", "ignore::deciban.errors.DecibanWarning")


@pytest.mark.parametrize("name", [name for name in MODELS if "isotonic" not in name])
def test_a_data_frame_gives_the_same_model(name, spark):
    settings = {**MODELS[name], "calibrate": "none"}  # the folds of a distributed table are others
    local = deciban.train(ROWS, target="kind", **settings)
    model = deciban.train(in_partitions(spark, ROWS, 3), target="kind", **settings)
    assert model.structure == local.structure
    assert bool(model.structure) == (name in ("tree", "tree of pairs", "default"))
    np.testing.assert_allclose(posterior(model, NEW_ROWS), posterior(local, NEW_ROWS), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["tree", "averaged one-dependence"])
def test_rows_of_a_data_frame_have_the_same_posterior(name, spark):
    model = deciban.train(ROWS, target="kind", **MODELS[name])
    numbered = NEW_ROWS.append_column("row", pa.array(range(NEW_ROWS.num_rows)))
    found = model.predict_proba(in_partitions(spark, numbered, 2)).toArrow().sort_by("row")
    p = np.column_stack([np.asarray(found.column(f"p({label})")) for label in model.classes])
    np.testing.assert_allclose(p, posterior(model, NEW_ROWS), rtol=0, atol=1e-9)
