"""Mutated messages by the thousand: `python -m tests.mail.fuzzing 20000 0` reads each and tells the worst of them."""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import tarfile
import time
from pathlib import Path

from tests.mail import hostile, made_up

from deciban.mail.digest import digest_of
from deciban.mail.message import read_message
from deciban.mail.tokens import Reading, tokens_of

ALL = Reading(pairs=True, others=True, body_case=True)
MOST_REAL = 1500
WORDS = [
    b"Content-Type: multipart/mixed; boundary=x\n\n--x\n", b"\n\n", b"\n--", b"charset=utf-16",
    b"charset=utf-7", b"charset=gb2312",
    b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: quoted-printable\n",
    b"Content-Type: text/html\n",
    b"Content-Type: message/rfc822\n\n", b"=?utf-8?b?", b"?=", b"\0", b"\xff\xfe", b"\x1b$B", b"<style>",
    b"<!--", b"\r", b'"', b";",
    *hostile.REPEATED,
]  # fmt: skip


def seeds() -> list[bytes]:
    """Messages to begin with: real ones if there are any, and always our own."""
    own = [*made_up.BROKEN.values(), *(made_up.plain(name).as_bytes() for name in made_up.TEXTS)]
    own += [made_up.rich().as_bytes(), made_up.forwarded().as_bytes()]
    archive = Path(os.environ.get("DECIBAN_DATA", "")) / "spamassassin.tar.gz"
    if not archive.is_file():
        return own
    with tarfile.open(archive) as members:
        files = [member for member in members if member.isfile()][:: 6047 // MOST_REAL]
        return own + [members.extractfile(member).read() for member in files]  # type: ignore[union-attr]


def mutated(raw: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A message with one to eight accidents."""
    for _ in range(chance.randint(1, 8)):
        at, size = chance.randint(0, len(raw)), int(2 ** chance.uniform(0, 10))
        way = chance.randrange(8)
        if way == 0:
            raw = raw[:at] + raw[at + size :]
        elif way == 1:
            raw = raw[:at] + raw[at : at + size] * chance.choice([2, 3, 50]) + raw[at + size :]
        elif way == 2:
            raw = raw[:at] + chance.randbytes(min(size, 200)) + raw[at:]
        elif way == 3:
            raw = raw[:at] + chance.choice(WORDS) * chance.choice([1, 1, 1, 2, 300]) + raw[at:]
        elif way == 4:
            other = chance.choice(others)
            there = chance.randint(0, len(other))
            raw = raw[:at] + other[there : there + 8 * size] + raw[at:]
        elif way == 5:
            raw = raw[:at]
        elif way == 6 and at < len(raw):
            raw = raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(8)]) + raw[at + 1 :]
        else:
            raw = raw.replace(
                chance.choice([b"\n", b" ", b"=", b'"', b"<", b"text", b"html"]), chance.choice(WORDS), 20
            )
        raw = raw[: 1 << 20]
    return raw


def trouble_with(raw: bytes) -> str:
    """What is wrong with how a message is read; nothing, if all is well."""
    try:
        tokens = tokens_of(read_message(raw), ALL)
        digest_of(raw)
        "\n".join(tokens).encode()
    except Exception as error:  # whatever it is, it is told with the message that brought it about
        return repr(error)
    fine = all(0 < len(token) <= 60 and len(token.split()) == 1 for token in tokens)
    return "" if fine else "a token that is empty, too long, or has a space"


def run(n: int, seed: int) -> dict[str, object]:
    """So many messages are made and read; the worst time, the most memory, and every trouble."""
    chance, start = random.Random(seed), seeds()
    slowest, troubles = 0.0, []
    for _ in range(n):
        raw = mutated(chance.choice(start), start, chance)
        before = time.process_time()
        if trouble := trouble_with(raw):
            troubles.append((trouble, raw[:2000].decode("latin-1")))
        slowest = max(slowest, time.process_time() - before)
    return {"inputs": n, "slowest": slowest, "peak_mib": peak_mib(), "troubles": troubles[:5]}


def peak_mib() -> float:
    """The most memory this process has held; ru_maxrss alone would remember the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return (
            next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
