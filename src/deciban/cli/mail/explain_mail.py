"""`deciban mail explain`: the clues in a message, in plain English, what each contributes to its verdict, and where
it was seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from deciban.cli.error_handling import handle_errors
from deciban.cli.files import escape_for_terminal
from deciban.cli.mail import mail_inputs as a
from deciban.cli.mail.classify_mail import format_json
from deciban.cli.mail.mail_inputs import open_to_classify, read_messages
from deciban.formatting import format_probability, format_signed, format_thousands
from deciban.mail.tokens.token_descriptions import describe_token

if TYPE_CHECKING:
    from deciban.mail.model.verdicts import EvidenceBalance, Verdict

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
                print(escape_for_terminal(format_json(name, verdict)))
            else:
                _show(name, verdict)


def _show(name: str, verdict: Verdict) -> None:
    from deciban.cli.render import Screen, to_one_line

    out = Screen()
    out.print_heading(to_one_line(name))
    evidence = f"{format_signed(verdict.decibans, 1)} dB for {verdict.of}, by {verdict.model}"
    out.print_line(f"{verdict.label}: p({verdict.of}) = {format_probability(verdict.probability)}, {evidence}")
    heading = (("from", verdict.sender), ("subject", verdict.subject))
    out.print_pairs([(name, value[:MAX_HEADER_CHARACTERS]) for name, value in heading if value])
    labels = list(verdict.learned)
    columns = labels if len(labels) <= MAX_LABEL_COLUMNS else [verdict.of, OTHERS]
    head = ["decibans", *columns, "what"]
    out.print_table(head, _rows(verdict, columns), right=range(len(head) - 1), wide=len(head) - 1)
    if verdict.balance is not None and verdict.model != "fisher":
        out.print_line(_describe_balance(verdict.balance, verdict.of))
    if verdict.why:
        out.print_line(f"unsure: {verdict.why}")
    for part in verdict.cut:
        out.print_line(f"not read: {part}")


def _describe_balance(balance: EvidenceBalance, label: str) -> str:
    """Return in words how much evidence each side has, what is left of it, and how much of the message was known."""
    sides = f"{balance.for_label:.1f} dB for {label}, {balance.against:.1f} dB against"
    discount = f", all multiplied by {balance.agreement:.2f} as they disagree" if balance.agreement < 0.995 else ""
    return f"evidence: {sides}{discount}; {balance.known} of {balance.tokens} tokens were seen before"


def _rows(verdict: Verdict, columns: list[str]) -> list[list[str]]:
    blank = [""] * len(columns)
    shown = [clue for clue in verdict.clues if abs(clue.decibans) >= MIN_SHOWN_DECIBANS]
    others = verdict.others + sum(clue.decibans for clue in verdict.clues if clue not in shown)
    rows = [(verdict.prior, _counts_by_column(verdict.learned, columns), "messages learned, before this one is read")]
    rows += [(clue.decibans, _counts_by_column(clue.counts, columns), describe_token(clue.token)) for clue in shown]
    rows += [(others, blank, "all else that it has"), (verdict.decibans, blank, "together")]
    return [[format_signed(decibans, 1), *counts, words] for decibans, counts, words in rows]


def _counts_by_column(counts: Mapping[str, float], columns: list[str]) -> list[str]:
    """Format the messages of the labels that have columns; where messages age, one of today counts 1."""
    others = sum(n for label, n in counts.items() if label not in columns)
    shown = [others if name == OTHERS else counts.get(name, 0) for name in columns]
    return [format_thousands(n) if float(n).is_integer() else format_thousands(n, ".1f") for n in shown]
