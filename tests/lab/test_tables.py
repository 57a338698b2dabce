"""The figures promised on real tables come out; skipped where the data folder is absent."""

import pytest
from benchmarks import data, lab_tables

pytestmark = pytest.mark.corpus


def present(measure):
    try:
        return list(measure())
    except data.DataMissingError as absent:
        pytest.skip(str(absent))


def test_adult_is_as_published():
    for figure in present(lab_tables.adult):
        assert figure.met, figure


@pytest.mark.thorough
def test_skipping_missing_cells_costs_no_more_than_a_point_against_imputing_them():
    measured = present(lambda: lab_tables.holes(lab_tables.HOLED))
    assert len(measured) == len(lab_tables.HOLED)
    assert lab_tables.cost_of_skipping(measured) <= lab_tables.SLACK
