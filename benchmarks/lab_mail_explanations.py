"""`python -m benchmarks.lab_mail_explanations`: rebuild `docs/lab/mail-explanations.md` from SpamAssassin's corpus.

Exit code 2 if the data is absent.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from deciban.formatting import format_signed
from deciban.mail.filter import MailFilter
from deciban.mail.message.message import read_message
from deciban.mail.model.verdicts import UNSURE, Verdict
from deciban.mail.tokens.token_descriptions import describe_token

from . import data, mail_data

SEED, CLUES = 0, 10
WANTED = {"wrong": 2, "unsure": 2, "sure": 6}
"""Messages of each label: on the wrong side of ½, unsure, and right."""
MAX_HEADER_CHARACTERS = 90
"""Characters of a header that are shown."""

ADDRESS = re.compile(r"[^\s@<>\"(:=,;]+@")
NUMBERS = re.compile(r"(?<![\d.])(\d{1,3})(?:\.\d{1,3}){1,3}(?!\.?\d)")
NAME = re.compile(r"((?:sender|reader|recipient|address)'s name has \"\w)\w*")

PAGE = """# Explanations of mail

Why messages are taken for spam or ham: ten spam and ten ham of SpamAssassin's corpus, addresses and names masked.
Written by `python -m benchmarks.lab_mail_explanations` on {date}; do not edit.

The filter, as it comes, learned the 70 % of seed 0 ({learned}); these are among the others, drawn
by chance: of each kind six that it is sure of, two that it is unsure of, and two that it puts on the wrong side of ½
(if there are so many). `deciban mail explain message.eml` shows the same for any message.

The decibans of a clue are the amount by which it raises the odds of spam (+3 about doubles them, +10 is ten to one;
minus is for ham), next to the number of learned ham and spam that have it too. They add up: the prior odds, the clues
shown, and all other tokens make the evidence in the heading.
{sections}"""


def mask(text: str) -> str:
    """Mask what would identify a person or a machine.

    >>> mask("sender is joe@example.com, came by 10.1.2.3")
    'sender is •••@example.com, came by 10.•••'
    """
    return NAME.sub(r"\1•••", NUMBERS.sub(r"\1.•••", ADDRESS.sub("•••@", text)))


def classify_kind(verdict: Verdict, code: int) -> str:
    """Return the kind of a verdict: wrong, unsure or sure."""
    if (verdict.probability >= 0.5) != bool(code):
        return "wrong"
    return "unsure" if verdict.label == UNSURE else "sure"


def choose_messages(
    mail: MailFilter, raws: Sequence[bytes], codes: np.ndarray, label: int
) -> Iterator[tuple[bytes, Verdict]]:
    """Choose messages of a label, as many of each kind as `WANTED`, in reverse order of kinds."""
    order = np.random.default_rng(SEED).permutation(np.flatnonzero(codes == label)).tolist()
    verdicts = mail.classify_all(((str(i), raws[i]) for i in order), clues=CLUES)
    kinds: dict[str, list[tuple[bytes, Verdict]]] = {kind: [] for kind in WANTED}
    for name, verdict in verdicts:
        kinds[classify_kind(verdict, label)].append((raws[int(name)], verdict))
    few = {kind: found[: WANTED[kind]] for kind, found in kinds.items()}
    more = sum(WANTED.values()) - sum(map(len, few.values()))  # in the place of mistakes that were not made
    few["sure"] += kinds["sure"][WANTED["sure"] : WANTED["sure"] + more]
    for kind in reversed(WANTED):
        yield from few[kind]


def section(number: int, label: str, raw: bytes, verdict: Verdict) -> str:
    """Format a message and its explanation."""
    headers = dict(reversed(read_message(raw).headers))
    subject = format_header(headers.get("subject", "") or "(no subject)")
    writer = format_header(headers.get("from", "") or "(nobody)")
    right = "" if (verdict.probability >= 0.5) == (label == "spam") else ", wrongly"
    called = f"{verdict.label}{right}: p(spam) = {verdict.probability:.4f}, {format_signed(verdict.decibans, 1)} dB"
    lines = [f"### {label.capitalize()} {number}: {subject}", "", f"From {writer}. Taken for **{called}**.", ""]
    lines += [f"{verdict.why}.", ""] if verdict.why else []
    lines += ["| dB | ham | spam | |", "|--:|--:|--:|---|"]
    learned = verdict.learned
    begun = "messages learned, before this one is read"
    lines.append(f"| {format_signed(verdict.prior, 1)} | {learned['ham']} | {learned['spam']} | {begun} |")
    for clue in verdict.clues:
        described = mask(describe_token(clue.token)).replace("|", "¦").replace("<", "‹").replace(">", "›")
        counts = f"{clue.counts['ham']:.0f} | {clue.counts['spam']:.0f}"
        lines.append(f"| {format_signed(clue.decibans, 1)} | {counts} | {described} |")
    return "\n".join([*lines, f"| {format_signed(verdict.others, 1)} | | | all else that it has |", ""])


def format_header(text: str) -> str:
    """Format a header for a page: masked, on one line, without characters of Markdown."""
    text = re.sub(r"[|<>*_`\[\]#]", "", mask(re.sub(r"^[^<]*<(\S+@\S+)>.*$", r"\1", text)))
    return " ".join(text.split())[:MAX_HEADER_CHARACTERS]


def sections() -> tuple[str, str]:
    """Return what was learned, and the sections of all twenty messages."""
    mail = mail_data.spamassassin()
    learn, judge = mail.split(SEED)
    raws = [mail.raws[i] for i in judge]
    with tempfile.TemporaryDirectory() as folder, MailFilter(Path(folder) / "mail.db") as made:
        for code, label in enumerate(("ham", "spam")):
            made.learn_all(((str(i), mail.raws[i]) for i in learn if mail.codes[i] == code), label)
        made.refit(force=True)
        parts = []
        for code, label in ((1, "spam"), (0, "ham")):
            parts.append(f"\n## {label.capitalize()}\n")
            found = choose_messages(made, raws, mail.codes[judge], code)
            parts += [section(i, label, raw, verdict) for i, (raw, verdict) in enumerate(found, start=1)]
        totals = made.store.totals()
    return ", ".join(f"{n} {label}" for label, (n, _) in totals.items()), "\n".join(parts)


def main() -> int:
    """Explain the messages and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_mail_explanations", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "mail-explanations.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    page = parser.parse_args().page
    try:
        learned, parts = sections()
    except data.DataMissingError as absent:
        print(absent, file=sys.stderr)
        return 2
    page.write_text(PAGE.format(date=date.today().isoformat(), learned=learned, sections=parts), encoding="utf-8")
    print(f"wrote {page}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
