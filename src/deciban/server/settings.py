"""The settings of a server: its models by name, its address, its token and its limits."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from deciban.errors import InputError, UsageError

DEFAULT_PORT = 8645
TOKEN_VARIABLE = "DECIBAN_TOKEN"
"""The environment variable with the token that clients have to present."""

MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""The names of models: they are parts of addresses, labels of metrics and words of logs."""

TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{8,512}=*")
"""A bearer token as RFC 6750 writes it, of at least eight characters."""


@dataclass(frozen=True)
class Limits:
    """The limits within which requests are answered."""

    body_bytes: int = 1 << 30
    """Bytes of the longest body; those of tables are kept in a temporary file."""
    json_bytes: int = 1 << 25
    """Bytes of the longest JSON document, which is parsed in memory."""
    rows: int = 10_000_000
    explained_rows: int = 10_000
    seconds: float = 60.0
    """Time for a client to send its request, for its work, and for it to take the answer."""
    requests: int = 100
    """Requests that are answered at a time by each worker."""


@dataclass(frozen=True)
class Settings:
    """Everything that a worker needs to know; it is sent to worker processes."""

    models: tuple[tuple[str, str], ...]
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    workers: int = 1
    learning: bool = False
    token: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise UsageError(
                f"--host {self.host} can be reached from other machines, and there is no token that keeps others "
                f"out. Hint: --host 127.0.0.1, or a token in {TOKEN_VARIABLE} or --token-file FILE"
            )


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def name_models(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the name and the file of each model, given as FILE or NAME=FILE; a file's name is the default.

    >>> name_models(["models/patients.deciban", "new=models/other.deciban"])
    (('patients', 'models/patients.deciban'), ('new', 'models/other.deciban'))
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals or os.path.exists(word):
            name, path = Path(word).stem, word
        if not MODEL_NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be the name of a model: letters, digits, '.', '_' and '-', at most 100, are "
                f"needed. Hint: NAME=FILE"
            )
        if name in found:
            raise UsageError(f"two models are named {name!r}. Hint: NAME=FILE gives one of them another name")
        found[name] = path
    return tuple(found.items())


def read_token(path: str | None) -> str | None:
    """Return the token of a file, or else of the environment; None without either; InputError for a malformed one."""
    if path is None:
        token = os.environ.get(TOKEN_VARIABLE)
        where = f"the environment variable {TOKEN_VARIABLE}"
        if token is None:
            return None
    else:
        where = f"the token file {path!r}"
        try:
            token = Path(path).read_text("utf-8")
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or "it is not text"
            raise InputError(f"{where} cannot be read: {why}") from None
    token = token.strip()
    if not TOKEN.fullmatch(token):
        raise InputError(
            f"{where} holds no token: 8 to 512 letters, digits or -._~+/ are needed. "
            f"Hint: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token
