"""An IMAP server for tests that sends prepared responses, valid or not."""

import socket
from contextlib import contextmanager
from threading import Thread

DEFAULT_RESPONSES = {
    "CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n",
    "LOGIN": b"",
    "EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n* OK [UIDNEXT 2] ok\r\n",
    "SEARCH": b"* SEARCH 1\r\n",
    "RFC822.SIZE": b'* 1 FETCH (UID 1 RFC822.SIZE 5 INTERNALDATE "01-Jan-1970 00:01:40 +0000" FLAGS ())\r\n',
    "BODY.PEEK": b"* 1 FETCH (UID 1 BODY[]<0> {5}\r\nhello)\r\n",
    "LOGOUT": b"* BYE\r\n",
}


@contextmanager
def serve_script(**overrides):
    """Serve one client after the other; None closes the connection; a response with `{tag}` ends the command."""
    responses = {**DEFAULT_RESPONSES, **{key.replace("_", "."): value for key, value in overrides.items()}}
    received = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=_serve, args=(listener, responses, received), daemon=True).start()
        yield f"imap://joe@127.0.0.1:{listener.getsockname()[1]}/INBOX", received


def _serve(listener, responses, received):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, client.makefile("rb") as lines:
            try:
                _converse(client, lines, responses, received)
            except OSError:
                continue


def _converse(client, lines, responses, received):
    client.sendall(b"* OK ready\r\n")
    for line in lines:
        received.append(line)
        tag = line.split()[0]
        key = next((key for key in reversed(responses) if key.encode() in line), None)
        response = responses.get(key, b"")
        if response is None:
            return
        for piece in [response] if isinstance(response, bytes) else response:
            client.sendall(piece.replace(b"{tag}", tag))
        if not isinstance(response, bytes) or b"{tag}" not in response:
            client.sendall(tag + b" OK done\r\n")
