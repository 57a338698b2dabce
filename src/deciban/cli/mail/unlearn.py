"""`deciban mail unlearn` and `deciban mail relabel`: what was learned is taken back, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, stop_if_interrupted
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.open_store import learning
from deciban.errors import ForgetError
from deciban.formatting import spaced

UNLEARN = a.example("deciban mail unlearn message.eml")
RELABEL = a.example("deciban mail relabel --to ham message.eml")
To = Annotated[
    str, typer.Option("--to", metavar="LABEL", help="What they are: ham, spam or any.", show_default=False)
]


def unlearn(
    paths: o.Messages = None, store: o.StoreFile = None, no_fit: o.NoFit = False, json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:  # fmt: skip
    """Forget messages: the store is as if they had never come."""
    from deciban.cli.mail.learn_messages import settle

    with manners(debug, interrupted="nothing was unlearned"), learning(store) as mail:
        digests = dict.fromkeys(digest for _, digest in _digests(paths))
        gone = mail.store.unlearn(digests)
        if not json:
            typer.echo(f"{spaced(gone)} unlearned, {spaced(len(digests) - gone)} not known", err=True)
        done = settle(mail, store, no_fit, json)
        if json:
            from deciban.cli.output import print_json

            print_json({"store": str(mail.store.path), "unlearned": gone, "unknown": len(digests) - gone, **done})


def relabel(
    to: To, paths: o.Messages = None, store: o.StoreFile = None, no_fit: o.NoFit = False, json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:  # fmt: skip
    """Say that messages that were learned are something else; their times stay."""
    from deciban.cli.mail.learn_messages import settle

    with manners(debug, interrupted="nothing was relabelled"), learning(store) as mail:
        from deciban.mail.filter import check_label

        check_label(to)
        known = {digest: mail.store.known(digest) for _, digest in _digests(paths)}
        moved = [digest for digest, label in known.items() if label not in (None, to)]
        unknown = sum(label is None for label in known.values())
        if unknown == len(known):
            raise ForgetError(
                f"none of {spaced(unknown)} messages was ever learned, so none is relabelled. "
                f"Hint: deciban mail learn --label {to}=PATH"
            )
        with mail.store.writing():
            for digest in moved:
                mail.store.relabel(digest, to)
        if not json:
            same = len(known) - len(moved) - unknown
            parts = [f"{spaced(len(moved))} moved to {to}", f"{spaced(same)} there already" if same else ""]
            parts += [f"{spaced(unknown)} not known, left out" if unknown else ""]
            typer.echo(", ".join(filter(None, parts)), err=True)
        done = settle(mail, store, no_fit, json)
        if json:
            from deciban.cli.output import print_json

            print_json({"store": str(mail.store.path), "moved": len(moved), "unknown": unknown, **done})


def _digests(paths: list[str] | None) -> Iterator[tuple[str, bytes]]:
    """Names and digests of all messages; nothing is done with any where one cannot be read."""
    from deciban.mail.message.digest import compute_digest

    if not paths:
        from deciban.cli.mail.classify_one import standing_input

        yield "-", compute_digest(standing_input())
        return
    from deciban.cli.mail.message_progress import Drawn, refuse_absent

    refuse_absent(paths)
    drawn = Drawn(paths, stop_if_interrupted)
    for found in drawn:
        yield found.name, compute_digest(found.raw)
    drawn.end()
