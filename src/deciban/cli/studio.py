"""`deciban studio`: pages in a browser to open a table, train, look, ask and correct."""

from __future__ import annotations

from pathlib import Path

from deciban.cli.error_handling import print_stderr
from deciban.cli.parser import DEBUG, argument, command, list_option, number, option, switch
from deciban.errors import MissingExtraError, UsageError

NEEDED_PACKAGES = ("starlette", "uvicorn", "jinja2", "httptools", "orjson", "prometheus_client", "markupsafe")


@command(
    argument("opened", nargs="?", metavar="[DATA | MODEL]", help="A table or a model file to open at once."),
    number("--port", "NUMBER", "The port; 0 is any that is free.", minimum=0, maximum=65535, default=0),
    switch("--browser", "Whether to open the page in a browser."),
    number("--max-bytes", "NUMBER", "The largest file that may be dropped on a page.", minimum=1, default=1 << 30),
    option("--mail", "STORE", "The store of a mail filter, whose unsure messages are to be labelled.", type=Path),
    list_option("--messages", "WHERE", "A folder, mbox file or IMAP account with the messages of --mail."),
    DEBUG,
    examples=[
        "deciban studio",
        "deciban studio patients.csv",
        "deciban studio patients.deciban --no-browser --port 8646",
        "deciban studio --mail ~/.deciban/mail.db --messages ~/Maildir",
    ],
)  # fmt: skip
def studio(
    opened: str | None, port: int, browser: bool, max_bytes: int, mail: Path | None, messages: list[str] | None
) -> None:
    """Open the studio in a browser: from a table to a model, its report, pictures, answers and corrections.

    It is reachable from this machine only, by an address with a token that is valid once. Ctrl-C ends it.
    """
    if messages and mail is None:
        raise UsageError("--messages is for --mail: it says where the messages of a store lie")
    from deciban.cli.example import FOLDER

    try:
        from deciban.studio.run_studio import run_studio
    except ModuleNotFoundError as error:
        if error.name not in NEEDED_PACKAGES:
            raise
        raise MissingExtraError(f"{error.name} is not installed. Hint: pip install 'deciban[studio]'") from None

    def announce(address: str, is_first: bool) -> None:
        what = "the studio is open at" if is_first else "opened; in another browser:"
        print_stderr(f"{what} {address}" + (" (Ctrl-C ends it)" if is_first else ""))

    run_studio(
        opened, FOLDER, announce, port=port, browser=browser, max_upload_bytes=max_bytes, mail_store=mail,
        mail_sources=tuple(messages or ()),
    )  # fmt: skip
