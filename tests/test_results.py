"""Public results on a screen and as frames: short representations, and `to_frame` in the kind that is wanted."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError, MissingExtraError
from deciban.result import make_frame
from tests.tables.clinic import patients

MAX_REPR_CHARACTERS = 400
ROLES = {"age": "number", "dose": "binned", "visits": "count", "smoker": "flag", "code": "category"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    table, arguments = patients(), {"target": "diagnosis", "roles": ROLES}
    model = deciban.train(table, **arguments)
    estimator = deciban.GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["low", "low", "high", "high"])
    text = deciban.TextClassifier().fit(["buy pills", "lunch at noon"], ["spam", "ham"])
    store = tmp_path_factory.mktemp("mail") / "mail.db"
    with deciban.MailFilter(store) as mail:
        return {
            "Model": model,
            "Report": model.held_out,
            "Explanation": estimator.explain([[3.0], [7.0]]),
            "TableExplanation": model.explain(table.slice(0, 5)),
            "TextExplanation": text.explain(["buy lunch"]),
            "Comparison": deciban.compare(table, **arguments, learners=["bayes", "logistic"], C=1.0, curve=False),
            "LearningCurve": deciban.learning_curve(table, **arguments, sizes=[50, 100]),
            "Dependence": deciban.dependence(table, target="diagnosis"),
            "Choice": deciban.choose(table, **arguments, numbers="number", prior="uniform"),
            "BayesTable": deciban.BayesTable(0.01, 0.9, 0.95),
            "Words": deciban.Words(stop="english", ngrams=2),
            "ParameterCount": deciban.parameter_count("bernoulli", features=30),
            "Ledger": model.ledger,
            "MailFilter": mail,
            "Decision": deciban.Decision.of(["a", "b"], reject=0.1),
            "GaussianNB": estimator,
        }


def test_representations_are_short(results):
    for name, result in results.items():
        assert len(repr(result)) <= MAX_REPR_CHARACTERS, name
        assert repr(result).count("\n") <= 3, name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Model", ["diagnosis", "'ill', 'well'", "columns"]),
        ("Report", ["rows of 2 classes", "accuracy", "log-loss"]),
        ("Explanation", ["2 rows, 1 feature;", "low rather than high", "dB"]),
        ("TableExplanation", ["5 rows", "rather than", "dB"]),
        ("TextExplanation", ["1 row", "dB"]),
        ("Comparison", ["naive Bayes: log-loss", "logistic", "recommended:"]),
        ("LearningCurve", ["50 → 100 rows", "accuracy"]),
        ("Dependence", ["features given diagnosis", "rows"]),
        ("Choice", ["settings", "log-loss"]),
        ("Words", ["Words(ngrams=(1, 2), stop='318 words')"]),
        ("MailFilter", ["mail.db", "evidence"]),
    ],
)
def test_representations_say_what_matters(results, name, says):
    for words in says:
        assert words in repr(results[name])


def test_an_explanation_of_nothing_has_a_representation(results):
    assert repr(results["Explanation"][0:0]) == "<Explanation: 0 rows, 1 feature>"


def test_a_default_tokenizer_is_short():
    assert repr(deciban.Words()) == "Words()"
    assert repr(deciban.Words(stop=["a", "the"])) == "Words(stop=('a', 'the'))"


COLUMNS = {
    "Report": ["class", "rows", "precision", "recall", "f1", "precision_low", "precision_high", "recall_low",
               "recall_high", "roc_auc", "average_precision"],
    "Explanation": ["row", "for", "against", "feature", "value", "decibans"],
    "TableExplanation": ["row", "for", "against", "feature", "value", "decibans"],
    "TextExplanation": ["row", "for", "against", "feature", "value", "decibans"],
    "Comparison": ["name", "accuracy", "log_loss", "log_loss_error", "calibration_error", "log_loss_above",
                   "log_loss_above_error", "accuracy_below", "accuracy_below_error", "seconds", "n_parameters"],
    "LearningCurve": ["rows", "flipped", "accuracy", "accuracy_low", "accuracy_high", "log_loss", "log_loss_low",
                      "log_loss_high", "unknown"],
    "Choice": ["setting", "accuracy", "log_loss", "log_loss_error", "calibration_error", "difference",
               "difference_error"],
    "BayesTable": ["has_it", "positive", "negative"],
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_frames_have_these_columns(results, name):
    frame = results[name].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == COLUMNS[name]
    assert isinstance(results[name].to_frame("polars"), pl.DataFrame)
    assert isinstance(results[name].to_frame("arrow"), pa.Table)


def test_a_report_has_a_row_for_each_class(results):
    report = results["Report"]
    frame = report.to_frame()
    assert frame["class"].tolist() == list(report.classes)
    np.testing.assert_array_equal(frame["recall"], report.recall)
    assert frame["rows"].sum() == pytest.approx(report.weight)


@pytest.mark.parametrize("name", ["Explanation", "TableExplanation", "TextExplanation"])
def test_the_entries_of_a_row_add_up_to_its_total(results, name):
    explanation = results[name]
    frame = explanation.to_frame()
    assert frame.groupby("row").decibans.sum().tolist() == pytest.approx(explanation.total.tolist())
    first = frame[frame.row == 0]
    assert [*zip(first.feature, first.decibans)][:1] == [
        (entry.column or entry.what, entry.decibans) for entry in explanation.detailed_entries(0)[:1]
    ]


def test_cells_keep_their_type(results):
    entries = {entry.column: entry.value for entry in results["TableExplanation"].detailed_entries(0)}
    row = patients().slice(0, 1).to_pylist()[0]
    assert {name: entries[name] for name in ROLES if name in entries} == {
        name: row[name] for name in ROLES if name in entries
    }
    assert entries["admitted.month"] == f"{row['admitted'].month:02}"


def test_dependence_has_a_row_for_each_pair(results):
    dependence = results["Dependence"]
    frame = dependence.to_frame()
    assert len(frame) == len(dependence.pairs)
    assert frame["conditional"].tolist() == [pair.conditional for pair in dependence.pairs]


def test_another_kind_of_frame_is_refused(results):
    with pytest.raises(InputError, match="one of pandas, polars, arrow, not 'excel'"):
        results["Report"].to_frame("excel")


def test_a_missing_library_names_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"pip install polars, or to_frame\('arrow'\)"):
        make_frame({"a": [1]}, "polars")
