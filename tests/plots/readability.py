"""Whether a picture can be read: what text it has, and that no text touches another or leaves the sheet."""

import numpy as np
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
    words = [word for word, _ in texts]
    low, high = (np.array([getattr(box, end) for _, box in texts]) for end in ("p0", "p1"))
    on_sheet = ((low >= -slack) & (high <= np.array([width, height]) + slack)).all(axis=1)
    assert on_sheet.all(), f"{words[int(np.argmin(on_sheet))]!r} leaves the sheet"
    for i, word in enumerate(words):
        shared = np.minimum(high[i], high[:i]) - np.maximum(low[i], low[:i])
        touched = np.flatnonzero((shared > slack).all(axis=1))
        assert not len(touched), f"{word!r} and {words[touched[0]]!r} overlap"
