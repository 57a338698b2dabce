"""The report of a model as pages show it: figures with intervals, the confusion, the strongest columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deciban.formatting import format_count, format_number, format_percent
from deciban.studio.findings import get_findings

if TYPE_CHECKING:
    from deciban.metrics.report import Report
    from deciban.model.model import Model
    from deciban.studio.workspace import Workspace

MAX_CONFUSION_TABLE_CLASSES = 12
"""The number of classes up to which the confusion is a table; of more it is a picture."""

SHOWN_FEATURES = 10
"""The number of the strongest columns that are shown."""


@dataclass(frozen=True)
class Figure:
    """A figure of a report with a note below it."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class StrongColumn:
    """A column with its average evidence for the true class; `share` is the length of its bar, from 0 to 1."""

    name: str
    evidence: str
    interval: str
    share: float
    summaries: tuple[str, ...]


@dataclass(frozen=True)
class ConfusionCell:
    """A cell of the confusion: rows of a class that were predicted as another, and their share of the class."""

    rows: str
    share: float
    is_right: bool


def make_model_context(workspace: Workspace) -> dict[str, Any]:
    """Return the variables of templates that describe the open model; without a report, the figures in its file."""
    model, report = workspace.need_model(), workspace.report
    quality = report.to_dict() if report is not None else model.quality
    return {
        "figures": list_figures(quality) if quality else [],
        "sentence": describe_accuracy(quality) if quality else "",
        "confusion": make_confusion(report) if report is not None else [],
        "strongest": list_strongest(model),
        "findings": get_findings(workspace),
    }


def list_figures(quality: Mapping[str, Any]) -> list[Figure]:
    """Return the main figures of a report, given as `Report.to_dict` or as a model file has them."""
    q = quality
    low_high = q.get("accuracy_interval")
    figures = [
        Figure(
            "Right on rows it had not seen", format_percent(q["accuracy"]),
            f"95 % interval: {100 * low_high[0]:.1f} to {100 * low_high[1]:.1f} %" if low_high else "",
        ),
        Figure(f"Always answering {q['commonest']}", format_percent(q["majority"]), "what it has to beat"),
    ]  # fmt: skip
    if q.get("log_loss") is not None:
        error = f"± {format_number(q['log_loss_error'], 3)}; " if q.get("log_loss_error") else ""
        figures.append(Figure("Log-loss", format_number(q["log_loss"], 3), f"{error}lower is better"))
    if q.get("calibration_error") is not None:
        figures.append(Figure("Calibration error", format_number(q["calibration_error"], 3), "0 is perfect"))
    if q.get("roc_auc") is not None and len(q["classes"]) == 2:
        figures.append(Figure("Area under ROC", f"{q['roc_auc']:.3f}", "1 is perfect, 0.5 is chance"))
    return figures


def describe_accuracy(quality: Mapping[str, Any]) -> str:
    """Return a sentence on how often a model is right, and what that is worth.

    >>> describe_accuracy({"accuracy": 0.9, "majority": 0.5, "commonest": "flu"})
    'Of 100 rows it had not seen, the model got about 90 right. Always answering flu would get 50.'
    """
    right, common = (round(100 * quality[name]) for name in ("accuracy", "majority"))
    return (
        f"Of 100 rows it had not seen, the model got about {right} right. "
        f"Always answering {quality['commonest']} would get {common}."
    )


def make_confusion(report: Report) -> list[tuple[str, list[ConfusionCell]]]:
    """Return the lines of the confusion: each true class with its cells; none where there are too many classes."""
    if not 1 < len(report.classes) <= MAX_CONFUSION_TABLE_CLASSES:
        return []
    lines = []
    for k, (label, line) in enumerate(zip(report.classes, report.confusion)):
        total = float(line.sum()) or 1.0
        cells = [ConfusionCell(format_count(n), n / total, k == l) for l, n in enumerate(line.round(3).tolist())]
        lines.append((str(label), cells))
    return lines


def list_strongest(model: Model) -> list[StrongColumn]:
    """Return the features with the strongest evidence for the true class, in decibans, at most `SHOWN_FEATURES`."""
    strongest = model.describe().strongest[:SHOWN_FEATURES]
    largest = max([s.evidence for s in strongest if s.evidence < float("inf")], default=0.0) or 1.0
    return [
        StrongColumn(
            s.feature, f"{format_number(s.evidence, 2)} dB",
            f"{format_number(s.low, 2)} to {format_number(s.high, 2)}",
            min(1.0, max(0.0, s.evidence / largest)),
            tuple(_shorten_summary(str(summary), s.feature) for summary in s.summaries),
        )
        for s in strongest
    ]  # fmt: skip


def _shorten_summary(text: str, feature: str) -> str:
    """Return a summary without the name of its feature, which stands next to it.

    >>> _shorten_summary("cough = none favours cold: +7.0 dB", "cough")
    'none favours cold: +7.0 dB'
    """
    return text.removeprefix(feature).lstrip(" =:") if text.startswith(feature) else text
