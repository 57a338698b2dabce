"""Table models as HTML: classes with their priors, the strongest columns, the role of every column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deciban.formatting import format_count, format_number, format_percent
from deciban.html_fragments import (
    Markup,
    draw_interval,
    draw_posterior,
    element,
    join,
    make_details,
    make_notes,
    make_pairs,
    make_table,
    wrap_for_notebook,
)

if TYPE_CHECKING:
    from deciban.model.description import Description
    from deciban.model.model import Model

N_HTML_FEATURES = 10
"""Number of the strongest features that are shown."""

N_HTML_CLASSES = 12
"""Number of classes whose priors are shown."""


def show_model(model: Model) -> Markup:
    """Return what the model predicts, from which columns, and how well where that is known."""
    description = model.describe()
    used = format_count(sum(note.role != "skip" for note in description.columns), "column")
    rows, parameters = format_count(description.weight, "row"), format_count(description.n_parameters, "parameter")
    title = element("p", element("b", model.target), f" from {used}, {rows} learned, {parameters}, {model.learner}")
    return join(
        title, _show_quality(model), show_priors(description), show_strongest(description), show_roles(description)
    )


def _show_quality(model: Model) -> Markup | None:
    """Return the held-out accuracy and log-loss; None where they are not known."""
    figures = model.quality
    if not figures or figures.get("accuracy") is None:
        return None
    pairs: list[tuple[Any, Any]] = [
        ("held-out accuracy", draw_interval(figures["accuracy"], tuple(figures["accuracy_interval"])))
    ]
    if figures.get("log_loss") is not None:
        pairs.append(("log-loss", format_number(figures["log_loss"])))
    return make_pairs(pairs)


def show_priors(description: Description) -> Markup:
    """Return the classes with their prior probabilities."""
    shares = description.classes[:N_HTML_CLASSES]
    more = len(description.classes) - len(shares)
    priors = draw_posterior([(share.label, share.prior) for share in shares], "prior of each class")
    return join(priors, make_notes([f"… and {format_count(more, 'more class')}"] if more else []))


def show_strongest(description: Description) -> Markup | None:
    """Return the strongest features with their average evidence and what it rests on; None where there are none."""
    shown = description.strongest[:N_HTML_FEATURES]
    if not shown:
        return None
    rows = []
    for each in shown:
        interval = f"{format_number(each.low, 2)} to {format_number(each.high, 2)}"
        summary = "; ".join(str(summary) for summary in each.summaries[:2])
        rows.append([each.feature, summary, f"{format_number(each.evidence, 2)} dB", interval])
    caption = "strongest columns: average evidence for the true class"
    return make_table(["column", "values", "evidence", "90 % interval"], rows, caption, left=(0, 1))


def show_roles(description: Description) -> Markup:
    """Return every column with its role, the reason, and the share of missing values, below a click."""
    rows = [
        [note.name, note.role, note.reason, "" if note.missing is None else format_percent(note.missing)]
        for note in description.columns
    ]
    table = make_table(["column", "role", "why", "missing"], rows, left=(0, 1, 2))
    return make_details(f"roles of {format_count(len(rows), 'column')}", table)


def show_in_notebook(model: Model) -> str:
    """Return the model with its style."""
    return wrap_for_notebook(show_model(model))
