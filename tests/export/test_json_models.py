"""A JSON export loads again as a model that predicts and explains the same."""

import copy
import json

import numpy as np
import pytest

import deciban
from deciban.errors import ModelFileError, UndefinedError
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


def test_a_json_file_is_read_by_load_and_exports_again(tmp_path):
    model, rows = trained("isotonic, three classes")
    text = model.export("json", tmp_path / "model.json")
    again = deciban.load(tmp_path / "model.json")
    np.testing.assert_array_equal(posterior(again, rows), posterior(read_document(json.loads(text)), rows))
    assert json.loads(again.export("json"))["terms"] == json.loads(text)["terms"]
    assert isinstance(again, deciban.Model)
    assert again.learner == "bayes"


def test_an_exported_model_takes_other_priors():
    model, rows = trained("platt, three classes")
    shares = {"flu": 0.2, "cold": 0.3, "well": 0.5}
    again = read_document(make_document(model)).with_priors(shares)
    np.testing.assert_allclose(posterior(again, rows), posterior(model.with_priors(shares), rows), rtol=1e-12)


@pytest.mark.parametrize("use", [lambda m: m.add({}), lambda m: m + m, lambda m: m.save("x"), lambda m: m.describe()])
def test_what_needs_counts_is_refused(use):
    again = read_document(make_document(trained("two classes")[0]))
    with pytest.raises(UndefinedError, match="scores of what was learned, and not the counts"):
        use(again)


def replace_each(value, path=()):
    """Yield the paths of all values of a document, of long lists the first."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, each in inner:
        yield from replace_each(each, (*path, key))


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
@pytest.mark.parametrize("name", ["joined numbers", "dependent columns", "isotonic, three classes", "boosted"])
def test_a_forged_document_is_refused_or_read(name):
    """Any value may be forged: reading ends with a model or with ModelFileError, and nothing else."""
    document = make_document(trained(name)[0])
    refused = 0
    for path in replace_each(document):
        for forged in (None, -1, 1e308, "x", [], {}, [None], True) if path else ():
            changed = copy.deepcopy(document)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = forged
            try:
                read_document(changed)
            except ModelFileError:
                refused += 1
    assert refused > 100


def test_a_count_without_a_weight_is_refused():
    document = make_document(trained("two classes")[0])
    next(term for term in document["terms"] if term["kind"] == "poisson")["weight"] = None
    with pytest.raises(ModelFileError, match="'weight' should be a number"):
        read_document(document)


@pytest.mark.parametrize("text", ["{", "{}", '{"format": "deciban score form"}', '{"a": 1, "a": 2}', '{"format": 3}'])
def test_other_json_files_are_refused(text, tmp_path):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ModelFileError, match=r"model\.json"):
        deciban.load(tmp_path / "model.json")
