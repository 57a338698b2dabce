"""`deciban serve`: a REST service of models."""

from __future__ import annotations

from deciban.cli.error_handling import print_stderr
from deciban.cli.parser import DEBUG, argument, command, flag, number, option
from deciban.errors import MissingExtraError


@command(
    argument("models", nargs="+", metavar="MODEL", help="Model files; NAME=FILE gives one another name."),
    option("--host", "ADDRESS", "The address to listen at; one beyond this machine needs a token.",
           default="127.0.0.1"),
    number("--port", "NUMBER", "The port; 0 is any that is free.", minimum=0, maximum=65535, default=8645),
    number("--workers", "NUMBER", "How many processes answer.", minimum=1, maximum=256, default=1),
    flag("--learning", "Allow learn and forget, which update the model files."),
    option("--token-file", "FILE", "A file with the token that clients have to present; else DECIBAN_TOKEN has it."),
    number("--max-bytes", "NUMBER", "The longest body of a request.", minimum=1, default=1 << 30),
    number("--max-rows", "NUMBER", "The most rows of a request.", minimum=1, default=10_000_000),
    number("--max-requests", "NUMBER", "How many requests each worker answers at a time.", minimum=1, default=100),
    number("--seconds", "NUMBER", "The time for a request to come, to be worked on, and for its answer to be taken.",
           kind=float, minimum=0, excluded=(0.0, float("inf")), default=60.0),
    DEBUG,
    examples=[
        "deciban serve patients.deciban",
        "deciban serve patients.deciban --learning --workers 2",
        "DECIBAN_TOKEN=… deciban serve patients=model.deciban --host 0.0.0.0",
    ],
)  # fmt: skip
def serve(
    models: list[str], host: str, port: int, workers: int, learning: bool, token_file: str | None, max_bytes: int,
    max_rows: int, max_requests: int, seconds: float,
) -> None:  # fmt: skip
    """Serve models by HTTP: predictions, explanations, and with --learning exact updates.

    The service is described at /docs. Ctrl-C, or SIGTERM, finishes the requests that have begun and stops it.
    """
    from deciban.server.settings import Limits, Settings, name_models, read_token

    limits = Limits(max_bytes, min(Limits.json_bytes, max_bytes), max_rows, seconds=seconds, requests=max_requests)
    settings = Settings(name_models(models), host, port, workers, learning, read_token(token_file), limits)
    try:
        from deciban.server.run_server import run_server
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "httptools", "prometheus_client"):
            raise
        raise MissingExtraError(f"{error.name} is not installed. Hint: pip install 'deciban[serve]'") from None

    def announce(address: str) -> None:
        names = ", ".join(name for name, _ in settings.models)
        print_stderr(f"serving {names} at {address} (described at {address}/docs); Ctrl-C stops")

    run_server(settings, announce)
