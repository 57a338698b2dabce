"""`deciban mail unlearn` and `deciban mail relabel`: messages that were learned are removed, or get another label."""

from __future__ import annotations

from collections.abc import Sequence

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.learn_mail import finish
from deciban.cli.mail.mail_inputs import open_to_learn, read_messages
from deciban.errors import ForgetError
from deciban.formatting import format_thousands


@a.command(a.MESSAGES, a.STORE, a.NO_FIT, a.JSON, a.DEBUG, examples=["deciban mail unlearn message.eml"])
def unlearn(paths: Sequence[str], store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Forget messages: afterwards the store is as if they had never been learned."""
    with handle_errors(debug, interrupted="nothing was unlearned"), open_to_learn(store) as mail:
        digests = list(dict.fromkeys(_read_digests(paths)))
        gone = mail.store.unlearn(digests)
        if not json:
            print_stderr(f"{format_thousands(gone)} unlearned, {format_thousands(len(digests) - gone)} not known")
        finish(mail, store, no_fit, json, unlearned=gone, unknown=len(digests) - gone)


@a.command(
    a.argument("--to", metavar="LABEL", required=True, help="The new label: ham, spam or any other."),
    a.MESSAGES, a.STORE, a.NO_FIT, a.JSON, a.DEBUG,
    examples=["deciban mail relabel --to ham message.eml"],
)  # fmt: skip
def relabel(to: str, paths: Sequence[str], store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Change the label of messages that were learned; their times stay."""
    with handle_errors(debug, interrupted="nothing was relabelled"), open_to_learn(store) as mail:
        from deciban.mail.filter import check_label

        check_label(to)
        labels = {digest: mail.store.known(digest) for digest in _read_digests(paths)}
        moved = [digest for digest, label in labels.items() if label not in (None, to)]
        unknown = sum(label is None for label in labels.values())
        if unknown == len(labels):
            raise ForgetError(
                f"none of {format_thousands(unknown)} messages was ever learned, so none is relabelled. "
                f"Hint: deciban mail learn --label {to}=PATH"
            )
        with mail.store.writing():
            for digest in moved:
                mail.store.relabel(digest, to)
        if not json:
            same = len(labels) - len(moved) - unknown
            parts = [
                f"{format_thousands(len(moved))} moved to {to}",
                f"{format_thousands(same)} there already" if same else "",
            ]
            parts += [f"{format_thousands(unknown)} not known, left out" if unknown else ""]
            print_stderr(", ".join(filter(None, parts)))
        finish(mail, store, no_fit, json, moved=len(moved), unknown=unknown)


def _read_digests(paths: Sequence[str]) -> list[bytes]:
    """Return the digests of all messages; an unreadable message is an error before anything is changed."""
    from deciban.mail.message.digest import compute_digest

    return [compute_digest(raw) for _, raw in read_messages(paths, "-")]
