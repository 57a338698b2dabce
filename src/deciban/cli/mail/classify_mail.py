"""`deciban mail classify`, `explain` and `filter`: the verdict on messages, printed, shown with its clues in plain
English and what each contributes to it, or written into the header of one.

`filter` passes a message on despite any error. A message on standard input is classified by a child process: whatever
happens to the child, the process that called goes on.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NoReturn

from deciban.cli.command_groups import NO_VERDICT, NOT_SPAM, TEMPORARY_FAILURE, VERDICTS
from deciban.cli.error_handling import describe_error, handle_errors, print_stderr
from deciban.cli.files import escape_for_terminal
from deciban.cli.mail import mail_inputs as a
from deciban.errors import DecibanError
from deciban.formatting import format_probability, format_signed, format_thousands, to_one_line

if TYPE_CHECKING:
    from deciban.mail.model.verdicts import EvidenceBalance, Verdict

SENDER_CELLS: Final = 26
"""Width of the column of senders, in cells of a terminal; a Chinese character takes two."""

SUBJECT_CELLS: Final = 34
"""Width of the column of subjects, in cells of a terminal."""

SHOWN_CLUES: Final = 5
"""Number of clues that are named unless `--top` is given."""

MAX_LABEL_COLUMNS: Final = 3
"""With more labels, only the likeliest has a column, next to one for all others together."""

OTHERS: Final = "others"

MIN_SHOWN_DECIBANS: Final = 0.05
"""Evidence that a clue needs to be shown: less would be shown as 0."""

MAX_HEADER_CHARACTERS: Final = 200
"""Characters of a header that are shown."""

DONE, FAILED, END = b"+", b"-", b"\n"
"""The first byte of an answer, and the last byte of a complete one."""

CHILD_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end the child at once, however the parent handles them."""

OUT_OF_MEMORY: Final = "there is not enough memory to classify"

TIMEOUT_SECONDS: Final = 60.0
"""Time after which a verdict is of no use any more."""

ENDING_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP", "SIGALRM")
"""Signals that end a program: a message that is being classified is passed on first."""

MAX_CLASSIFIED_BYTES: Final = 1 << 24
"""Bytes of a message that are held in memory and classified, however long it is."""

PIECE_BYTES: Final = 1 << 16
"""Bytes that are read at a time."""


class IsolatedError(DecibanError):
    """The function raised an error, or its process crashed or took too long."""


@a.command(
    a.MESSAGES, a.STORE, a.MODEL,
    a.number("--top", "NUMBER", "How many clues to name, the strongest first.", minimum=0, default=SHOWN_CLUES),
    a.SUBFOLDERS, a.TRASHED, a.JSON_LINES, a.DEBUG,
    examples=["deciban mail classify < message.eml", "deciban mail classify ~/Maildir --json"],
)  # fmt: skip
def classify(
    paths: Sequence[str], store: str | None, model: str | None, top: int, subfolders: bool, trashed: bool,
    json: bool, debug: bool,
) -> int:  # fmt: skip
    """Classify messages: the one on standard input, or all of the PATHs, a line each, and how many are what.

    The columns are verdict, probability, evidence, sender, subject and path; in a pipe there is a tab between them.
    Exit codes for one on standard input: 0 spam, 1 ham (or any other label), 2 unsure, 3 error. For PATHs: 0 done, 3
    error.
    """
    with handle_errors(debug, NO_VERDICT, "nothing was changed"):
        if not paths:
            return classify_stdin(store, model, top, json, debug)
        from deciban.mail.bulk.reader_processes import ReaderPool
        from deciban.mail.model.verdicts import NOT_FITTED, explain_too_few
        from deciban.mail.sources.message_sources import list_messages

        a.check_paths(paths)
        with a.count_done("classifying") as tick:
            reader = a.MessageReader(paths, subfolders, trashed)
            with (
                ReaderPool(reader.iterate(list_messages), None, digests=False) as pool,
                a.open_to_classify(store, model) as mail,
            ):
                counts = Counter[str]()
                for name, verdict in mail.classify_all(pool.messages, pool, clues=top):
                    tick()
                    counts[verdict.label] += 1
                    print(escape_for_terminal(format_json(name, verdict)) if json else format_row(name, verdict))
        total = counts.total()
        if not json and total:
            sys.stdout.flush()
            if verdict.why in {NOT_FITTED, explain_too_few(verdict.learned)} - {""}:  # the reason of all of them
                print_stderr(f"warning: {verdict.why}")
        if not json and total > 1:
            print_stderr(f"{format_thousands(total)} messages: {a.format_counts(dict(counts.most_common()))}")
        reader.report_problems(total)
    return 0


def format_row(name: str, verdict: Verdict) -> str:
    """Return a verdict as one line; the path comes last, as it may be long.

    On a terminal the columns line up, and sender and subject are cut to theirs; elsewhere tabs are between them.
    """
    heading = [to_one_line(text or "") for text in (verdict.sender, verdict.subject)]
    path, evidence = to_one_line(name), f"{verdict.decibans:+.1f} dB"
    probability = format_probability(verdict.probability)
    if not sys.stdout.isatty():
        return "\t".join([verdict.label, probability, evidence, *heading, path])
    from rich.cells import cell_len, set_cell_size

    shown = [
        set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
        for text, width in zip(heading, (SENDER_CELLS, SUBJECT_CELLS))
    ]
    return "  ".join([f"{verdict.label:<8}", f"{probability:<12}", f"{evidence:>11}", *shown, path])


def classify_stdin(store: str | None, model: str | None, top: int, json: bool, debug: bool) -> int:
    """Print the verdict on the message on standard input, and return the exit code that states it.

    A library that ends its process does so with 1, which would be a verdict: so another process classifies.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one message needs no threads, nor their memory
    raw = a.read_stdin()

    def classify_message() -> bytes:
        with a.open_to_classify(store, model) as mail:
            verdict = mail.classify(raw, clues=top)
        line = format_json("-", verdict) if json else verdict.header(top)
        return f"{VERDICTS.get(verdict.label, NOT_SPAM)} {line}".encode("utf-8", "surrogatepass")

    try:
        code, _, line = run_isolated(classify_message, debug).decode("utf-8", "surrogatepass").partition(" ")
    except MemoryError:
        raise IsolatedError(OUT_OF_MEMORY) from None
    print(escape_for_terminal(line))
    sys.stdout.flush()
    return int(code)


def format_json(name: str, verdict: Verdict) -> str:
    """Return a verdict as one line of JSON."""
    from deciban.plain_json import encode_plain, to_json

    figures = {"path": name, **verdict.to_dict()}
    try:
        return encode_plain(figures)
    except ValueError:  # a number that is not finite
        return to_json(figures)


@a.command(
    a.MESSAGES, a.STORE, a.MODEL,
    a.number("--top", "NUMBER", "How many clues to show, the strongest first.", minimum=0, default=15),
    a.JSON_LINES, a.DEBUG,
    examples=["deciban mail explain message.eml", "deciban mail explain < message.eml"],
)  # fmt: skip
def explain(paths: Sequence[str], store: str | None, model: str | None, top: int, json: bool, debug: bool) -> None:
    """Show why messages get their verdicts: their clues, the evidence of each in decibans, and where it was seen."""
    paths = [] if paths == ["-"] else paths
    with handle_errors(debug, interrupted="nothing was changed"), a.open_to_classify(store, model) as mail:
        for name, raw in a.read_messages(paths, "standard input"):
            verdict = mail.classify(raw, clues=top)
            if json:
                print(escape_for_terminal(format_json(name, verdict)))
            else:
                _show_explanation(name, verdict)


def _show_explanation(name: str, verdict: Verdict) -> None:
    from deciban.cli.render import Screen

    out = Screen()
    out.print_heading(to_one_line(name))
    evidence = f"{format_signed(verdict.decibans, 1)} dB for {verdict.of}, by {verdict.model}"
    out.print_line(f"{verdict.label}: p({verdict.of}) = {format_probability(verdict.probability)}, {evidence}")
    heading = (("from", verdict.sender), ("subject", verdict.subject))
    out.print_pairs([(name, value[:MAX_HEADER_CHARACTERS]) for name, value in heading if value])
    labels = list(verdict.learned)
    columns = labels if len(labels) <= MAX_LABEL_COLUMNS else [verdict.of, OTHERS]
    head = ["decibans", *columns, "what"]
    out.print_table(head, _format_explanation(verdict, columns), right=range(len(head) - 1), wide=len(head) - 1)
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


def _format_explanation(verdict: Verdict, columns: list[str]) -> list[list[str]]:
    """Return a row of texts for the prior, each clue, all other tokens and their sum: decibans, counts, words."""
    from deciban.mail.tokens.token_descriptions import describe_token

    blank = [""] * len(columns)
    shown = [clue for clue in verdict.clues if abs(clue.decibans) >= MIN_SHOWN_DECIBANS]
    others = verdict.others + sum(clue.decibans for clue in verdict.clues if clue not in shown)
    rows = [(verdict.prior, _format_counts(verdict.learned, columns), "messages learned, before this one is read")]
    rows += [(clue.decibans, _format_counts(clue.counts, columns), describe_token(clue.token)) for clue in shown]
    rows += [(others, blank, "all else that it has"), (verdict.decibans, blank, "together")]
    return [[format_signed(decibans, 1), *counts, words] for decibans, counts, words in rows]


def _format_counts(counts: Mapping[str, float], columns: list[str]) -> list[str]:
    """Format the numbers of messages of the labels that have columns; where messages age, one of today counts 1."""
    others = sum(n for label, n in counts.items() if label not in columns)
    shown = [others if name == OTHERS else counts.get(name, 0) for name in columns]
    return [format_thousands(n) if float(n).is_integer() else format_thousands(n, ".1f") for n in shown]


class EndedError(Exception):
    """A signal asked the program to end."""


@a.command(a.STORE, a.MODEL, a.DEBUG, examples=["deciban mail filter < message.eml > classified.eml"])
def filter_message(store: str | None, model: str | None, debug: bool) -> None:
    """Pass a message from standard input to standard output, with the header X-Deciban in place of any that came.

    On any error (no store, a full disk, a signal) the message is passed on as it came, and the exit code is 0.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one message needs no threads, nor their memory
    read: list[bytes] = []
    is_ended = False

    def end(number: int, frame: object) -> None:
        """Raise an error once, and never after the verdict: a part of a message is worse than a late one."""
        nonlocal is_ended
        if not is_ended:
            is_ended = True
            raise EndedError(f"ended by {signal.Signals(number).name}")

    with a.handle_signals(end, *ENDING_SIGNALS):
        try:
            _read_head(read)
            start = [insert_verdict(b"".join(read), store, model, debug)] if read else read
            is_ended = True
        except Exception as error:
            is_ended = True
            start = read
            with suppress(Exception):  # the message is passed on even where the error cannot be printed
                print_stderr(f"error: {str(error) or type(error).__name__}\nThe message was passed on as it came.")
        _pass_on(start)


def pass_unchanged(reason: str) -> None:
    """Pass the message on as it came, and report the reason."""
    print_stderr(f"error: {reason}\nThe message was passed on as it came.")
    _pass_on([])


def insert_verdict(head: bytes, store: str | None, model: str | None, debug: bool) -> bytes:
    """Return a message, or its first part, with the header of its verdict."""
    from deciban.mail.message.headers import insert_header

    def classify() -> bytes:
        with a.open_to_classify(store, model) as mail:
            return mail.classify(head, clues=SHOWN_CLUES).header().encode()

    return insert_header(head, run_isolated(classify, debug).decode())


def _read_head(into: list[bytes]) -> None:
    """Read the part of the message that is classified, in pieces that are there to pass on, whatever happens."""
    left = MAX_CLASSIFIED_BYTES
    try:
        while left and (piece := sys.stdin.buffer.read(min(PIECE_BYTES, left))):
            into.append(piece)
            left -= len(piece)
    except (OSError, AttributeError, EndedError) as error:
        _give_up(f"the message could not be read: {error}")


def _pass_on(start: list[bytes]) -> None:
    """Write these pieces, and then all that follows on standard input."""
    try:
        for piece in start:
            sys.stdout.buffer.write(piece)
        while piece := sys.stdin.buffer.read(PIECE_BYTES):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except (OSError, AttributeError, MemoryError) as error:
        _give_up(f"the message could not be passed on: {error}")


def _give_up(reason: str) -> NoReturn:
    """End at once: an orderly end would try to write once more, and fail again."""
    with suppress(OSError):
        os.write(2, f"error: {reason}\n".encode())
    os._exit(TEMPORARY_FAILURE)


def run_isolated(function: Callable[[], bytes], debug: bool = False) -> bytes:
    """Return what `function` returns; its error, a crash or more than `TIMEOUT_SECONDS` are an IsolatedError here.

    Libraries end a process that has too little memory, systems kill it, and a lock that is waited for in C ignores
    signals: none of it happens to the caller. With `debug` the error has a traceback. Without fork it is only called.

    >>> run_isolated(lambda: b"done")
    b'done'
    """
    if not hasattr(os, "fork"):
        return function()
    read_end, write_end = os.pipe()
    child, mask = _fork()
    if not child:
        _run_child(function, debug, write_end, mask)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(write_end)
        answer = _read_answer(read_end)
    finally:
        os.close(read_end)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has answered, or is too late
        os.waitpid(child, 0)
    if not answer.endswith(END):
        raise IsolatedError("classifying was cut short. Hint: is there enough memory?")
    if answer.startswith(FAILED):
        raise IsolatedError(answer[1:-1].decode())
    return answer[1:-1]


def _fork() -> tuple[int, set[signal.Signals]]:
    """Fork with signals blocked, lest the child raise the errors that they are in the parent; return the old mask."""
    mask: set[Any] = signal.pthread_sigmask(signal.SIG_BLOCK, CHILD_SIGNALS)
    try:
        return os.fork(), mask
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise


def _run_child(function: Callable[[], bytes], debug: bool, write_end: int, mask: set[signal.Signals]) -> NoReturn:
    """Run the function in the child, which ends here lest it do what the parent has still to do."""
    try:
        for number in CHILD_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            answer = DONE + function() + END
        except Exception as error:
            text = OUT_OF_MEMORY if isinstance(error, MemoryError) else describe_error(error)
            if debug:
                from traceback import format_exc

                text = format_exc().rstrip()
            answer = FAILED + text.encode("utf-8", "replace") + END
        while answer:
            answer = answer[os.write(write_end, answer) :]
        sys.stderr.flush()
    finally:
        os._exit(0)


def _read_answer(read_end: int) -> bytes:
    """Read to the end of a pipe; IsolatedError after `TIMEOUT_SECONDS`."""
    read, until = b"", monotonic() + TIMEOUT_SECONDS
    while True:
        ready, _, _ = select.select([read_end], [], [], max(0.0, until - monotonic()))
        if not ready:
            raise IsolatedError(f"classifying took more than {TIMEOUT_SECONDS:g} seconds")
        piece = os.read(read_end, 1 << 16)
        if not piece:
            return read
        read += piece
