"""`deciban train`: a table into a model file, and a report on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr, status
from deciban.errors import list_names

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban train patients.csv --target diagnosis",
    "deciban train 'day-*.parquet' --target spam --as sender=category -o spam.deciban",
    "deciban train messages.csv --target topic --ngrams 2",
    "deciban train --folders newsgroups --encoding latin-1",
)
Out = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="MODEL",
        help="The file to write, - for stdout; else DATA's name with .deciban, in the current folder.",
    ),
]
Judge = Annotated[bool, typer.Option("--judge/--no-judge", help="Whether to measure held-out quality.")]
Calibrate = Annotated[
    Literal["auto", "temperature", "platt", "isotonic"] | None,
    typer.Option(
        "--calibrate",
        metavar="auto|temperature|platt|isotonic",
        help="Mend the probabilities by what came true of them in rows held out; auto: by the simplest map that is "
        "as good as any.",
    ),
]


def command(
    data: a.Tables = None,
    target: a.Target = None,
    learner: a.Learner = None,
    C: a.Penalty = None,
    roles: a.Roles = None,
    join: a.Join = None,
    numbers: a.Numbers = None,
    like: a.Like = None,
    weights: a.Weights = None,
    classes: a.Classes = None,
    prior: a.Prior = None,
    alpha: a.Alpha = None,
    parameter_prior: a.ParameterPrior = None,
    covariance: a.Shape = None,
    unseen: a.Unseen = None,
    most_levels: a.MostLevels = None,
    ngrams: a.Ngrams = None,
    tokens: a.Tokens = None,
    stop_words: a.StopWords = None,
    presence: a.Presence = False,
    sql: a.Sql = None,
    folders: a.Folders = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    hive: a.Hive = False,
    calibrate: Calibrate = None,
    output: Out = None,
    judge: Judge = True,
    json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:
    """Learn to predict a column of a table from its other columns, and write a model file."""
    from deciban.cli.inputs import given

    wished = {
        "roles": roles, "join": join, "numbers": numbers, "like": like, "weights": weights,
        "classes": classes, "prior": prior, "alpha": alpha, "parameter_prior": parameter_prior, "unseen": unseen,
        "most_levels": most_levels, "ngrams": ngrams, "tokens": tokens, "stop_words": stop_words,
        "presence": presence or None, "learner": learner, "C": C, "covariance": covariance, "calibrate": calibrate,
    }  # fmt: skip
    with handle_errors(debug), given(data, sql, folders, format, encoding, errors, missing, hive) as table:
        named = data or ([] if folders is None else [folders])
        run(table, find_target(table, target, classes), wished, output, judge, json, named)


def find_target(table: TableInput, target: str | None, classes: str | None) -> str:
    """The target, or the columns among which there is one; a folder of documents has its sub-folders."""
    if table.format == "folders" and target in (None, "class"):
        from deciban.sources.document_folders import CLASS, Folders

        source = table.open()
        if classes is None and isinstance(source, Folders):
            source.refuse_one_class()
        return CLASS
    if target is None:
        columns = table.open().columns
        raise typer.BadParameter(
            f"--target COL is missing: which column is to be predicted? There are: {list_names(columns, 20)}"
        )
    return target


def run(
    table: TableInput, target: str, wished: dict[str, Any], output: str | None, judge: bool, as_json: bool, data: list[str]
) -> None:
    """Read, learn, write, tell; nothing is written unless all went well."""
    from deciban.cli.model_files import default_file, settings
    from deciban.cli.output import check_output, print_json, save
    from deciban.cli.progress import progress

    out = output or default_file(data)
    check_output(out, table.paths)
    made = settings(wished)
    with progress(table, "learning") as rows:
        import deciban

        model = deciban.train(table.source, target=target, judge=judge, progress=rows, **table.reading, **made)
    with status("looking at what was learned …"):
        model.origin = replace(model.origin, source=table.name)
        from deciban.cli.train_screen import figures, report

        description = model.describe()
    save(model, out)
    if as_json and out != "-":
        print_json(figures(model, description, out))
    aside, documents = as_json or out == "-", table.format in ("folders", "text", "lines")
    report(model, description, out, output is not None, aside, judge, documents, "calibrate" in made)
    if made["words"] is not None and not model.layout.texts:
        unread = "no column was read as text, so nothing came of --ngrams, --tokens, --stop-words or --presence"
        print_stderr(f"warning: {unread}. Hint: --as COLUMN=text")
