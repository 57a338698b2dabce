"""The picture of `docs/lab/mail.md`: the spam that each filter does not catch, by the share of ham that it loses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .lab_mail_runs import MAX_LOST_SHARE, Measured, Slow, Submitted
from .mail_peers import Bogofilter

MIN_DRAWN_SHARE = 1e-4
"""The least share of spam on the logarithmic axis; a filter that catches all is drawn there."""


def draw_curves(done: Submitted, slow: Slow, path: Path) -> None:
    """Draw a panel for each corpus, a line for each filter."""
    from matplotlib import pyplot

    from deciban.plots.style import COLOURS, DASHES

    panels = gather_curves(done, slow)
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    figure, axes = pyplot.subplots(
        1, len(panels), figsize=(3.1 * len(panels), 3.6), sharey=True, layout="constrained"
    )
    for ax, (corpus, curves) in zip(np.atleast_1d(axes), panels.items()):
        for name, (x, y) in curves.items():
            style = names.index(name)
            ax.step(1000 * x, 100 * np.maximum(y, MIN_DRAWN_SHARE), where="post", color=COLOURS[style],
                    linestyle=DASHES[style], label=name)  # fmt: skip
        ax.set(title=corpus, xlabel="ham lost of 1 000", yscale="log", xlim=(0, 1000 * MAX_LOST_SHARE))
    axes_list = np.atleast_1d(axes)
    axes_list[0].set_ylabel("spam not caught (%)")
    lines = {line.get_label(): line for ax in axes_list for line in ax.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    pyplot.close(figure)


Lines = dict[str, tuple[Any, Any]]


def gather_curves(done: Submitted, slow: Slow) -> dict[str, Lines]:
    """Return x and y of each filter's line, by corpus."""
    models = [future.result() for future in done.models]
    by_name: dict[str, list[Measured | None]] = {name: [found[name] for found in models] for name in models[0]}
    for peers in (done.peers, slow):
        by_name |= {name: [future.result() for future in futures] for name, futures in peers.items()}
    panels = {"SpamAssassin": average_curves(by_name)}
    for (number, model), future in done.boxes.items():
        panels.setdefault(f"Enron{number}", {})[model] = compute_mean_curve([future.result()[0]])
    for number, peer in done.peer_boxes.items():
        panels[f"Enron{number}"][Bogofilter.name] = compute_mean_curve([peer.result()])
    return panels


def average_curves(by_name: Mapping[str, Sequence[Measured | None]]) -> Lines:
    """Return the mean line of each filter over the seeds; filters that are absent are left out."""
    present = {name: [one for one in found if one is not None] for name, found in by_name.items()}
    return {name: compute_mean_curve(found) for name, found in present.items() if found}


def compute_mean_curve(found: Sequence[Measured]) -> tuple[Any, Any]:
    """Return shares of lost ham, and the mean share of spam that is not caught at each."""
    x = np.arange(len(found[0].curve)) / found[0].n_ham
    return x, np.mean([one.curve for one in found], axis=0)
