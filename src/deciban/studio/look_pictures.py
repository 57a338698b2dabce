"""The pictures of the page Look: how each is drawn, and the command and the Python that draw it too."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import deciban
from deciban.errors import InputError, UndefinedError
from deciban.option_values import join_list
from deciban.server.problems import Problem
from deciban.studio.command_lines import format_options, format_table_arguments, format_table_words
from deciban.studio.data_set import quote_path
from deciban.studio.pictures import draw_svg
from deciban.studio.workspace import Workspace

Options = Mapping[str, str]

COVARIANCES = {
    "full": "each class its own ellipse (a conic)",
    "tied": "one ellipse for all classes (a line)",
    "diagonal": "no covariances (a conic)",
    "identity": "circles: the nearest mean",
}
"""The shapes of the classes that a boundary can be drawn for."""

NUMBER_ROLES = ("number", "binned", "count")
MAX_CACHED_PICTURES = 40


class PictureKind(NamedTuple):
    """A picture: what it shows, what it needs ("model", "report" or "data"), and how it is drawn.

    `check` raises the error of a model that has no such picture, without drawing it.
    """

    title: str
    caption: str
    needs: str
    draw: Callable[[Workspace, Options], str]
    command: Callable[[Workspace, Options], str]
    python: Callable[[Workspace, Options], str]
    check: Callable[[Workspace, Options], object] = lambda workspace, options: None


def list_number_columns(workspace: Workspace) -> list[str]:
    """Return the columns of numbers that the open table and model have, the strongest first; none without either."""
    if workspace.model is None or workspace.data is None:
        return []
    roles = workspace.model.roles
    strongest = [strength.column for strength in workspace.model.describe().strongest]
    names = dict.fromkeys([*strongest, *roles])
    return [name for name in names if roles.get(name) in NUMBER_ROLES and name in workspace.data.columns]


def choose_columns(workspace: Workspace, options: Options) -> list[str]:
    """Return the two columns of a boundary: those of the options, else the strongest; InputError for fewer."""
    numbers = list_number_columns(workspace)
    if len(numbers) < 2:
        raise InputError("a boundary is drawn over two columns of numbers, and this table has fewer")
    x = options.get("x") if options.get("x") in numbers else numbers[0]
    y = options.get("y") if options.get("y") in numbers and options.get("y") != x else None
    return [str(x), y or next(name for name in numbers if name != x)]


def _draw_boundary(workspace: Workspace, options: Options) -> str:
    from deciban.plots.plot_rows import choose_drawn_rows, infer_number_readings, read_numbers_and_classes

    columns, source = choose_columns(workspace, options), workspace.need_data().source()
    X, y = read_numbers_and_classes(source, infer_number_readings(source, columns), workspace.need_target())
    model = deciban.GaussianBayes(covariance=_choose_covariance(options)).fit(X, y)
    rows = choose_drawn_rows(len(X))
    return draw_svg("boundary", model, X[rows], y[rows], names=columns)


def _choose_covariance(options: Options) -> str:
    found = options.get("covariance", "full")
    return found if found in COVARIANCES else "full"


def _write_boundary_command(workspace: Workspace, options: Options) -> str:
    table = f"{quote_path(workspace.need_data().training_name)} --target {shlex.quote(workspace.need_target())}"
    more = {"columns": join_list(choose_columns(workspace, options)), "covariance": _choose_covariance(options)}
    return f"deciban plot boundary {table}{format_options(more)} -o boundary.svg"


def _write_boundary_python(workspace: Workspace, options: Options) -> str:
    columns, target = choose_columns(workspace, options), workspace.need_target()
    lines = [
        "import deciban",
        "import pandas",
        "from deciban import plots",
        f"rows = pandas.{_write_pandas_call(workspace.need_data().training_name)}.dropna(subset=[{target!r}])",
        f"X, y = rows[{columns!r}].to_numpy(), rows[{target!r}].astype(str).to_numpy()",
        f"gaussian = deciban.GaussianBayes(covariance={_choose_covariance(options)!r}).fit(X, y)",
        f"plots.boundary(gaussian, X, y, names={columns!r}).figure.savefig('boundary.svg')",
    ]
    return "\n".join(lines)


PANDAS_READERS = {".parquet": "read_parquet({})", ".jsonl": "read_json({}, lines=True)", ".xlsx": "read_excel({})"}
"""Calls of pandas that read a table, by the ending of its file; others are read as CSV."""


def _write_pandas_call(name: str) -> str:
    """Return the call of pandas that reads a table.

    >>> _write_pandas_call("a.csv"), _write_pandas_call("a.parquet")
    ("read_csv('a.csv')", "read_parquet('a.parquet')")
    """
    call = next((call for ending, call in PANDAS_READERS.items() if name.endswith(ending)), "read_csv({})")
    return call.format(repr(name))


def _write_python(statement: str, call: str, name: str) -> str:
    """Return a program that runs a statement of `deciban`, and draws its result by a call of `plots`."""
    return f"import deciban\nfrom deciban import plots\n{statement}\nplots.{call}.figure.savefig('{name}.svg')"


def _write_model_python(workspace: Workspace, call: str, name: str) -> str:
    """Return a program that loads the model, and draws it by a call of `plots`."""
    return _write_python(f"model = deciban.load({workspace.model_name!r})", call, name)


def _choose_densities(workspace: Workspace, options: Options) -> list[str] | None:
    """Return the column that the options name; None, for the strongest ones, where the model has no such column."""
    column = options.get("column", "")
    return [column] if column in workspace.need_model().roles else None


def _draw_densities(workspace: Workspace, options: Options) -> str:
    rows = None if workspace.data is None else workspace.data.source()
    return draw_svg("densities", workspace.need_model(), rows, columns=_choose_densities(workspace, options))


def _check_densities(workspace: Workspace, options: Options) -> object:
    from deciban.plots.conditionals import select_conditionals

    return select_conditionals(workspace.need_model(), _choose_densities(workspace, options), 1)


def _write_densities_command(workspace: Workspace, options: Options) -> str:
    data = "" if workspace.data is None else f" {workspace.data.shell_name}"
    columns = _choose_densities(workspace, options)
    more = format_options({"columns": columns and join_list(columns)})
    return f"deciban plot densities {quote_path(workspace.model_name)}{data}{more} -o densities.svg"


def _write_densities_python(workspace: Workspace, options: Options) -> str:
    columns = _choose_densities(workspace, options)
    chosen = f", columns={columns!r}" if columns else ""
    data = "" if workspace.data is None else f", {workspace.data.name!r}"
    return _write_model_python(workspace, f"densities(model{data}{chosen})", "densities")


def _choose_pair(workspace: Workspace, options: Options) -> tuple[Any, Any] | None:
    """Return the two classes of a nomogram that the options name; None where they do not name two of the model's."""
    by_name = {str(label): label for label in workspace.need_model().classes}
    first, second = (by_name.get(options.get(name, "")) for name in ("for", "against"))
    return None if first is None or second is None or first == second else (first, second)


def _draw_nomogram(workspace: Workspace, options: Options) -> str:
    return draw_svg("nomogram", workspace.need_model(), classes=_choose_pair(workspace, options))


def _check_nomogram(workspace: Workspace, options: Options) -> object:
    from deciban.plots.nomogram_scales import compute_scales

    return compute_scales(workspace.need_model(), _choose_pair(workspace, options), 1)


def _write_nomogram_command(workspace: Workspace, options: Options) -> str:
    pair = _choose_pair(workspace, options)
    more = format_options({"classes": pair and join_list(map(str, pair))})
    return f"deciban plot nomogram {quote_path(workspace.model_name)}{more} -o nomogram.svg"


def _write_nomogram_python(workspace: Workspace, options: Options) -> str:
    pair = _choose_pair(workspace, options)
    chosen = "" if pair is None else f", classes={pair!r}"
    return _write_model_python(workspace, f"nomogram(model{chosen})", "nomogram")


def _make_report_kind(name: str, title: str, caption: str) -> PictureKind:
    """Return the picture of a report on held-out rows that the function `name` of `deciban.plots` draws."""

    def draw(workspace: Workspace, options: Options) -> str:
        if workspace.report is None:
            raise UndefinedError("this model has no report on held-out rows. Hint: train it on the page Train")
        return draw_svg(name, workspace.report)

    def choose_learner(workspace: Workspace) -> dict[str, str]:
        learner = workspace.need_model().learner
        return {} if learner == "bayes" else {"learner": learner}  # naive Bayes is the default

    def write_command(workspace: Workspace, options: Options) -> str:
        table, more = format_table_words(workspace), format_options(choose_learner(workspace))
        return f"deciban plot {name} {table}{more} -o {name}.svg"

    def write_python(workspace: Workspace, options: Options) -> str:
        arguments = format_table_arguments(workspace, **choose_learner(workspace))
        return _write_python(f"model = deciban.train({arguments})", f"{name}(model.held_out)", name)

    return PictureKind(title, caption, "report", draw, write_command, write_python)


def _make_table_kind(name: str, function: str, title: str, caption: str) -> PictureKind:
    """Return the picture of what a function of `deciban` measures of the open table, drawn by `plots.NAME`."""

    def draw(workspace: Workspace, options: Options) -> str:
        target, data = workspace.need_target(), workspace.need_data()
        return draw_svg(name, getattr(deciban, function)(data.table, target=target, roles=workspace.roles))

    def write_command(workspace: Workspace, options: Options) -> str:
        return f"deciban plot {name} {format_table_words(workspace)} -o {name}.svg"

    def write_python(workspace: Workspace, options: Options) -> str:
        statement = f"measured = deciban.{function}({format_table_arguments(workspace)})"
        return _write_python(statement, f"{name}(measured)", name)

    return PictureKind(title, caption, "data", draw, write_command, write_python)


KINDS: Mapping[str, PictureKind] = {
    "boundary": PictureKind(
        "Boundary", "Where the answer changes, over two columns: each region is shaded by the class that wins there.",
        "data", _draw_boundary, _write_boundary_command, _write_boundary_python),
    "densities": PictureKind(
        "Densities", "What the model has learned of each column, class by class; the strongest columns first.",
        "model", _draw_densities, _write_densities_command, _write_densities_python, _check_densities),
    "nomogram": PictureKind(
        "Nomogram", "The model on a sheet: read off the decibans of each column, add them up, find the probability.",
        "model", _draw_nomogram, _write_nomogram_command, _write_nomogram_python, _check_nomogram),
    "reliability": _make_report_kind(
        "reliability", "Reliability", "How often answers are right, against the probability they were given with."),
    "roc": _make_report_kind("roc", "ROC", "Hits against false alarms, for every threshold."),
    "confusion": _make_report_kind("confusion", "Confusion", "Which classes are taken for which."),
    "dependence": _make_table_kind(
        "dependence", "dependence", "Dependence",
        "How strongly columns depend on each other: above the diagonal overall, below it within a class, where naive "
        "Bayes assumes none."),
    "learning": _make_table_kind(
        "learning", "learning_curve", "Learning curve",
        "The accuracy of models of more and more rows: would more rows help?"),
}  # fmt: skip
"""The pictures, in the order of the page."""


def get_kind(name: str) -> PictureKind:
    """Return a picture by its name; refuse an unknown one."""
    if name not in KINDS:
        raise Problem(404, f"there is no picture {name[:40]!r}. Hint: one of {', '.join(KINDS)}")
    return KINDS[name]


def is_possible(workspace: Workspace, kind: PictureKind) -> bool:
    """Return whether there is what a picture needs."""
    if kind.needs == "data":
        return workspace.data is not None and workspace.target is not None
    return (workspace.model if kind.needs == "model" else workspace.report) is not None


def get_picture(workspace: Workspace, name: str, options: Options) -> str:
    """Return a picture as an SVG document; it is drawn once for each state of the workspace."""
    kind = get_kind(name)
    key = (workspace.version, name, tuple(sorted(options.items())))
    cache: dict[Any, str] = workspace.page_state.setdefault("pictures", {})
    if key not in cache:
        drawn = kind.draw(workspace, options)
        while len(cache) >= MAX_CACHED_PICTURES:
            cache.pop(next(iter(cache)))
        cache[key] = drawn
    return cache[key]
