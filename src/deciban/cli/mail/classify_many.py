"""Many messages, wherever they lie: what each is, in a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deciban.cli.error_handling import manners
from deciban.cli.exit_codes import NO_VERDICT
from deciban.cli.mail.classify_one import CLUES, as_json
from deciban.cli.mail.message_progress import Drawn, counting, refuse_absent
from deciban.cli.mail.open_store import judging
from deciban.cli.output import for_stdout
from deciban.formatting import one_line

if TYPE_CHECKING:
    from deciban.mail.model.verdict import Verdict


def judge_all(
    paths: Sequence[str], store: str | None, model: str | None, top: int = CLUES, subfolders: bool = False,
    trashed: bool = False, json: bool = False, debug: bool = False,
) -> None:  # fmt: skip
    """Say what the messages of all paths are."""
    with manners(debug, NO_VERDICT, "nothing was changed"):
        from deciban.mail.bulk.reader_processes import ReaderPool

        refuse_absent(paths)
        with counting("classifying") as tick:
            drawn = Drawn(paths, tick, subfolders, trashed)
            with ReaderPool(drawn.many(), None, digests=False) as crew, judging(store, model) as mail:
                for name, verdict in mail.classify_all(crew.given, crew, clues=top):
                    print(for_stdout(as_json(name, verdict)) if json else as_line(name, verdict))
        drawn.end()


def as_line(name: str, verdict: Verdict) -> str:
    """A verdict in columns; the name stands last, as it may be long."""
    return f"{verdict.label:<8} {verdict.probability:.4f} {verdict.decibans:+8.1f} dB  {one_line(name)}"
