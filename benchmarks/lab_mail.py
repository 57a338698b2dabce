"""`python -m benchmarks.lab_mail`: rebuild `docs/lab/mail.md` from public mail, compared with other filters.

Exit code 1 if a figure is not the expected one, 2 if the data or bogofilter is absent. Takes half an hour on two
cores; --quick measures little of everything and writes no page.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from datetime import date
from functools import partial
from operator import attrgetter
from pathlib import Path

import numpy as np

from deciban.mail.evaluation.evaluate_filter import SPREAD, DrawsReport
from deciban.mail.evaluation.filter_metrics import FilterMetrics
from deciban.mail.store.store_schema import HAM_AT, MODELS, SPAM_AT

from . import data, lab_mail_switches, machine, mail_data, mail_peers
from .lab import Figure, format_percent, is_at_least, is_at_most
from .lab_evidence import format_small_percent
from .lab_mail_curves import draw_curves
from .lab_mail_runs import SLOW, SLOW_SEEDS, Measured, Row, Slow, Submitted, submit, submit_slow
from .lab_mail_words import AGAINST, ARRIVAL, CURVES, DRAWS, PAGE, SLOWER, VERDICTS
from .lab_tables import format_table
from .text_peers import PeerMissingError

SEEDS, DRAW_SEEDS = range(10), range(50)
PUBLISHED = {1: (0.960, 0.953), 2: (0.967, 0.978)}
"""Metsis et al. 2006, multinomial Boolean: recall of spam and of ham in Enron1 and Enron2."""


def format_splits(done: Submitted, slow: Slow, seeds: Sequence[int]) -> tuple[str, list[Figure]]:
    """Format the results by seed, and check whether the mean is below bogofilter's."""
    rows: list[Row] = [{name: found.metrics for name, found in future.result().items()} for future in done.models]
    add_peers_inplace(rows, done.peers)
    few = [{name: row[name] for name in (MODELS[0], mail_peers.Bogofilter.name)} for row in rows[: len(SLOW_SEEDS)]]
    add_peers_inplace(few, slow)
    sections = [
        AGAINST.format(n=len(mail_data.spamassassin().codes)),
        format_comparison(rows, seeds), format_targets(check_targets(rows)), "\n", SLOWER,
        format_comparison(few, SLOW_SEEDS),
    ]  # fmt: skip
    return "".join(sections), check_targets(rows)


def add_peers_inplace(rows: Sequence[Row], peers: Mapping[str, Sequence[Future[Measured | None]]]) -> None:
    """Add the metrics of other filters to the rows of ours."""
    for name, futures in peers.items():
        for row, future in zip(rows, futures):
            found = future.result()
            row[name] = found and found.metrics


def format_comparison(rows: Sequence[Row], seeds: Sequence[int]) -> str:
    """Format three tables: errors, ranking, verdicts."""
    names = [name for name in rows[0] if all(row[name] for row in rows)]
    errors = format_by_seed(rows, names, seeds, lambda f: f.error, format_small_percent)
    ranking = format_by_seed(rows, names, seeds, lambda f: f.misranked, partial(format_share, 4))
    verdict_table = format_verdicts(rows, names, seeds)
    return f"Errors at p ≥ ½:\n\n{errors}\n1 − AUC:\n\n{ranking}\n{VERDICTS}:\n\n{verdict_table}\n"


def mean(rows: Sequence[Row], name: str, of: Callable[[FilterMetrics], float]) -> float:
    """Return the mean of a metric over the seeds."""
    return float(np.mean([of(metrics) for row in rows if (metrics := row[name])]))


def format_by_seed(
    rows: Sequence[Row], names: Sequence[str], seeds: Sequence[int], of: Callable[[FilterMetrics], float],
    show: Callable[[float], str],
) -> str:  # fmt: skip
    """Format a table with a line for each seed, and their mean."""
    lines = [[str(seed), *(show(of(row[name])) for name in names)] for seed, row in zip(seeds, rows)]  # type: ignore[arg-type]
    lines.append(["*mean*", *(show(mean(rows, name, of)) for name in names)])
    return format_table(["seed", *names], lines)


def format_verdicts(rows: Sequence[Row], names: Sequence[str], seeds: Sequence[int]) -> str:
    """Format lost, missed and unsure messages of the filters that give verdicts."""
    without_verdicts = {kind.name for kind in SLOW if kind.thresholds is None}
    names = [name for name in names if name not in without_verdicts]
    lines = []
    for seed, row in zip(seeds, rows):
        lines.append([str(seed), *(f"{f.lost} / {f.missed} / {f.unsure}" for name in names if (f := row[name]))])
    counts = [attrgetter(count) for count in ("lost", "missed", "unsure")]
    means = [" / ".join(f"{mean(rows, name, of):.1f}" for of in counts) for name in names]
    return format_table(["seed", *names], [*lines, ["*mean*", *means]])


def below(most: float, share: float) -> bool:
    """Return whether a share is below a limit."""
    return share < most


def check_targets(rows: Sequence[Row]) -> list[Figure]:
    """Compare the default model with bogofilter: below it, and how near to half of it."""
    found = []
    for what, of, digits in (("errors", lambda f: f.error, 3), ("1 − AUC", lambda f: f.misranked, 4)):
        ours, peer = mean(rows, MODELS[0], of), mean(rows, mail_peers.Bogofilter.name, of)
        show = partial(format_share, digits)
        known = f"below bogofilter's {show(peer)}"
        found.append(Figure(f"{MODELS[0]}: {what}", known, ours, None, partial(below, peer), show))
        found.append(Figure(f"{MODELS[0]}: {what}", f"aim: half of it, {show(peer / 2)}", ours, None, None, show))
    for what, of, share in (("ham lost", attrgetter("lost"), 1.0), ("unsure", attrgetter("unsure"), 0.5)):
        ours, most = mean(rows, MODELS[0], of), share * mean(rows, mail_peers.Bogofilter.name, of)
        known = f"≤ {'half of ' if share < 1 else ''}bogofilter's {most / share:.4g}"
        found.append(Figure(f"{MODELS[0]}: {what}", known, ours, None, partial(is_at_most, most), format_count))
    return found


def check_verdicts(name: str, ours: FilterMetrics, peer: FilterMetrics) -> list[Figure]:
    """Compare the default model with bogofilter: ham lost, unsure messages and ranking."""
    show = partial(format_share, 4)
    return [
        Figure(f"{name}: ham lost", f"≤ bogofilter's {peer.lost}", ours.lost, None,
               partial(is_at_most, peer.lost), format_count),
        Figure(f"{name}: unsure", f"≤ half of bogofilter's {peer.unsure}", ours.unsure, None,
               partial(is_at_most, peer.unsure / 2), format_count),
        Figure(f"{name}: 1 − AUC", f"≤ bogofilter's {show(peer.misranked)}", ours.misranked, None,
               partial(is_at_most, peer.misranked), show),
    ]  # fmt: skip


def format_count(found: float) -> str:
    """Format a count, or the mean of counts."""
    return f"{found:.4g}"


def format_targets(metrics: Sequence[Figure]) -> str:
    """Format targets and results."""
    words = {True: "as expected", False: "**not as expected**", None: ""}
    lines = [[figure.model, figure.expected, figure.format(figure.ours), words[figure.met]] for figure in metrics]
    return format_table(["", "expected", "found", ""], lines)


def format_share(digits: int, share: float) -> str:
    """Format a small share."""
    return f"{100 * share:.{digits}f} %"


def format_draws(done: Submitted) -> tuple[str, list[Figure]]:
    """Format mean and spread over the draws, and compare the default model with bogofilter."""
    lines = []
    peer = [future.result().to_dict() for future in done.peer_draws]
    values = {name: [metrics[name] for metrics in peer] for name in SPREAD}
    figures: list[Figure] = []
    for model, futures in done.draws.items():
        report = DrawsReport(tuple(future.result() for future in futures))
        lines.append([model, *(format_spread(*report.spread(name), name) for name in SPREAD)])
        if model == MODELS[0]:
            figures = [
                Figure(f"400/50/50: {what}", f"≤ {words}bogofilter's {show(np.mean(values[name]))}",
                       report.spread(name)[0], None, partial(is_at_most, share * np.mean(values[name])), show)
                for what, name, words, share, show in (
                    ("ham lost", "ham_lost", "", 1.0, format_count),
                    ("unsure", "unsure", "half of ", 0.5, format_count),
                    ("1 − AUC", "one_minus_auc", "", 1.0, partial(format_share, 4)),
                )
            ]  # fmt: skip
    lines.append([
        mail_peers.Bogofilter.name,
        *(format_spread(float(np.mean(found)), float(np.std(found, ddof=1)), name) for name, found in values.items()),
    ])  # fmt: skip
    heads = ["filter", "errors at p ≥ ½", "1 − AUC", "log-loss", "ham lost", "spam missed", "unsure"]
    return f"{DRAWS}\n{format_table(heads, lines)}\n{format_targets(figures)}", figures


def format_spread(mean_value: float, deviation: float, name: str) -> str:
    """Format mean ± standard deviation."""
    if name in ("error", "one_minus_auc"):
        return f"{100 * mean_value:.2f} ± {100 * deviation:.2f} %"
    return f"{mean_value:.3f} ± {deviation:.3f}" if name == "log_loss" else f"{mean_value:.2f} ± {deviation:.2f}"


def format_mailboxes(done: Submitted) -> tuple[str, list[Figure]]:
    """Format the recalls of all models, and compare those of the default model with the published ones."""
    metrics, lines = [], []
    for (number, model), future in done.boxes.items():
        found, refits = future.result()
        lines.append([f"Enron{number}", model, *format_recalls(found.metrics), str(refits)])
        if model == MODELS[0]:
            metrics += check_verdicts(f"Enron{number}", found.metrics, done.peer_boxes[number].result().metrics)
            for kind, ours, known in zip(("spam", "ham"), recall_pair(found.metrics), PUBLISHED.get(number, ())):
                name = f"Enron{number}, {model}: {kind} recall"
                meets = partial(is_at_least, known)
                metrics.append(Figure(name, f"≥ {format_percent(known)}", ours, None, meets, format_percent))
    for number, peer in done.peer_boxes.items():
        lines.append([f"Enron{number}", mail_peers.Bogofilter.name, *format_recalls(peer.result().metrics), "–"])
    heads = [
        "mailbox",
        "filter",
        "spam recall",
        "ham recall",
        "lam",
        "1 − ROCA",
        "ham lost / spam missed / unsure",
        "fits",
    ]
    lines.sort(key=lambda line: line[0])
    return ARRIVAL + "\n" + format_targets(metrics) + "\n" + format_table(heads, lines), metrics


def recall_pair(metrics: FilterMetrics) -> tuple[float, float]:
    """Return the recall of spam and of ham."""
    return metrics.spam_recall, metrics.ham_recall


def format_recalls(metrics: FilterMetrics) -> list[str]:
    """Format TREC's measures of a filter."""
    kinds = f"{metrics.lost} / {metrics.missed} / {metrics.unsure}"
    return [
        *map(format_percent, recall_pair(metrics)),
        format_percent(metrics.lam),
        format_percent(metrics.misranked),
        kinds,
    ]


def measure(quick: bool, picture: Path) -> tuple[str, list[Figure]]:
    """Return the page's sections, and the checked metrics in them; draw the curves."""
    seeds, draw_seeds, boxes = (
        (SEEDS[:2], DRAW_SEEDS[:3], [1]) if quick else (SEEDS, DRAW_SEEDS, list(mail_data.ENRON))
    )
    for mail in mail_data.corpora():  # read before the processes start, so that all have them
        mail.files()
    mail_peers.find_program("bogofilter", "bogofilter")
    with ProcessPoolExecutor(machine.count_cores()) as pool:
        work = submit(pool, seeds, draw_seeds, boxes)
        switches = lab_mail_switches.submit(pool, quick)
        slow = submit_slow(pool, SLOW_SEEDS[: len(seeds)])
        (draws, draws_found), (arrival, recalls_found) = format_draws(work), format_mailboxes(work)
        print(draws, arrival, file=sys.stderr)
        options_table = lab_mail_switches.format_tables(switches)
        print(options_table, file=sys.stderr)
        peers, metrics = format_splits(work, slow, seeds)
        draw_curves(work, slow, picture)
    sections = f"{peers}{draws}{arrival}{CURVES}{options_table}"
    return sections, [*metrics, *draws_found, *recalls_found]


def main() -> int:
    """Measure, write the page, and report what is not as expected."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_mail", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "mail.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--quick", action="store_true", help="little of everything; writes no page")
    chosen = parser.parse_args()
    try:
        picture = data.ROOT / "build" / "mail.png" if chosen.quick else chosen.page.with_suffix(".png")
        sections, metrics = measure(chosen.quick, picture)
    except (data.DataMissingError, PeerMissingError) as absent:
        print(absent, file=sys.stderr)
        return 2
    print(sections)
    if not chosen.quick:
        head = {"date": date.today().isoformat(), "machine": machine.describe(), "ham_at": HAM_AT, "spam_at": SPAM_AT}
        chosen.page.write_text(PAGE.format(**head, sections=sections), encoding="utf-8")
        print(f"wrote {chosen.page}", file=sys.stderr)
    return int(any(figure.met is False for figure in metrics))


if __name__ == "__main__":
    sys.exit(main())
