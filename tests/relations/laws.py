"""What must hold of a model, as users train it: its answers, and adding and forgetting."""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import deciban
from tests.relations.cases import Case, NotApplicable, difference, probabilities
from tests.relations.tables import TARGET, Task

Law = Callable[[Case, np.random.Generator], str | None]
Frame = pd.DataFrame


def _compare(first: Frame, second: Frame, limit: float = 1e-9) -> str | None:
    gap = difference(first, second)
    return f"|Δp| {gap:.3g}" if gap > limit else None


def _quietly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def sums_to_one(case: Case, rng: np.random.Generator) -> str | None:
    p = case.base.p.to_numpy()
    gap = np.abs(p.sum(axis=1) - 1).max()
    return f"sum off by {gap:.3g}" if not gap <= 1e-12 or p.min() < 0 else None


def one_row_is_a_batch(case: Case, rng: np.random.Generator) -> str | None:
    rows = case.task.test
    places = rng.choice(len(rows), min(5, len(rows)), replace=False)
    alone = pd.concat([probabilities(case.base.model, rows.iloc[[i]]) for i in places], ignore_index=True)
    return _compare(alone, case.base.p.iloc[places].reset_index(drop=True))


def other_columns_of_the_rows(case: Case, rng: np.random.Generator) -> str | None:
    """Predict rows without the answer, with their columns in another order, and with a column nobody knows."""
    rows = case.task.test.drop(columns=TARGET)
    rows = rows[rows.columns[rng.permutation(len(rows.columns))]].assign(unknown="x")
    return _compare(probabilities(case.base.model, rows), case.base.p)


def reloaded(case: Case, rng: np.random.Generator) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.deciban"
        case.base.model.save(path)
        p = probabilities(deciban.load(path), case.task.test)
    return None if p.equals(case.base.p) else _compare(p, case.base.p, 0.0) or "shapes differ"


def _features(case: Case) -> list[str]:
    return [name for name in case.task.columns(lambda _: True) if name != case.task.options.get("weights")]


def column_left_out(case: Case, rng: np.random.Generator) -> str | None:
    """Leave a column out at prediction, against the same rows with its cells missing."""
    name = str(rng.choice(_features(case)))
    rows = case.task.test
    without = probabilities(case.base.model, rows.drop(columns=name), allow_missing_columns=True)
    return _compare(without, probabilities(case.base.model, rows.assign(**{name: None})))


def unseen_is_missing(case: Case, rng: np.random.Generator) -> str | None:
    """Give a category a level that no row has, against the same rows with its cells missing."""
    names = [name for name, role in case.base.model.roles.items() if role == "category"]
    names = [name for name in names if pd.api.types.is_string_dtype(case.task.train[name].dtype)]
    if not names:
        raise NotApplicable
    name, rows = str(rng.choice(names)), case.task.test
    unseen = probabilities(case.base.model, rows.assign(**{name: "no row has this"}))
    return _compare(unseen, probabilities(case.base.model, rows.assign(**{name: None})))


def declared_is_missing(case: Case, rng: np.random.Generator) -> str | None:
    """Declare a level without a row before training, and give it, against the same rows with its cells missing."""
    names = case.task.columns(lambda cells: pd.api.types.is_string_dtype(cells.dtype))
    names = [name for name in names if case.base.model.roles.get(name) == "category"]
    if not names:
        raise NotApplicable
    name = str(rng.choice(names))
    levels = [*sorted(set(case.task.train[name].dropna()) | set(case.task.test[name].dropna())), "declared"]
    convert = lambda frame: frame.assign(**{name: frame[name].astype(pd.CategoricalDtype(levels))})  # noqa: E731
    task = case.task.change(convert)
    model = case.train(task)
    declared = task.test.assign(**{name: pd.Categorical(["declared"] * len(task.test), levels)})
    empty = task.test.assign(**{name: pd.Categorical([None] * len(task.test), levels)})
    return _compare(probabilities(model, declared), probabilities(model, empty))


def unseen_flag_is_missing(case: Case, rng: np.random.Generator) -> str | None:
    """Learn a flag that is never true, and give a true one, against the same rows with its cells missing."""
    task = case.task.change(lambda frame: frame.assign(never=np.arange(len(frame)) < 0))
    roles = {**task.options.get("roles", {}), "never": "flag"}
    model = case.train(task, roles=roles)
    true = probabilities(model, task.test.assign(never=True))
    return _compare(true, probabilities(model, task.test.assign(never=None)))


def unseen_month_is_missing(case: Case, rng: np.random.Generator) -> str | None:
    """Learn dates of three months, and give one of another, against a date with the same weekday that was seen."""
    days = pd.Timestamp("2023-01-02") + pd.to_timedelta(np.arange(len(case.task.train)) % 90, unit="D")
    train = case.task.train.assign(when=days)
    model = case.train(replace(case.task, train=train))
    rows = case.task.test.assign(when=pd.Timestamp("2023-07-03"))
    seen = case.task.test.assign(when=pd.Timestamp("2023-01-02"))
    if model.roles.get("when") != "date" or "month" in next(c for c in model.columns if c.name == "when").parts:
        raise NotApplicable
    return _compare(probabilities(model, rows), probabilities(model, seen))


def empty_row_is_the_prior(case: Case, rng: np.random.Generator) -> str | None:
    rows = case.task.test.head(1).drop(columns=TARGET)
    p = probabilities(case.base.model, rows.mask(np.ones(rows.shape, bool)))
    prior = pd.DataFrame([{str(label): share for label, share in case.base.model.priors.items()}])
    return _compare(p, prior[sorted(prior.columns)])


def mean_is_the_share(case: Case, rng: np.random.Generator) -> str | None:
    """Compare the mean probability of rows held out with the share: within 3 %, or three standard errors."""
    if case.setting not in ("default", "temperature"):
        raise NotApplicable
    p, own = case.base.p, case.task.test[TARGET].astype(str)
    for label in p.columns:
        x = p[label].to_numpy()
        gap, share = abs(x.mean() - (own == label).mean()), (own == label).mean()
        errors = np.sqrt(((own == label).to_numpy() - x).var() / len(x))
        if gap > 0.03 * share + 3 * errors + 1 / len(x):
            return f"class {label}: mean p {x.mean():.4f}, share {share:.4f}, standard error {errors:.4f}"
    return None


def out_of_range(case: Case, rng: np.random.Generator) -> str | None:
    """Put numbers far out of their range: probabilities stay finite, and sum to 1."""
    numbers = [n for n in _features(case) if case.task.train[n].dtype.kind in "fi"]
    if not numbers:
        raise NotApplicable
    far = {n: float(rng.choice([-1, 1])) * 10 ** rng.uniform(3, 12) * (case.task.train[n].std() + 1) for n in numbers}
    roles = case.base.model.roles
    rows = case.task.test.assign(**{n: abs(x) if roles.get(n) == "count" else x for n, x in far.items()})
    p = probabilities(case.base.model, rows).to_numpy()
    return None if np.isfinite(p).all() and np.abs(p.sum(axis=1) - 1).max() <= 1e-9 else "not finite, or no sum of 1"


def lone_level_of_the_common_class(case: Case, rng: np.random.Generator) -> str | None:
    """Give a level that one row of the most common class has: no other class becomes more probable than it is."""
    shares = case.task.train[TARGET].value_counts(normalize=True)
    if len(shares) != 2 or shares.iloc[0] < 0.6:
        raise NotApplicable
    usual = np.array([f"usual {i}" for i in rng.integers(0, 4, len(case.task.train))])
    usual[int(rng.choice(np.flatnonzero(case.task.train[TARGET] == shares.index[0])))] = "lone"
    model = case.train(replace(case.task, train=case.task.train.assign(level=usual)))
    rows = case.task.test.assign(level="lone")
    p, without = (probabilities(model, r)[str(shares.index[1])] for r in (rows, rows.assign(level=None)))
    gap = (p - without).max()
    return f"p of the rare class rises by {gap:.3g}" if gap > 1e-9 else None


def _parts(task: Task, rng: np.random.Generator) -> list[Frame]:
    """Divide the rows to learn in three parts, a half and two quarters, each with rows of every class."""
    part = np.empty(len(task.train), int)
    for label in task.train[TARGET].unique():
        own = rng.permutation(np.flatnonzero(task.train[TARGET] == label))
        part[own] = np.array([0, 1, 2, 0])[np.arange(len(own)) % 4]
    return [task.train[part == i] for i in range(3)]


def _learn_part(case: Case, rows: Frame, like: Any = None) -> Any:
    task = replace(case.task, train=rows)
    if like is None:
        return case.train(task)
    return _quietly(deciban.train, rows, target=TARGET, like=like, judge=False)


def parts_in_any_order(case: Case, rng: np.random.Generator) -> str | None:
    """Add two parts to the model of a third, in either order."""
    case.need_ledger()
    first, second, third = _parts(case.task, rng)
    models = [_learn_part(case, first) for _ in range(2)]
    for model, order in zip(models, ((second, third), (third, second))):
        for rows in order:
            _quietly(model.add, rows)
    return _compare(*(probabilities(model, case.task.test) for model in models))


def parts_are_one_pass(case: Case, rng: np.random.Generator) -> str | None:
    """Add parts to the model of the first, against one pass over all rows with its roles."""
    case.need_ledger()
    first, second, third = _parts(case.task, rng)
    model = _learn_part(case, first)
    if model.calibration is not None:
        raise NotApplicable
    whole = _learn_part(case, case.task.train, like=model)
    for rows in (second, third):
        _quietly(model.add, rows)
    return _compare(*(probabilities(m, case.task.test) for m in (model, whole)), 1e-7)


def add_and_forget(case: Case, rng: np.random.Generator) -> str | None:
    case.need_ledger()
    rows = case.task.test[case.task.test[TARGET].isin(case.task.train[TARGET])]
    model = copy.deepcopy(case.base.model)
    if case.task.options.get("weights"):
        rows = rows.assign(**{case.task.options["weights"]: 2})
    _quietly(model.add, rows)
    _quietly(model.forget, rows)
    return _compare(probabilities(model, case.task.test), case.base.p, 1e-7)


def forget_and_add(case: Case, rng: np.random.Generator) -> str | None:
    case.need_ledger()
    rows = case.task.train.iloc[rng.choice(len(case.task.train), 5, replace=False)]
    model = copy.deepcopy(case.base.model)
    _quietly(model.forget, rows)
    _quietly(model.add, rows)
    return _compare(probabilities(model, case.task.test), case.base.p, 1e-7)


def sum_and_difference(case: Case, rng: np.random.Generator) -> str | None:
    """A + B − B = A, and A + B = B + A."""
    case.need_ledger()
    rows = pd.concat(_parts(case.task, rng)[:2])
    model = _learn_part(case, rows)
    other = _learn_part(case, case.task.train.drop(rows.index), like=model)
    both = _quietly(lambda: model + other)
    back = _quietly(lambda: both - other)
    test = case.task.test
    if wrong := _compare(probabilities(back, test), probabilities(model, test), 1e-7):
        return f"A + B − B: {wrong}"
    wrong = _compare(probabilities(both, test), probabilities(_quietly(lambda: other + model), test))
    return f"B + A: {wrong}" if wrong else None


def sum_is_adding(case: Case, rng: np.random.Generator) -> str | None:
    case.need_ledger()
    rows = pd.concat(_parts(case.task, rng)[:2])
    rest = case.task.train.drop(rows.index)
    model = _learn_part(case, rows)
    both = _quietly(lambda: model + _learn_part(case, rest, like=model))
    _quietly(model.add, rest)
    return _compare(probabilities(both, case.task.test), probabilities(model, case.task.test), 1e-7)


LAWS: dict[str, Law] = {
    "probabilities sum to 1": sums_to_one,
    "a row alone is a row of a batch": one_row_is_a_batch,
    "other columns of the rows": other_columns_of_the_rows,
    "saved and loaded": reloaded,
    "a column left out is missing": column_left_out,
    "an unseen level is missing": unseen_is_missing,
    "a declared level without a row is missing": declared_is_missing,
    "a flag's unseen value is missing": unseen_flag_is_missing,
    "an unseen month says nothing": unseen_month_is_missing,
    "an empty row has the prior": empty_row_is_the_prior,
    "mean p is the share": mean_is_the_share,
    "far out of range": out_of_range,
    "a lone level of the common class": lone_level_of_the_common_class,
    "parts added in any order": parts_in_any_order,
    "parts added are one pass": parts_are_one_pass,
    "added and forgotten": add_and_forget,
    "forgotten and added": forget_and_add,
    "A + B − B, and B + A": sum_and_difference,
    "A + B is A with B added": sum_is_adding,
}
