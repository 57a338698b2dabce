"""Names of Model that are not for users: absent from `dir`, and deprecated where they were public."""

import warnings

import pytest

import deciban
from deciban.model.model import Model

PUBLIC = {
    "account", "add", "calibrate", "calibration", "classes", "columns", "describe", "explain", "export",
    "find_unseen", "forget", "find_single_changes", "held_out", "learner",
    "ledger", "n_parameters", "options", "origin", "predict", "predict_log_proba", "predict_proba", "priors",
    "pseudo_counts", "quality", "ranges", "roles", "sample", "save", "score_samples", "structure", "table", "target",
    "telltales", "weights", "with_priors",
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return deciban.train({"x": ["a", "b"] * 5, "y": ["p", "q"] * 5}, target="y", judge=False)


def test_the_public_names_of_a_model_are_for_users(model):
    assert {name for name in dir(model) if not name.startswith("_")} == PUBLIC


@pytest.mark.parametrize("name", Model._renamed_attributes)
def test_former_names_work_with_a_warning(model, name):
    with pytest.warns(DeprecationWarning, match=rf"Model\.{name} is internal, and will be removed"):
        found = getattr(model, name)
    own = getattr(model, Model._renamed_attributes[name])
    assert found is own or found == own


def test_an_unknown_name_is_an_attribute_error(model):
    with pytest.raises(AttributeError, match="'Model' object has no attribute 'tell'"):
        _ = model.tell


def test_nothing_of_the_package_uses_a_former_name(model, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        model.save(tmp_path / "m.deciban")
        read = deciban.load(tmp_path / "m.deciban")
        print(read, read.describe(), read.table("x"), read.explain({"x": ["a"]}))
        assert (read + model).predict({"x": ["a"]}).tolist() == ["p"]
        assert deciban.evaluate({"x": ["a"], "y": ["p"]}, model=read).accuracy == 1
