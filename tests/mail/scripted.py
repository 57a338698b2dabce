"""A server of few words for tests: it says what a test wants it to say, true or not."""

import socket
from contextlib import contextmanager
from threading import Thread

USUAL = {
    "CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n",
    "LOGIN": b"",
    "EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n* OK [UIDNEXT 2] ok\r\n",
    "SEARCH": b"* SEARCH 1\r\n",
    "RFC822.SIZE": b'* 1 FETCH (UID 1 RFC822.SIZE 5 INTERNALDATE "01-Jan-1970 00:01:40 +0000" FLAGS ())\r\n',
    "BODY.PEEK": b"* 1 FETCH (UID 1 BODY[]<0> {5}\r\nhello)\r\n",
    "LOGOUT": b"* BYE\r\n",
}


@contextmanager
def scripted(**answers):
    """Serves one client after the other; None hangs up, and an answer with a `{tag}` ends the command itself."""
    said = {**USUAL, **{key.replace("_", "."): value for key, value in answers.items()}}
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=_serve, args=(listener, said, heard), daemon=True).start()
        yield f"imap://joe@127.0.0.1:{listener.getsockname()[1]}/INBOX", heard


def _serve(listener, said, heard):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client, client.makefile("rb") as lines:
            try:
                _talk(client, lines, said, heard)
            except OSError:
                continue


def _talk(client, lines, said, heard):
    client.sendall(b"* OK ready\r\n")
    for line in lines:
        heard.append(line)
        tag = line.split()[0]
        key = next((key for key in reversed(said) if key.encode() in line), None)
        answer = said.get(key, b"")
        if answer is None:
            return
        for piece in [answer] if isinstance(answer, bytes) else answer:
            client.sendall(piece.replace(b"{tag}", tag))
        if not isinstance(answer, bytes) or b"{tag}" not in answer:
            client.sendall(tag + b" OK done\r\n")
