"""Pictures of telltales: a bar is a word's evidence, a line its interval, a panel a class."""

import pytest

import deciban
from deciban.errors import InputError, UndefinedError
from deciban.plots import telltales
from deciban.plots.evidence import arrange_panels
from deciban.plots.style import COLOURS

TEXTS = ["free money now", "free prize $5$", "lunch at noon", "noon meeting at two", "money money prize", "two of us"]
LABELS = ["spam", "spam", "ham", "ham", "spam", "ham"]


@pytest.fixture(scope="module")
def model():
    return deciban.TextClassifier(words={"tokens": "whitespace"}).fit(TEXTS, LABELS)


def many(n):
    return deciban.TextClassifier().fit([f"word{k} again word{k}" for k in range(n)], [f"c{k:02}" for k in range(n)])


def words(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def lines(ax):
    """The ends of each interval, from the top down."""
    return [tuple(segment[:, 0]) for segment in ax.collections[0].get_segments()]


def test_bars_and_lines_are_what_the_model_says(model):
    figure = telltales(model, n=5)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["ham", "spam"]
    for ax, label in zip(figure.axes, ("ham", "spam")):
        expected = [word for word in model.telltales(label, 5) if word.decibans > 0]
        assert words(ax) == [word.word for word in expected]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx([word.decibans for word in expected])
        reach = ax.get_xlim()[1]
        for (low, high), word in zip(lines(ax), expected):
            assert (low, high) == pytest.approx((max(word.low, 0), min(word.high, reach)))
        assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_a_word_with_dollars_is_no_formula(model):
    ax = telltales(model, n=9).axes[1]
    label = next(label for label in ax.get_yticklabels() if label.get_text() == "$5$")
    assert not label.get_parse_math()


def test_all_panels_have_one_scale():
    figure = telltales(many(7), n=2)
    assert len({ax.get_xlim() for ax in figure.axes}) == 1


@pytest.mark.parametrize("n", [1, 3, 4, 7, 20])
def test_every_class_has_a_panel_of_its_own(n):
    down, across = arrange_panels(n)
    assert down * across >= n
    assert (down - 1) * across < n
    if n > 1:
        figure = telltales(many(n), n=3)
        figure.draw_without_rendering()
        assert [ax.get_title(loc="left") for ax in figure.axes] == [f"c{k:02}" for k in range(n)]
        boxes = [ax.get_tightbbox() for ax in figure.axes]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
        width, height = figure.bbox.width, figure.bbox.height
        assert all(b.x0 >= -1 and b.y0 >= -1 and b.x1 <= width + 1 and b.y1 <= height + 1 for b in boxes)


def test_some_classes_alone_keep_their_colours():
    model = many(4)
    whole, part = telltales(model), telltales(model, ["c02"])
    assert len(part.axes) == 1
    assert part.axes[0].patches[0].get_facecolor() == whole.axes[2].patches[0].get_facecolor()
    assert len({ax.patches[0].get_facecolor() for ax in whole.axes}) == 4 <= len(COLOURS)


def test_a_column_of_a_table_is_named():
    rows = {"a": TEXTS, "b": TEXTS[::-1], "y": LABELS}
    model = deciban.train(rows, target="y", roles={"a": "text", "b": "text"}, judge=False)
    assert words(telltales(model, ["spam"], n=2, column="a").axes[0]) == [
        word.word for word in model.telltales("spam", 2, column="a")
    ]
    with pytest.raises(InputError, match="2 columns of texts"):
        telltales(model)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_a_number_of_words_that_makes_no_sense_is_refused(model, n):
    with pytest.raises(InputError, match="n must be a whole number"):
        telltales(model, n=n)


def test_too_many_classes_or_none_are_refused(model):
    with pytest.raises(InputError, match="space for 1 to 40 classes, not 41"):
        telltales(many(41))
    with pytest.raises(InputError, match="not 0"):
        telltales(model, [])
    with pytest.raises(InputError, match="'eggs' is none of"):
        telltales(model, ["eggs"])


def test_hashed_words_have_no_names():
    model = deciban.TextClassifier(words={"hashed": 8}).fit(TEXTS, LABELS)
    with pytest.raises(UndefinedError, match="hashed"):
        telltales(model)
