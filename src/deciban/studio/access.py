"""Access to a studio: a token that is valid once is exchanged for a cookie, as in Jupyter."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

TOKEN_PARAMETER = "token"


class Access:
    """The token of the next address that opens the studio, and the cookie of browsers that have used one."""

    def __init__(self, port: int) -> None:
        self.cookie_name = f"deciban-studio-{port}"  # browsers send cookies to all ports of a host
        self._cookie = secrets.token_urlsafe(32)
        self._token = secrets.token_urlsafe(24)

    @property
    def path(self) -> str:
        """The path, with the token, that opens the studio in one more browser."""
        return f"/?{TOKEN_PARAMETER}={self._token}"

    def use_token(self, token: str) -> bool:
        """Return whether this is the token; if it is, another takes its place."""
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return False
        self._token = secrets.token_urlsafe(24)
        return True

    def has_cookie(self, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether the headers of a request contain the cookie."""
        try:
            found = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(self.cookie_name)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self._cookie.encode())

    @property
    def cookie_header(self) -> str:
        """The value of Set-Cookie that gives a browser the cookie, out of reach of scripts and of other sites."""
        return f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"
