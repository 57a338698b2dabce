"""Learning curves: each point is a training on a number of rows, evaluated on the same held-out rows."""

import json

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.ledger.hashing import hash_row_numbers
from tests.tables.reviews import reviews

SETTINGS = {"target": "verdict", "roles": {"text": "text", "head": "skip", "country": "category", "stars": "number"}}


def table(n=200, weighted=True):
    new_table = reviews(n, 3)
    labels = [None if i % 13 == 5 else label for i, label in enumerate(new_table.column("verdict").to_pylist())]
    new_table = new_table.set_column(new_table.schema.get_field_index("verdict"), "verdict", pa.array(labels))
    return new_table.append_column("w", pa.array(np.resize([1.0, 0.5, 0.0, 2.0, 1.0], n))) if weighted else new_table


def order(t):
    """Rows that count, held out or to be learned, in the order of the hash; row numbers."""
    result = np.array([label is not None for label in t.column("verdict").to_pylist()])
    if "w" in t.column_names:
        result &= np.array(t.column("w").to_pylist()) > 0
    rows = np.flatnonzero(result)
    place = hash_row_numbers(rows)
    held = place < 0.2 * 2.0**64
    return rows[held], rows[~held][np.argsort(place[~held])]


def by_training(t, learned, labels=None):
    """Accuracy and log-loss of the rows held out, by a training on these rows."""
    held, _ = order(t)
    weights = {"weights": "w"} if "w" in t.column_names else {}
    result = t if labels is None else t.set_column(t.schema.get_field_index("verdict"), "verdict", pa.array(labels))
    part = result.take(pa.array(np.sort(learned)))
    model = deciban.train(part, judge=False, classes=["bad", "good"], **SETTINGS, **weights)
    answer = model.predict_log_proba(t.take(pa.array(held)))
    scores = np.stack([np.asarray(answer.column(i)) for i in range(2)], axis=1)
    truth = np.array([t.column("verdict")[int(i)].as_py() == "good" for i in held]).astype(int)
    w = np.array(t.column("w").to_pylist())[held] if weights else np.ones(len(held))
    hits = scores.argmax(axis=1) == truth
    return np.average(hits, weights=w), np.average(-scores[np.arange(len(held)), truth], weights=w)


@pytest.mark.parametrize("weighted", [True, False])
def test_each_point_is_a_training_on_so_many_rows(weighted):
    t = table(weighted=weighted)
    held, rest = order(t)
    curve = deciban.learning_curve(t, sizes=[15, 40, 0.5, 1.0], **SETTINGS, **({"weights": "w"} if weighted else {}))
    assert curve.sizes == (15, 40, round(0.5 * len(rest)), len(rest))
    assert curve.held_out == len(held)
    for i, size in enumerate(curve.sizes):
        accuracy, loss = by_training(t, rest[:size])
        assert curve.accuracy[i] == pytest.approx(accuracy, rel=1e-12)
        assert curve.log_loss[i] == pytest.approx(loss, rel=1e-9)


def test_the_usual_sizes_halve_and_end_with_all_rows():
    t = table()
    _, rest = order(t)
    curve = deciban.learning_curve(t, weights="w", **SETTINGS)
    assert curve.sizes[-1] == len(rest)
    assert min(curve.sizes) >= 10
    assert list(curve.sizes) == sorted(set(curve.sizes))
    for size, report in zip(curve.sizes, curve.reports[0]):
        assert report.log_loss == pytest.approx(by_training(t, rest[:size])[1], rel=1e-9)
    shares = [size / len(rest) for size in curve.sizes[-3:]]
    assert shares == pytest.approx([0.25, 0.5, 1.0], abs=0.12)


def test_flipped_labels_are_learned_and_not_scored():
    t = table(weighted=False)
    _, rest = order(t)
    curve = deciban.learning_curve(t, sizes=[len(rest)], flipped=[0.0, 0.2, 0.45], **SETTINGS)
    labels = t.column("verdict").to_pylist()
    other = {"good": "bad", "bad": "good", None: None}
    second = hash_row_numbers(hash_row_numbers(np.arange(t.num_rows)).view(np.int64)) / 2.0**64
    for i, share in enumerate((0.0, 0.2, 0.45)):
        wrong = [other[label] if second[j] < share else label for j, label in enumerate(labels)]
        assert curve.log_loss[i, 0] == pytest.approx(by_training(t, rest, wrong)[1], rel=1e-9)
    assert 0.1 < np.mean(second[rest] < 0.2) < 0.3
    assert curve.accuracy.shape == curve.log_loss.shape == (3, 1)
    assert curve.accuracy_interval.shape == (3, 1, 2)


def test_flipping_takes_any_other_class_and_leaves_the_rows_held_out():
    from deciban.sources.arrow_sources import Frame
    from deciban.training.table_diagnostics import FlippedLabels

    n = 6000
    t = pa.table({"y": [7, 8, 9, 10] * (n // 4)})
    flipped = FlippedLabels(Frame(t), "y", ["7", "8", "9", "10"], 0.3)
    (batch,) = flipped.batches({"y": "text"})
    before, after = np.array(t.column("y").cast("string").to_pylist()), np.array(batch.column(0).to_pylist())
    held = hash_row_numbers(np.arange(n)) < 0.2 * 2.0**64
    assert (before[held] == after[held]).all()
    assert np.mean(before[~held] != after[~held]) == pytest.approx(0.3, abs=0.03)
    for label in ("7", "8", "9", "10"):
        given = after[(before == label) & (before != after)]
        assert {other: np.mean(given == other) for other in set(given)} == pytest.approx(
            {other: 1 / 3 for other in ("7", "8", "9", "10") if other != label}, abs=0.08
        )


def test_a_larger_table_is_scored_by_as_many_rows_as_are_kept(monkeypatch):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 3000)
    t = {"x": rng.normal(size=3000) + y, "y": y}
    whole = deciban.learning_curve(t, target="y", sizes=[500, 2000])
    monkeypatch.setattr("deciban.training.table_rows.MAX_SAMPLE_ROWS", 100)
    few = deciban.learning_curve(t, target="y", sizes=[500, 2000])
    assert (whole.held_out > 500, few.held_out) == (True, 100)
    first = np.argsort(hash_row_numbers(np.arange(3000)))[:100]
    model = deciban.train({name: column[np.sort(first)] for name, column in t.items()}, target="y", judge=False)
    assert few.reports[0][1].truth.tolist() == y[np.sort(first)].tolist()
    assert model.classes == [0, 1]


def test_numbers_of_rows_have_their_thousands_separated():
    table = {"x": np.arange(6000) % 7, "y": np.arange(6000) % 2}
    curve = deciban.learning_curve(table, target="y", sizes=[100])
    rows = f"1 {curve.held_out - 1000:03} rows"
    assert curve.measured.startswith(f"{rows}, drawn at random, were held out")
    assert str(curve.reports[0][0]).endswith(f"{rows} held out")


def test_a_curve_tells_itself_in_words_and_to_programs():
    curve = deciban.learning_curve(table(), weights="w", sizes=[20, 60], flipped=[0, 0.1], **SETTINGS)
    head, *lines = str(curve).splitlines()[:5]
    assert head.split() == ["flipped", "rows", "accuracy", "95", "%", "interval", "log-loss"]
    assert [line.split()[:3] for line in lines] == [
        ["0", "%", "20"],
        ["0", "%", "60"],
        ["10", "%", "20"],
        ["10", "%", "60"],
    ]
    result = json.loads(json.dumps(curve.to_dict()))
    assert [point["rows"] for point in result["points"]] == [20, 60, 20, 60]
    assert result["points"][3]["log_loss"] == pytest.approx(curve.log_loss[1, 1])
    low, high = curve.log_loss_interval[1, 1]
    assert high - low == pytest.approx(2 * 1.959963984540054 * curve.reports[1][1].log_loss_error)


BAD = {
    "no rows wanted": ({"sizes": []}, "sizes is empty"),
    "size 0": ({"sizes": [0]}, "not 0"),
    "size 2.5": ({"sizes": [2.5]}, "whole numbers"),
    "a word": ({"sizes": ["all"]}, "not 'all'"),
    "too many rows": ({"sizes": [10_000]}, "asks for 10000 rows"),
    "all flipped": ({"flipped": 1.0}, "below 1"),
    "none flipped": ({"flipped": []}, "flipped is empty"),
    "no number": ({"flipped": "much"}, "share of the labels"),
    "no such argument": ({"repeats": 1}, r"learning_curve\(\) takes no 'repeats'\. Hint"),
    "a slip of the pen": ({"alhpa": 1}, r"learning_curve\(\) takes no 'alhpa'; did you mean 'alpha'\?"),
}


@pytest.mark.parametrize("case", BAD)
def test_curves_that_make_no_sense_are_refused_in_words(case):
    arguments, words = BAD[case]
    with pytest.raises(InputError, match=words):
        deciban.learning_curve(table(), **SETTINGS, **arguments)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_too_few_rows_are_refused_in_words(n):
    with pytest.raises(InputError):
        deciban.learning_curve({"x": [1.0, 5.0, 2.0, 6.0, 1.5][:n], "y": list("ababa")[:n]}, target="y")


def test_numbers_of_numpy_are_numbers():
    points = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    curve = deciban.learning_curve(points, target="odd", sizes=np.array([20, 100]), flipped=np.float64(0.1))
    assert curve.sizes == (20, 100)
    assert curve.flipped == (0.1,)
    with pytest.raises(InputError, match="flipped is a share"):
        deciban.learning_curve(points, target="odd", flipped=None)


def test_rows_of_a_class_that_was_not_met_are_counted():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 300)
    curve = deciban.learning_curve({"x": rng.normal(codes, 0.1), "y": codes}, target="y", numbers="number")
    first = curve.reports[0][0]
    assert first.unknown > 0
    assert curve.to_dict()["points"][0]["unknown"] == first.unknown
    assert "class not met" in str(curve)
    assert "left out of its log-loss" in str(curve)


def test_a_model_of_one_class_has_no_log_loss():
    points = {"x": [i % 7 + 3.0 * (i % 2) for i in range(200)], "odd": [*"ab"] * 100}
    curve = deciban.learning_curve(points, target="odd", numbers="number", sizes=[1, 100])
    assert np.isnan(curve.log_loss).tolist() == [True, False]
    assert [point["log_loss"] is None for point in curve.to_dict()["points"]] == [True, False]
    assert curve.table()[1][3] == "–"
    assert "a model that had met one class only has no log-loss" in str(curve)


def test_labels_are_flipped_though_a_class_has_rows_without_weight_only():
    points = {
        "x": [i % 7 + 3 * (i % 2) for i in range(200)],
        "odd": [*"ab"] * 99 + ["c"] * 2,
        "w": [1] * 198 + [0] * 2,
    }
    curve = deciban.learning_curve(points, target="odd", weights="w", sizes=[100], flipped=0.2, numbers="number")
    assert curve.sizes == (100,)
    assert curve.reports[0][0].to_dict()["classes"] == ["a", "b"]
