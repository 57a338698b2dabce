"""`deciban predict` and `deciban sample`: tables that a model writes.

`predict` writes the class of every row of a table with its probability, `sample` rows that are drawn from the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban._lazy import pa
from deciban.cli import decision_options as d
from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr, progress
from deciban.cli.files import check_output, open_model
from deciban.cli.inputs import direct_role_hints_to_training, open_table
from deciban.cli.parser import DEBUG, argument, command, flag, list_option, number
from deciban.cli.table_writers import check_safe_cells, open_table_writer, output_format
from deciban.errors import InputError, did_you_mean
from deciban.sources.row_views import CopyingView

if TYPE_CHECKING:
    from deciban._typing import Array
    from deciban.model.model import Model
    from deciban.scores.posterior import Decision

UNDECIDED = "\0undecided"
"""The key of undecided rows among the counted predictions; no class has this name."""

MAX_EXACT_POWER = 22
"""The greatest power of ten that a double represents exactly."""

MAX_DOUBLE_DIGITS = 15
"""The number of decimal digits that every double has."""


@command(
    a.MODEL_FILE, a.TABLE_OUTPUT,
    flag("--proba", "Add a column p(CLASS) for every class."),
    list_option("--keep", "COL", "Copy a column of DATA to the output; by default the file, of documents."),
    argument("--all", dest="everything", action="store_true", help="Copy all columns of DATA to the output."),
    a.JSON_LINES, a.SAFE_CELLS, d.COST, d.REJECT, d.THRESHOLD, d.REJECT_NOVEL, a.PRIOR, a.ALLOW_MISSING,
    *a.TABLE_OPTIONS, a.SPARK, DEBUG,
    examples=[
        "deciban predict patients.deciban new-patients.csv --keep patient",
        "deciban predict patients.deciban new-patients.csv --proba -o answers.parquet",
        "deciban predict patients.deciban new-patients.csv --cost pneumonia:cold=20 --reject 0.5",
    ],
)  # fmt: skip
def predict(model: Path, output: str | None, json: bool, safe_cells: bool, **options: Any) -> None:
    """Predict every row of a table: one output line for each row, in the same order."""
    with direct_role_hints_to_training(), open_table(options) as table:
        check_safe_cells(output, json, safe_cells)
        check_output(output or "-", [*table.paths, model])
        loaded, rule = _make_rule(open_model(model), options)
        table = table.for_model(loaded)
        source = table.open()
        if table.spark is not None:
            from deciban.cli.spark_session import write_predictions

            write_predictions(loaded, source, rule, output, options)
            return
        kept = list(dict.fromkeys(options["keep"] or table.identified_by))
        for name in kept:
            if name not in source.columns:
                near = did_you_mean(name, source.columns)
                raise InputError(f"{source.name} has no column {name!r} to keep{near}")
        view = CopyingView(source, list(source.columns) if options["everything"] else kept)
        is_rounded = output_format(output, json) in ("csv", "tsv")
        answers = Predictions(loaded, view, options["proba"], rule, options["reject_novel"], is_rounded)
        called: Counter[str] = Counter()
        stream = answers.stream(options["allow_missing_columns"], called)
        first = next(stream, None)  # an immediate error leaves no header
        with (
            open_table_writer(output, json, answers.schema, safe_cells) as write,
            progress(table, "predicting") as rows,
        ):
            for batch in chain([] if first is None else [first], stream):
                write(batch)
                rows(called.total())
        _print_counts(called, output)
        answers.monitor.warn()


def _make_rule(model: Model, options: Mapping[str, Any]) -> tuple[Model, Decision | None]:
    """Return the model with the priors of --prior, and the rule by which rows are decided."""
    from deciban.scores.posterior import build_rule

    model = model if options["prior"] is None else model.with_priors(a.parse_prior(options["prior"]))
    costs = d.parse_costs(options["cost"], model.classes)
    thresholds = d.parse_thresholds(options["threshold"], model.classes)
    return model, build_rule(model.classes, costs, options["reject"], thresholds)


class Predictions:
    """Batches of predictions: the copied columns, the class, its probability, and on request that of every class."""

    def __init__(
        self, model: Model, view: CopyingView, proba: bool, rule: Decision | None, reject_novel: float | None,
        is_rounded: bool,
    ) -> None:  # fmt: skip
        self.model, self.view, self.proba, self.is_rounded = model, view, proba, is_rounded
        self.rule, self.reject_novel = rule, reject_novel
        self.monitor = model._make_unseen_monitor(numbers=True)
        self.labels = pa.array(model._labels)
        added = ["prediction", "probability", *(f"p({label})" for label in model.classes if proba)]
        for name in view.copied:
            if name in added:
                raise InputError(
                    f"{view.name} has a column {name!r}, which is a name of the result. Hint: --keep the others"
                )
        types = [array.type for array in view.empty_columns()] if view.copied else []
        types += [self.labels.type, *([pa.float64()] * (len(added) - 1))]
        self.schema = pa.schema(list(zip([*view.copied, *added], types)))

    def stream(self, allow: bool, called: Counter[str]) -> Iterator[Any]:
        """Yield a batch for each block of rows; `called` counts the predictions."""
        import numpy as np

        for batches, parts in self.model._read_blocks(self.view, allow, self.monitor):
            log_p = self.model._score(parts, "log_posterior")
            winner = self.model._decide(parts, log_p, self.rule, self.reject_novel)
            counts = np.bincount(winner + 1, minlength=len(self.labels) + 1).tolist()
            called.update(dict(zip([UNDECIDED, *map(str, self.model.classes)], counts)))
            p, undecided = round_probabilities(log_p) if self.is_rounded else np.exp(log_p), winner < 0
            columns = self.view.copied_columns(batches)
            columns.append(self.labels.take(pa.array(winner, mask=undecided)))
            columns.append(pa.array(p[np.arange(len(p)), winner], mask=undecided))
            if self.proba:
                columns += [pa.array(np.ascontiguousarray(p[:, k])) for k in range(p.shape[1])]
            cast = [column.cast(field.type) for column, field in zip(columns, self.schema)]
            yield pa.RecordBatch.from_arrays(cast, schema=self.schema)


def round_probabilities(log_p: Array) -> Array:
    """Return p(k|x) of each row from ln p(k|x), rounded to six places and to so many that none becomes 0 or 1.

    A small probability has four significant digits, one near 1 has two of 1 − p. What is impossible is 0; 1 is the
    class that alone is possible.

    >>> import numpy as np
    >>> round_probabilities(np.log([[0.9999914152, 0.0000085848]])).tolist()
    [[0.9999914, 8.585e-06]]
    >>> round_probabilities(np.array([[0.0, -900.0], [0.0, -np.inf]])).tolist()
    [[0.9999999999999999, 2.225e-308], [1.0, 0.0]]
    """
    import numpy as np

    is_possible = np.isfinite(log_p)
    is_certain = is_possible & (is_possible.sum(axis=1, keepdims=True) == 1)
    p = np.clip(np.exp(log_p), np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))
    digits = np.where(p < 0.5, 3 - np.floor(np.log10(p)), 1 - np.floor(np.log10(1.0 - p))).astype(np.intp)
    powers = np.array([float(f"1e{i}") for i in range(MAX_EXACT_POWER + 1)])  # a whole number divided by one of these
    scale = powers[np.clip(digits, 6, MAX_EXACT_POWER)]  # is the number nearest to its decimal fraction
    rounded = np.where((p < 0.5) | (digits <= MAX_DOUBLE_DIGITS), np.rint(p * scale) / scale, p)
    is_tiny = digits > MAX_EXACT_POWER
    rounded[is_tiny] = [float(f"{value:.3e}") for value in p[is_tiny].tolist()]
    return np.where(is_certain, 1.0, np.where(is_possible, rounded, 0.0))


def _print_counts(called: Counter[str], out: str | None) -> None:
    """Print the number of rows of each class to standard error, unless the rows go to standard output."""
    if out is None or out == "-":
        return
    from deciban.cli.render import format_count, format_row_count

    undecided = called.pop(UNDECIDED, 0)
    most = ", ".join(f"{label} {format_count(n)}" for label, n in called.most_common(5) if n)
    more = f" and {len(called) - 5} other classes" if len(called) > 5 else ""
    more += f"; undecided {format_count(undecided)}" if undecided else ""
    rows = undecided + called.total()
    print_stderr(f"{format_row_count(rows)} to {out}" + (f": {most}{more}" if most else ""))


BATCH_ROWS = 1 << 16
"""The number of rows that are drawn at a time."""


@command(
    a.MODEL_FILE,
    number("-n --rows", "NUMBER", "How many rows to draw.", minimum=0, default=10),
    number("--seed", "NUMBER", "The same seed draws the same rows.", minimum=0),
    a.TABLE_OUTPUT, a.JSON_LINES, a.SAFE_CELLS, DEBUG,
    examples=["deciban sample patients.deciban -n 5 --seed 1"],
)  # fmt: skip
def sample(model: Path, rows: int, seed: int | None, output: str | None, json: bool, safe_cells: bool) -> None:
    """Draw rows from the distribution that a model has learned."""
    import numpy as np

    check_safe_cells(output, json, safe_cells)
    check_output(output or "-", [model])
    found, rng = open_model(model), np.random.default_rng(seed)
    drawn = found.sample(min(rows, BATCH_ROWS), rng)
    with open_table_writer(output, json, drawn.schema, safe_cells) as write:
        left = rows
        while drawn.num_rows:
            for batch in drawn.to_batches():
                write(batch)
            left -= drawn.num_rows
            drawn = found.sample(min(left, BATCH_ROWS), rng) if left else drawn.slice(0, 0)
    if output is not None and output != "-":
        print_stderr(f"{rows} rows to {output}")
