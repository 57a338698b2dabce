"""Table models in files: equal predictions, a million names read in place, and forgeries refused."""

import numpy as np
import pytest

import deciban
from deciban import persistence
from deciban.errors import ModelFileError
from tests.tables import clinic

ROWS = clinic.patients(40, seed=3)
LEVELS = "belief/ledger/schema/blocks/2"


@pytest.fixture(scope="module")
def model():
    return deciban.train(clinic.patients(), target="diagnosis", roles={"visits": "count", "dose": "number"})


def predict_log_proba(model, rows=ROWS):
    return np.column_stack(model.predict_log_proba(rows).columns)


def forge(model, path, **arrays):
    """Save a model with changed arrays and correct checksums."""
    model.save(path)
    contents = persistence.read(path)
    names = {name.replace("/", "_"): name for name in contents.arrays}
    changed = {names[key]: change(contents.arrays[names[key]].copy()) for key, change in arrays.items()}
    persistence.write(path, contents.header, {**contents.arrays, **changed})
    return path


@pytest.mark.usefixtures("large")
def test_a_large_file_gives_the_same_answers(model, path):
    model.save(path)
    read = deciban.load(path)
    assert np.array_equal(predict_log_proba(read), predict_log_proba(model))
    result, expected = read.explain(ROWS), model.explain(ROWS)
    assert np.array_equal(result.evidence, expected.evidence)
    assert list(result.features) == list(expected.features)
    assert read.classes == model.classes
    assert read.describe() == model.describe()
    assert read.ledger == model.ledger


@pytest.mark.usefixtures("large")
def test_predicting_from_a_large_file_unpacks_no_names_of_levels_and_no_sums(model, path):
    model.save(path)
    read = deciban.load(path)
    read.predict(ROWS)
    read.explain(ROWS)
    assert not {"ledger", "schema", "complete"} & vars(read._scorer).keys()
    used = read._scorer._section.arrays._verified
    sums = {name for name in used if name.startswith("belief/ledger/parts")}
    assert sums <= {"belief/ledger/parts/2/offset"}  # stored once, for the scores too


@pytest.mark.usefixtures("large")
def test_a_large_file_is_asked_again_and_again(model, path):
    model.save(path)
    read = deciban.load(path)
    for row in range(12):
        one = ROWS.slice(row, 1)
        assert np.array_equal(predict_log_proba(read, one), predict_log_proba(model, one))


@pytest.mark.usefixtures("large")
def test_a_large_file_goes_on_learning(model, path):
    model.save(path)
    read = deciban.load(path).add(ROWS)
    assert read.ledger == deciban.train(clinic.patients(), target="diagnosis", like=model).add(ROWS).ledger


@pytest.mark.usefixtures("large")
def test_a_large_file_of_the_estimator_predicts_without_its_sums(path):
    X, y = ROWS.drop_columns(["diagnosis"]), np.arange(40) % 2
    model = deciban.NaiveBayes().fit(X, y)
    model.save(path)
    read = deciban.load(path)
    assert np.array_equal(read.predict_proba(X), model.predict_proba(X))
    assert not {"ledger", "schema"} & vars(read._scorer).keys()


def test_names_of_levels_that_are_no_text_are_refused(model, path):
    spoilt = {"belief_ledger_schema_blocks_2_levels_utf8": lambda utf8: np.full_like(utf8, 0xFF)}
    with pytest.raises(ModelFileError, match="not UTF-8"):
        deciban.load(forge(model, path, **spoilt))


@pytest.mark.usefixtures("large")
def test_names_of_levels_that_are_no_text_are_refused_when_they_are_used(path):
    model = deciban.train(ROWS, target="diagnosis", roles={"admitted": "skip", "age": "skip", "visits": "skip"})
    kinds = [block.kind for block in model.ledger.schema.blocks]
    spoilt = {
        f"belief_ledger_schema_blocks_{kinds.index('levels')}_levels_utf8": lambda utf8: np.full_like(utf8, 0xFF)
    }
    read = deciban.load(forge(model, path, **spoilt))
    with pytest.raises(ModelFileError, match="not UTF-8"):
        read.predict(ROWS)


def test_what_a_model_says_of_itself_rests_on_its_ledger_alone(model, path):
    other = {"belief_solved_forms_2_log_theta": lambda theta: theta[::-1].copy()}
    read = deciban.load(forge(model, path, **other))
    assert not np.allclose(predict_log_proba(read), predict_log_proba(model))
    assert read.describe() == model.describe()


def test_fewer_scores_than_levels_are_refused(model, path):
    cut = {
        "belief_solved_forms_2_log_theta": lambda theta: theta[:, :-1].copy(),
        "belief_solved_forms_2_offset": lambda offset: np.minimum(offset, offset[-1] - 1),
    }
    with pytest.raises(ModelFileError, match="fewer levels have scores"):
        deciban.load(forge(model, path, **cut))


def test_families_that_the_columns_do_not_name_are_refused(model, path):
    model.save(path)
    contents = persistence.read(path)
    contents.header["belief"]["families"][2]["alpha"] = 7.0
    persistence.write(path, contents.header, contents.arrays)
    with pytest.raises(ModelFileError, match="families are not those of its columns and options"):
        deciban.load(path)


@pytest.mark.parametrize("name", ["belief_ledger_rows", "belief_ledger_parts_2_table", "belief_ledger_parts_1_total"])
def test_weights_that_have_no_sum_are_refused(name, model, path):
    with pytest.raises(ModelFileError, match=r"should lie between 0 and 1e\+300"):
        deciban.load(forge(model, path, **{name: lambda array: np.full_like(array, 1e308)}))


def test_a_form_that_does_not_score_what_is_counted_is_refused(model, path):
    model.save(path)
    contents = persistence.read(path)
    contents.header["belief"]["solved"]["forms"][0]["form"] = "Full"
    persistence.write(path, contents.header, contents.arrays)
    with pytest.raises(ModelFileError, match=r"should be one of \['BoundedDiagonal', 'Diagonal'\]"):
        deciban.load(path)


def test_a_month_that_is_none_is_refused(model, path):
    model.save(path)
    contents = persistence.read(path)
    utf8 = contents.arrays[f"{LEVELS}/levels/utf8"].tobytes()
    assert utf8.count(b"Mon") == 1
    changed = np.frombuffer(utf8.replace(b"Mon", b"Moo"), dtype=np.uint8)
    persistence.write(path, contents.header, {**contents.arrays, f"{LEVELS}/levels/utf8": changed})
    with pytest.raises(ModelFileError, match="has a level that is not a weekday"):
        deciban.load(path)
