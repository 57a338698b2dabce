"""`deciban mail serve`: answers spamc, so that every mail system with a hook for SpamAssassin can use the filter."""

from __future__ import annotations

from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, say
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.open_store import store_path

EXAMPLE = a.example(
    "deciban mail serve --spamd 127.0.0.1:1783", "deciban mail serve --spamd unix:$XDG_RUNTIME_DIR/deciban.sock"
)
Spamd = Annotated[
    str,
    typer.Option(
        "--spamd", metavar="ADDRESS", help="Where spamc finds it: 127.0.0.1:1783, [::1]:1783 or unix:/path."
    ),
]
NoLearn = Annotated[bool, typer.Option("--no-learn", help="Refuse to learn or forget what spamc tells.")]
Anyone = Annotated[bool, typer.Option("--anyone", help="Let other machines reach it too: whoever does may teach it.")]
Connections = Annotated[
    int, typer.Option("--connections", metavar="NUMBER", min=1, help="Clients that are served at once.")
]
Seconds = Annotated[
    float, typer.Option("--seconds", metavar="SECONDS", min=0.1, help="Time that a request may take.")
]
Longest = Annotated[
    int, typer.Option("--longest", metavar="MIB", min=1, help="MiB of the longest message that is taken.")
]


def command(
    spamd: Spamd, store: o.StoreFile = None, no_learn: NoLearn = False, anyone: Anyone = False,
    connections: Connections = 100, seconds: Seconds = 30.0, longest: Longest = 16, debug: a.Debug = False,
) -> None:  # fmt: skip
    """Answer spamc until told to end (Ctrl-C or SIGTERM); what is under way is finished first."""
    with manners(debug, interrupted="what was learned before is kept"):
        import logging

        from deciban.mail.spamd.client_connection import Limits
        from deciban.mail.spamd.spamd_server import serve

        logging.basicConfig(
            level=logging.INFO if debug else logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
        )
        limits = Limits(message=longest << 20, seconds=seconds, connections=connections)
        path = store_path(store)
        serve(
            spamd, path, limits=limits, learns=not no_learn, anyone=anyone,
            ready=lambda where: say(f"listening at {where}, with {path}"),
        )  # fmt: skip
