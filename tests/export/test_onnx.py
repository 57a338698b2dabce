"""ONNX files give the posterior and the label, by onnxruntime."""

import numpy as np
import pytest

from deciban.export.onnx_graph import write_onnx
from deciban.export.portable import make_document
from deciban.sources.arrow_cells import DATE_PARTS, extract_date_part
from tests.export.models import CASES, posterior, trained

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")


def to_inputs(document, rows):
    inputs = {}
    for feature in document["features"]:
        for column, numeric in zip(feature["columns"], feature.get("numeric", [False] * 9)):
            cells = rows.column(column).combine_chunks()
            if "part" in feature:
                codes = extract_date_part(cells, feature["part"], column)
                texts = [("", *DATE_PARTS[feature["part"]])[code + 1] for code in codes]
                inputs[feature["name"]] = np.array(texts, dtype=object)[:, None]
            elif feature["kind"] == "number" or numeric:
                inputs[column] = np.array(cells.to_pylist(), dtype=float)[:, None]
            else:
                inputs[column] = np.array(["" if c is None else str(c) for c in cells.to_pylist()], dtype=object)[
                    :, None
                ]
    return inputs


def run(document, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(write_onnx(document), options, providers=["CPUExecutionProvider"])
    assert {each.name for each in session.get_inputs()} == set(inputs)
    return session, *session.run(["label", "probabilities"], inputs)


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_gives_posterior_and_label(name):
    model, rows = trained(name)
    document = make_document(model)
    _, label, p = run(document, to_inputs(document, rows))
    assert p.dtype == np.float64
    np.testing.assert_allclose(p, posterior(model, rows), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(rows).to_pylist()
