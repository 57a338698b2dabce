"""The origin and the unit of a number change nothing: longitudes, Unix times and Julian days are numbers too."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import deciban

pytestmark = pytest.mark.filterwarnings("ignore:.*outside:deciban.errors.DecibanWarning")

N = 4000
UNITS = {
    "longitude": (-73.98, 0.05),
    "Unix time": (1.78e9, 20 * 86_400),
    "Unix time in ms": (1.78e12, 1.7e9),
    "Julian day": (2_461_000, 20),
    "UTM northing": (5_400_000, 3000),
    "mains frequency": (50, 0.02),
    "a million deviations off": (-1e6, 1.0),
    "in billions": (0.0, 1e-9),
}
"""Units by their usual value and the deviation of a class."""

SETTINGS = {
    "default": {},
    "Gaussian": {"numbers": "number"},
    "bins": {"numbers": "binned"},
    "logistic": {"learner": "logistic", "C": 1.0},
    "evidence": {"learner": "evidence", "C": 1.0},
    "tan": {"structure": "tan"},
}


def draw():
    rng = np.random.default_rng(0)
    y = rng.random(N) < 0.3
    return rng.normal(2 * y, 1), y


def answer(x, y, **settings):
    """Return the log-loss on the second half, the probabilities there, and the model of the first half."""
    table = pd.DataFrame({"v": x, "y": np.where(y, "b", "a")})
    model = deciban.train(table[: N // 2], target="y", judge=False, **settings)
    p = model.predict_proba(table[N // 2 :])["b"].to_numpy()
    return -np.log(np.where(y[N // 2 :], p, 1 - p)).mean(), p, model


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_column_predicts_alike_wherever_its_origin_is(setting):
    z, y = draw()
    exact = expit(2 * z - 2 + np.log(0.3 / 0.7))[N // 2 :]
    best = -np.log(np.where(y[N // 2 :], exact, 1 - exact)).mean()
    loss, p, model = answer(z, y, **SETTINGS[setting])
    near = []
    for unit, (origin, deviation) in UNITS.items():
        other, q, moved = answer(origin + deviation * z, y, **SETTINGS[setting])
        assert other == pytest.approx(best, rel=0.05), unit
        assert moved.roles == model.roles, unit
        if setting == "bins":
            assert other == pytest.approx(loss, rel=0.01), unit
            near.append((np.abs(p - q) < 0.02).mean())
        elif setting != "evidence":  # its folds may depend on the values
            np.testing.assert_allclose(p, q, atol=1e-6, err_msg=unit)
    assert np.median(near or 1.0) > 0.99
    assert np.min(near or 1.0) > 0.95  # of two cuts that are as good, the cells decide


@pytest.mark.parametrize("origin", [-73.98, 1.78e9])
def test_bins_of_at_most_1024_values_are_the_same_wherever_their_origin_is(origin):
    z, y = draw()
    z = np.round(np.where(y, 3 * np.sign(z - 2), 0) + z, 2)
    assert len(np.unique(z[: N // 2])) <= 1024
    loss, p, model = answer(z, y)
    assert model.roles == {"v": "binned"}
    assert loss < 0.4
    np.testing.assert_allclose(answer(z + origin, y)[1], p, atol=1e-9)


def test_neighbourhoods_are_found_by_longitude_and_latitude():
    """An invented town at the place of Ames, 28 quarters of its size; the same less the mean is as easy."""
    rng = np.random.default_rng(3)
    k = rng.integers(0, 28, 2930)
    east, north = rng.uniform(0, 0.09, 28), rng.uniform(0, 0.08, 28)
    shape = rng.uniform(0.001, 0.003, (2, 28))
    table = pd.DataFrame({
        "longitude": -93.69 + east[k] + shape[0, k] * rng.normal(size=len(k)),
        "latitude": 41.99 + north[k] + shape[1, k] * rng.normal(size=len(k)),
        "quarter": np.char.add("q", k.astype(str)),
    })  # fmt: skip
    centred = table.assign(longitude=table.longitude + 93.64, latitude=table.latitude - 42.03)
    right = []
    for each in (table, centred):
        model = deciban.train(each[:2000], target="quarter")
        right.append((np.array(model.predict(each[2000:])) == each.quarter[2000:].to_numpy()).mean())
    assert right[0] > 0.85
    assert right[0] == pytest.approx(right[1], abs=0.01)
