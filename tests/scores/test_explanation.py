"""An explanation names its parts, adds up, and shows what is infinite or undefined."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from deciban.scores import DECIBAN, Explanation

EVIDENCE = np.array([[3.0, -1.0, 0.0], [0.5, 0.25, 12.0], [0.0, np.inf, 1.0], [np.nan, 1.0, 1.0]])
LABELS = np.array(["ham", "spam"])


def explanation(evidence=EVIDENCE, **extras):
    n = evidence.shape[0]
    prior = np.full(n, -2.0)
    with np.errstate(invalid="ignore"):
        total = prior + np.asarray(evidence.sum(axis=1)).reshape(-1) + sum(extras.values())
    return Explanation(evidence, prior, total, LABELS[[1] * n], LABELS[[0] * n], ["money", "meet", "bet"], extras)


def test_a_deciban_is_ten_logarithms_to_base_ten():
    assert pytest.approx(10.0) == np.log(10) * DECIBAN


@pytest.mark.parametrize("store", [np.asarray, csr_array])
def test_entries_are_named_strongest_first_and_add_up(store):
    found = explanation(store(EVIDENCE[:2]), shape=np.array([0.5, 0.0]))
    assert found.entries(0) == [("money", 3.0), ("prior", -2.0), ("meet", -1.0), ("shape", 0.5)]
    for row in range(2):
        assert sum(value for _, value in found.entries(row)) == pytest.approx(found.total[row])


def numbers(text):
    return [float(value.replace("−", "-")) for value in re.findall(r"([+−]\d+\.\d\d) dB", text)]


def test_the_text_shows_every_part_and_the_total():
    text = explanation().text(1)
    assert text.splitlines()[0] == "spam rather than ham"
    assert numbers(text) == [12.0, -2.0, 0.5, 0.25, 10.75]
    assert "total" in text.splitlines()[-1]
    assert "(11.9 to 1)" in text.splitlines()[-1]


def test_the_weakest_parts_are_summed():
    text = explanation().text(1, most=2)
    assert numbers(text) == [12.0, -2.0, 0.75, 10.75]
    assert "(2 more)" in text


def test_infinite_and_undefined_evidence_is_shown():
    assert "+∞ dB" in explanation().text(2)
    assert re.search(r"total +undefined +\(impossible under both classes\)$", explanation().text(3))


def test_odds_against_are_called_so():
    text = explanation(np.array([[-8.0, 0, 0]])).text()
    assert text.endswith("−10.00 dB  (10 to 1 against)")


def test_rows_are_picked_by_number_from_either_end_and_by_slice():
    found = explanation(shape=np.arange(4.0))
    assert len(found) == 4
    assert found[1].text() == found.text(1)
    assert found[-1].prior.tolist() == [-2.0]
    assert found[1:3].total.tolist() == found.total[1:3].tolist()
    assert found[1:3].extras["shape"].tolist() == [1.0, 2.0]
    with pytest.raises(IndexError):
        found[4]


def test_many_rows_print_as_few():
    printed = str(explanation(np.zeros((7, 3))))
    assert printed.count("rather than") == 5
    assert printed.endswith("… and 2 more rows")
    assert str(explanation(np.zeros((6, 3)))).endswith("… and 1 more row")
