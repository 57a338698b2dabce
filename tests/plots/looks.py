"""Whether a picture can be read: what text it has, and that no text touches another or leaves the sheet."""

from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


def written(figure):
    """Every text that is seen, with its place."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    unseen = _beyond(figure)
    seen = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in seen if text not in unseen]


def _beyond(figure):
    """The labels of ticks beyond the ends of their axes, which are there and not drawn."""
    unseen = set()
    for axis in figure.findobj(Axis):
        drawn = axis._update_ticks()
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        unseen |= {label for tick in ticks if tick not in drawn for label in (tick.label1, tick.label2)}
    return unseen


def assert_readable(figure, slack=1.0):
    """No two texts overlap by more than a dot or so, and all are on the sheet."""
    texts = written(figure)
    assert texts
    width, height = figure.bbox.width, figure.bbox.height
    for i, (word, a) in enumerate(texts):
        on_sheet = a.x0 >= -slack and a.y0 >= -slack and a.x1 <= width + slack and a.y1 <= height + slack
        assert on_sheet, f"{word!r} leaves the sheet"
        for other, b in texts[:i]:
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            up = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across <= slack or up <= slack, f"{word!r} and {other!r} overlap"
