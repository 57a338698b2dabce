"""`deciban mail serve`: the filter as a server for spamc, for mail systems with a hook for SpamAssassin."""

from __future__ import annotations

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.mail_inputs import store_path


@a.command(
    a.argument(
        "--spamd", metavar="ADDRESS", required=True,
        help="Where spamc finds it: 127.0.0.1:1783, [::1]:1783 or unix:/path.",
    ),
    a.STORE,
    a.flag("--no-learn", "Refuse to learn or forget messages."),
    a.flag("--anyone", "Let other machines reach it too: whoever does may teach it."),
    a.number("--connections", "NUMBER", "Clients that are served at once.", minimum=1, default=100),
    a.number("--seconds", "SECONDS", "Time that a request may take.", minimum=0.1, kind=float, default=30.0),
    a.number("--longest", "MIB", "MiB of the longest message that is accepted.", minimum=1, default=16),
    a.DEBUG,
    examples=[
        "deciban mail serve --spamd 127.0.0.1:1783", "deciban mail serve --spamd unix:$XDG_RUNTIME_DIR/deciban.sock"
    ],
)  # fmt: skip
def serve(
    spamd: str, store: str | None, no_learn: bool, anyone: bool, connections: int, seconds: float, longest: int,
    debug: bool,
) -> None:  # fmt: skip
    """Answer spamc until Ctrl-C or SIGTERM; requests that are under way are finished first."""
    with handle_errors(debug, interrupted="what was learned before is kept"):
        import logging

        from deciban.mail.spamd.connections import Limits
        from deciban.mail.spamd.spamd_server import serve

        logging.basicConfig(
            level=logging.INFO if debug else logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
        )
        limits = Limits(message=longest << 20, seconds=seconds, connections=connections)
        path = store_path(store)
        serve(
            spamd, path, limits=limits, learns=not no_learn, anyone=anyone,
            ready=lambda where: print_stderr(f"listening at {where}, with {path}"),
        )  # fmt: skip
