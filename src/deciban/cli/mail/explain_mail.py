"""`deciban mail explain`: the clues in a message, what each contributes to its verdict, and where it was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from deciban.cli.error_handling import handle_errors
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.describe_tokens import describe_token
from deciban.cli.mail.mail_inputs import open_to_classify, read_messages
from deciban.cli.output import escape_for_terminal
from deciban.formatting import format_signed, format_thousands

if TYPE_CHECKING:
    from deciban.mail.model.verdicts import Verdict

MAX_LABEL_COLUMNS: Final = 3
"""With more labels, only the likeliest has a column, next to one for all others together."""

OTHERS: Final = "others"

MIN_SHOWN_DECIBANS: Final = 0.05
"""Evidence that a clue needs to be shown: less would be shown as 0."""

MAX_HEADER_CHARACTERS: Final = 200
"""Characters of a header that are shown."""


@a.command(
    a.MESSAGES, a.STORE, a.MODEL,
    a.number("--top", "NUMBER", "How many clues to show, the strongest first.", minimum=0, default=15),
    a.JSON_LINES, a.DEBUG,
    examples=["deciban mail explain message.eml", "deciban mail explain < message.eml"],
)  # fmt: skip
def explain(paths: Sequence[str], store: str | None, model: str | None, top: int, json: bool, debug: bool) -> None:
    """Show why messages get their verdicts: their clues, the evidence of each in decibans, and where it was seen."""
    paths = [] if paths == ["-"] else paths
    with handle_errors(debug, interrupted="nothing was changed"), open_to_classify(store, model) as mail:
        for name, raw in read_messages(paths, "standard input"):
            verdict = mail.classify(raw, clues=top)
            if json:
                print(escape_for_terminal(_format_json(name, verdict)))
            else:
                _show(name, verdict, raw)


def _format_json(name: str, verdict: Verdict) -> str:
    from deciban.plain_json import to_json

    figures = verdict.to_dict()
    for clue in figures["top"]:
        clue["in_words"] = describe_token(clue["token"])
    return to_json({"path": name, **figures})


def _show(name: str, verdict: Verdict, raw: bytes) -> None:
    from deciban.cli.render import console, heading, line, pairs, table, to_one_line

    out = console()
    heading(out, to_one_line(name))
    evidence = (
        f"p({verdict.of}) = {verdict.probability:.4f}, {format_signed(verdict.decibans, 1)} dB for {verdict.of}"
    )
    line(out, f"{verdict.label}: {evidence}, by {verdict.model}")
    pairs(out, _sender_and_subject(raw))
    labels = list(verdict.learned)
    columns = labels if len(labels) <= MAX_LABEL_COLUMNS else [verdict.of, OTHERS]
    head = ["decibans", *columns, "what"]
    table(out, head, _rows(verdict, columns), right=range(len(head) - 1), wide=len(head) - 1)
    if verdict.why:
        line(out, f"unsure: {verdict.why}")
    for part in verdict.cut:
        line(out, f"not read: {part}")


def _sender_and_subject(raw: bytes) -> list[tuple[str, str]]:
    from deciban.mail.message.message import read_message

    headers = dict(reversed(read_message(raw).headers))
    return [(name, headers[name][:MAX_HEADER_CHARACTERS]) for name in ("from", "subject") if headers.get(name)]


def _rows(verdict: Verdict, columns: list[str]) -> list[list[str]]:
    blank = [""] * len(columns)
    learned = _counts_by_column(verdict.learned, columns)
    shown = [clue for clue in verdict.clues if abs(clue.decibans) >= MIN_SHOWN_DECIBANS]
    rows = [
        [format_signed(clue.decibans, 1), *_counts_by_column(clue.counts, columns), describe_token(clue.token)]
        for clue in shown
    ]
    prior = [format_signed(verdict.prior, 1), *learned, "messages learned, before this one is read"]
    others = verdict.others + sum(clue.decibans for clue in verdict.clues if clue not in shown)
    rest = [format_signed(others, 1), *blank, "all else that it has"]
    return [prior, *rows, rest, [format_signed(verdict.decibans, 1), *blank, "together"]]


def _counts_by_column(counts: Mapping[str, float], columns: list[str]) -> list[str]:
    """Format the messages of the labels that have columns; where messages age, one of today counts 1."""
    others = sum(n for label, n in counts.items() if label not in columns)
    shown = [others if name == OTHERS else counts.get(name, 0) for name in columns]
    return [format_thousands(n) if float(n).is_integer() else format_thousands(n, ".1f") for n in shown]
