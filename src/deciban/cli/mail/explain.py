"""`deciban mail explain`: why a message is taken for what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, stop_if_interrupted
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.classify import AsLines
from deciban.cli.mail.describe_tokens import token_in_words
from deciban.cli.mail.open_store import judging
from deciban.cli.output import for_stdout
from deciban.formatting import signed, spaced

if TYPE_CHECKING:
    from deciban.mail.model.verdict import Verdict

EXAMPLE = a.example("deciban mail explain message.eml", "deciban mail explain < message.eml")
MOST_LABELS = 3
"""With more, only the likeliest has a column, beside all others together."""

OTHERS = "others"
LEAST = 0.05
"""Decibans that a clue must say to be shown: less would be shown as 0."""

LONGEST = 200
"""Characters of a header that are shown."""

Top = Annotated[
    int, typer.Option("--top", metavar="NUMBER", min=0, help="How many clues to show, those that say most.")
]


def command(
    paths: o.Messages = None, store: o.StoreFile = None, model: o.Model = None, top: Top = 15, json: AsLines = False,
    debug: a.Debug = False,
) -> None:  # fmt: skip
    """Say why messages are taken for what they are: what they have, what it says in decibans, where it was met."""
    with manners(debug, interrupted="nothing was changed"), judging(store, model) as mail:
        for name, raw in _given(paths):
            verdict = mail.classify(raw, clues=top)
            if json:
                print(for_stdout(_as_json(name, verdict)))
            else:
                _show(name, verdict, raw)


def _given(paths: list[str] | None) -> Iterator[tuple[str, bytes]]:
    if not paths or paths == ["-"]:
        from deciban.cli.mail.classify_one import standing_input

        yield "standard input", standing_input()
        return
    from deciban.cli.mail.message_progress import Drawn, refuse_absent

    refuse_absent(paths)
    drawn = Drawn(paths, stop_if_interrupted)
    for found in drawn:
        yield found.name, found.raw
    drawn.end()


def _as_json(name: str, verdict: Verdict) -> str:
    from deciban.plain_json import json_text

    told = verdict.to_dict()
    for clue in told["top"]:
        clue["in_words"] = token_in_words(clue["token"])
    return json_text({"path": name, **told})


def _show(name: str, verdict: Verdict, raw: bytes) -> None:
    from deciban.cli.render import console, heading, line, one_line, pairs, table

    out = console()
    heading(out, one_line(name))
    line(out, _summary(verdict))
    pairs(out, _letterhead(raw))
    columns = _columns(verdict)
    head = ["decibans", *columns, "what"]
    table(out, head, _rows(verdict, columns), right=range(len(head) - 1), wide=len(head) - 1)
    if verdict.why:
        line(out, f"unsure: {verdict.why}")
    for what in verdict.cut:
        line(out, f"not read: {what}")


def _summary(verdict: Verdict) -> str:
    against = f"p({verdict.of}) = {verdict.probability:.4f}, {signed(verdict.decibans, 1)} dB for {verdict.of}"
    return f"{verdict.label}: {against}, by {verdict.model}"


def _letterhead(raw: bytes) -> list[tuple[str, str]]:
    """Who writes about what, to know the message by."""
    from deciban.mail.message.message import read_message

    headers = dict(reversed(read_message(raw).headers))
    return [(name, headers[name][:LONGEST]) for name in ("from", "subject") if headers.get(name)]


def _columns(verdict: Verdict) -> list[str]:
    labels = list(verdict.learned)
    return labels if len(labels) <= MOST_LABELS else [verdict.of, OTHERS]


def _rows(verdict: Verdict, columns: list[str]) -> list[list[str]]:
    blank = [""] * len(columns)
    learned = _by_column(verdict.learned, columns)
    telling = [clue for clue in verdict.clues if abs(clue.decibans) >= LEAST]
    rows = [
        [signed(clue.decibans, 1), *_by_column(clue.counts, columns), token_in_words(clue.token)] for clue in telling
    ]
    begun = [signed(verdict.prior, 1), *learned, "messages learned, before this one is read"]
    others = verdict.others + sum(clue.decibans for clue in verdict.clues if clue not in telling)
    rest = [signed(others, 1), *blank, "all else that it has"]
    return [begun, *rows, rest, [signed(verdict.decibans, 1), *blank, "together"]]


def _by_column(counts: Mapping[str, float], columns: list[str]) -> list[str]:
    """Messages of the labels that have columns; where they age, a message of today counts 1."""
    others = sum(n for label, n in counts.items() if label not in columns)
    told = [others if name == OTHERS else counts.get(name, 0) for name in columns]
    return [spaced(n) if float(n).is_integer() else spaced(n, ".1f") for n in told]
