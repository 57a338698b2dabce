"""A JSON export loads again as a model that predicts and explains the same."""

import json

import numpy as np
import pytest

from deciban.export.portable import make_document
from deciban.export.portable_reader import read_document
from tests.export.models import CASES, posterior, trained


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_document_gives_the_same_posterior_and_explanation(name):
    model, rows = trained(name)
    again = read_document(json.loads(json.dumps(make_document(model), allow_nan=False)))
    np.testing.assert_allclose(posterior(again, rows), posterior(model, rows), rtol=1e-12, atol=1e-12)
    assert again.predict(rows).to_pylist() == model.predict(rows).to_pylist()
    ours, theirs = again.explain(rows), model.explain(rows)
    np.testing.assert_allclose(ours.total, theirs.total, rtol=1e-9, atol=1e-9)
    assert list(ours.features) == list(theirs.features)
    np.testing.assert_allclose(ours.evidence, theirs.evidence, rtol=1e-9, atol=1e-9)
