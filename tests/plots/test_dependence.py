"""Pictures of dependence: a cell is a pair of features, given the class beneath the diagonal and without it above."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot

import deciban
from deciban.errors import InputError
from deciban.plots import dependence
from deciban.plots.dependence import order_alike
from tests.plots.readability import assert_readable
from tests.plots.reports import LONG


def found(d, name="x", actions=None, seed=0):
    """Features in three groups that depend on each other, all else next to independent."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, d)
    upper = np.triu(np.where(group[:, None] == group, rng.uniform(1, 5, (d, d)), rng.normal(0, 0.01, (d, d))), 1)
    given = upper + upper.T + np.diag(np.full(d, np.nan))
    names = tuple(f"{name}{j}" for j in range(d))
    return SimpleNamespace(features=names, matrix=given, marginal=given * 0.5, actions=actions or {})


def cells(ax):
    return np.asarray(ax.images[0].get_array().filled(np.nan))


def test_beneath_the_diagonal_stands_what_the_class_leaves_and_above_what_there_is_without_it():
    made = found(7)
    shown, lower, upper = cells(dependence(made)), np.tril_indices(7, -1), np.triu_indices(7, 1)
    np.testing.assert_allclose(shown[lower], np.maximum(made.matrix[lower], 0))
    np.testing.assert_allclose(shown[upper], np.maximum(made.marginal[upper], 0))
    assert np.isnan(shown.diagonal()).all()


def test_few_features_have_numbers():
    ax = dependence(found(3))
    texts = {tuple(map(int, t.get_position()[::-1])): t.get_text() for t in ax.texts}
    assert len(texts) == 6
    value = max(found(3).matrix[1, 0], 0.0)
    assert float(texts[1, 0]) == pytest.approx(value, abs=0.05)


def test_what_should_be_done_is_framed_wherever_the_pair_stands():
    made = found(9, actions={(1, 4): "join", (2, 8): "drop"})
    for order in ("table", "alike"):
        ax = dependence(made, order=order)
        names = [t.get_text() for t in ax.get_yticklabels()]
        frames = {p.get_gid(): (round(p.get_x() + 0.46), round(p.get_y() + 0.46)) for p in ax.patches}
        pairs = {action: {names[i] for i in place} for action, place in frames.items()}
        assert pairs == {"join": {"x1", "x4"}, "drop": {"x2", "x8"}}
        assert all(column < row for column, row in frames.values())
        assert "joined" in ax.get_xlabel()
        assert "repeats" in ax.get_xlabel()


@pytest.mark.parametrize("d", [2, 3, 6, 7, 20, 60, 61, 300])
@pytest.mark.parametrize("name", ["x", LONG])
def test_no_text_touches_another(d, name):
    assert_readable(dependence(found(d, name, {(0, 1): "join"})).figure)


def test_of_hundreds_of_features_the_strongest_pairs_are_named():
    made = found(200)
    made.matrix[150, 20] = made.matrix[20, 150] = 30.0
    ax = dependence(made)
    assert "1: x20 and x150, 30" in ax.get_xlabel()
    ring = next(line for line in ax.lines if line.get_gid() == "ring")
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (20, 150)


def test_features_that_depend_on_each_other_stand_together():
    made = found(30, seed=4)
    places = order_alike(made.matrix)
    assert sorted(places.tolist()) == list(range(30))
    near = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) == 1
    strength = np.nan_to_num(made.matrix)
    assert strength[np.ix_(places, places)][near].sum() > 1.5 * strength[near].sum()


def test_where_nothing_depends_nothing_looks_like_much():
    made = found(4)
    made.matrix[:], made.marginal[:] = 0.001, -0.001
    ax = dependence(made)
    assert ax.images[0].norm(0.001) < 0.1


def test_what_the_library_finds_can_be_drawn():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    a = rng.normal(size=400) + y
    rows = {"a": a, "b": a + 0.1 * rng.normal(size=400), "c": rng.normal(size=400), "y": y}
    ax = dependence(deciban.dependence(rows, target="y"))
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]
    shown = cells(ax)
    assert shown[1, 0] == np.nanmax(np.tril(np.nan_to_num(shown)))
    assert_readable(ax.figure)


def test_it_is_drawn_on_the_given_axes_and_refuses_what_it_cannot_draw():
    _, ax = pyplot.subplots()
    assert dependence(found(4), ax=ax) is ax
    with pytest.raises(InputError, match="2 to 1000 features, not 1"):
        dependence(found(1))
    with pytest.raises(InputError, match="'table' or 'alike', not 'name'"):
        dependence(found(3), order="name")
