"""Pictures are drawn without a window, and none is left open."""

import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    pyplot.close("all")
