"""Tables in the order of time: learned from the first part, judged on the rest.

The default is not worse than the shares of the classes, and not worse by over 15 % than logistic regression.
"""

import numpy as np
import pandas as pd
import pytest
from benchmarks.data import find_file

from tests.relations.cases import Outcome, probabilities, train
from tests.relations.tables import DATA, TARGET, Task

SLACK = 1.02
"""The share of the constant's log-loss that two thirds of a drifting table may cost."""

REASONS = {"drifting_incomes": "the classes of later rows are turned round: what was learned before is wrong"}
"""Tables on which the default may be worse, and why."""


def hours(n, start="2023-01-02"):
    return pd.Series(pd.Timestamp(start) + pd.to_timedelta(np.arange(n), unit="h"))


def trains_late(rng):
    """Delays by hour and weekday, over two thirds of a year, fewer after the summer."""
    when = hours(6000)
    rush = when.dt.hour.isin([7, 8, 16, 17]) & (when.dt.weekday < 5)
    late = rng.random(6000) < np.where(rush, 0.5, 0.15) * np.where(when.dt.month > 6, 0.7, 1.0)
    return pd.DataFrame({"departure": when, "line": rng.choice(list("ABCD"), 6000)}), late


def heating(rng):
    """Three winters: the month and the temperature say the same."""
    when = hours(1100 * 24)[::12].reset_index(drop=True)
    season = np.cos((when.dt.dayofyear - 20) / 365 * 2 * np.pi)
    outside = 10 - 9 * season + rng.normal(0, 4, len(when))
    on = rng.random(len(when)) < 1 / (1 + np.exp(0.5 * (outside - 8)))
    return pd.DataFrame({"read": when, "outside": outside}), on


def ageing_sensor(rng):
    """A sensor whose zero drifts by a deviation while the table is recorded."""
    n = 4000
    bad = rng.random(n) < 0.15
    values = rng.normal(1.5 * bad + np.linspace(0, 1, n), 1)
    return pd.DataFrame({"at": hours(n), "value": values, "batch": np.arange(n) // 400}), bad


def new_shops(rng):
    """Shops that come and go, of a class of a fiftieth."""
    n = 12_000
    fraud = rng.random(n) < 0.02
    shop = rng.integers(0, 40, n) + np.arange(n) // 300
    frame = {"day": hours(n), "shop": [f"shop {i}" for i in shop], "amount": np.exp(rng.normal(3 + fraud, 1, n))}
    return pd.DataFrame(frame), fraud


def changed_rule(rng):
    """A category whose meaning is reversed in the last third."""
    n = 5000
    kind = rng.integers(0, 5, n)
    share = np.where(np.arange(n) < 4200, 0.15 + 0.1 * kind, 0.55 - 0.1 * kind)
    y = rng.random(n) < share
    return pd.DataFrame({"at": hours(n), "kind": [f"k{i}" for i in kind], "x": rng.normal(y * 1.0, 1)}), y


def noise(rng):
    """Dates and numbers that say nothing."""
    n = 1500
    return pd.DataFrame({"at": hours(n), "a": rng.normal(0, 1, n), "b": rng.normal(0, 1, n)}), rng.random(n) < 0.3


def water_flow(rng):
    """The flow of water in a district, whether above its median (river)."""
    import river.datasets

    rows = [(x["Time"].replace(tzinfo=None), y) for x, y in river.datasets.WaterFlow()]
    frame = pd.DataFrame(rows, columns=["time", "flow"])
    return frame[["time"]], (frame.flow > frame.flow[: len(frame) * 2 // 3].median()).to_numpy()


def polls(rng):
    """Polls of approval by five institutes, whether their mean is above its median (river)."""
    import river.datasets

    frame = pd.DataFrame([{**x, "mean": y} for x, y in river.datasets.TrumpApproval()])
    return frame.drop(columns="mean"), (frame["mean"] > frame["mean"][: len(frame) * 2 // 3].median()).to_numpy()


def drifting_incomes(rng):
    """Incomes of which more and more are turned round (the data folder)."""
    frame = pd.read_csv(find_file("cautions/F39_time_concept_drift.csv.gz"))
    return frame.drop(columns="income"), (frame.income == ">50K").to_numpy()


def men_by_year(rng):
    """Wages of men over eight years, of which the last two are predicted: union or not (the data folder)."""
    frame = pd.read_csv(find_file("cautions/F25_panel_males_no_id.csv.gz"))
    frame = frame.sort_values("year", kind="stable").reset_index(drop=True)
    return frame.drop(columns="union"), (frame.union == "yes").to_numpy()


INVENTED = [trains_late, heating, ageing_sensor, new_shops, changed_rule, noise]
OF_DATA = [drifting_incomes, men_by_year]
needs_data = pytest.mark.skipif(DATA is None, reason="needs the folder of data that DECIBAN_DATA names")


@pytest.mark.parametrize(
    "make", [*INVENTED, water_flow, polls, *(pytest.param(make, marks=needs_data) for make in OF_DATA)]
)
def test_the_default_is_not_worse_than_shares_and_logistic_regression(make):
    frame, is_positive = make(np.random.default_rng(4))
    frame[TARGET] = np.where(is_positive, "yes", "no")
    cut = len(frame) * 2 // 3
    task = Task(frame[:cut].reset_index(drop=True), frame[cut:].reset_index(drop=True))

    def loss(**options):
        model = train(task.train, **options)
        return Outcome(task, model, probabilities(model, task.test)).log_loss

    share, own = is_positive[:cut].mean(), is_positive[cut:]
    constant = -np.log(np.where(own, share, 1 - share)).mean()
    default, logistic = loss(), loss(learner="logistic", C=1.0, judge=False)
    if make.__name__ not in REASONS:
        losses = f"default {default:.4f}, constant {constant:.4f}, logistic {logistic:.4f}"
        assert default <= min(constant * SLACK, logistic * 1.15), losses
