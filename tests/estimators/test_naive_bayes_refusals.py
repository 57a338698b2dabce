"""Input that NaiveBayes refuses; a refusal changes nothing."""

import numpy as np
import pandas as pd
import pytest

from deciban import NaiveBayes
from deciban.errors import DecibanError
from tests.estimators.test_naive_bayes_table import ROLES, patients

TABLE, Y = patients(30)
REFUSED = {
    "a path": (lambda: NaiveBayes().fit("patients.csv", Y), r"deciban.train\('patients.csv'"),
    "y missing": (lambda: NaiveBayes().fit(TABLE, None), "requires y to be passed"),
    "lengths": (lambda: NaiveBayes().fit(TABLE, Y[:-1]), "inconsistent numbers of samples"),
    "columns of two lengths": (lambda: NaiveBayes().fit({"a": [1.0, 2.0], "b": [1.0]}, [0, 1]), "different lengths"),
    "a role of no column": (lambda: NaiveBayes(roles={"agee": "number"}).fit(TABLE, Y), "did you mean 'age'"),
    "an unknown role": (lambda: NaiveBayes(roles={"age": "bell"}).fit(TABLE, Y), "role 'bell' is not known"),
    "nothing to learn from": (lambda: NaiveBayes().fit({"a": [1, 1, 1]}, [0, 1, 0]), "no column is left"),
    "mixed types": (lambda: NaiveBayes().fit(np.array([[1, "x"], ["y", 2]], dtype=object), [0, 1]), "column 'x0'"),
    "infinity": (lambda: NaiveBayes().fit({"a": [1.0, np.inf, 3.5]}, [0, 1, 0]), "column 'a' holds inf in row 2"),
    "priors": (lambda: NaiveBayes(priors=[0.5, 0.5]).fit(TABLE, Y), "Number of priors must match"),
    "numbers": (lambda: NaiveBayes(numbers="bell").fit(TABLE, Y), "'numbers' parameter"),
    "alpha": (lambda: NaiveBayes(alpha=-1).fit(TABLE, Y), "'alpha' parameter"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_learned_is_refused_with_a_reason(case):
    attempt, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        attempt()


def test_a_refused_fit_changes_nothing():
    model = NaiveBayes(roles=ROLES).fit(TABLE, Y)
    before, expected = dict(vars(model)), model.predict_proba(TABLE)
    for attempt in (
        lambda: model.fit({**TABLE, "age": ["old"] * 30}, Y),
        lambda: model.partial_fit(TABLE, ["ghost"] * 30),
        lambda: model.forget({**TABLE, "pain": ["ghost"] * 30}, Y),
        lambda: model.forget(TABLE, Y, sample_weight=[2.0] * 30),
    ):
        with pytest.raises(DecibanError):
            attempt()
        assert vars(model) == before
    np.testing.assert_array_equal(model.predict_proba(TABLE), expected)


def test_frames_with_other_columns_are_refused_and_arrays_without_names_warned_about():
    frame = pd.DataFrame(TABLE)
    model = NaiveBayes(roles=ROLES).fit(frame, Y)
    for other in (frame.rename(columns={"age": "years"}), frame[frame.columns[::-1]], frame.drop(columns="age")):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(other)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(model.predict(frame.to_numpy()), model.predict(frame))


def test_what_a_table_has_not_says_so():
    model = NaiveBayes().fit(TABLE, Y)
    for ask in (model.linear_form, model.quadratic_form):
        with pytest.raises(AttributeError, match="several kinds"):
            ask()


def test_names_of_columns_may_be_anything():
    table = {"class": [1.5, 2.5, 3.0], "weight": [2.0, 1.0, 5.5], "y": ["a", "b", "a"], "né 😀 --as": [3.5, 1.0, 2.0]}
    model = NaiveBayes(roles={"y": "category"}).fit(table, ["p", "q", "p"], sample_weight=[1.0, 2.0, 1.0])
    assert list(model.roles_) == list(table)
    X, y = model.sample(4, 0)
    assert X.column_names == list(table)
    assert set(y) <= {"p", "q"}
