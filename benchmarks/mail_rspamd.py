"""rspamd's classifier: a server of its own and a Redis of its own, in a folder, asked over Unix sockets.

Its other rules are off. The probability of spam is that of its symbols BAYES_SPAM and BAYES_HAM; between 45 and 55 %
it gives none.
"""

import http.client
import json
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes

from .mail_peers import NEUTRAL, Filter, find_program, log_odds

WEIGHTS = {"BAYES_SPAM": 5.1, "BAYES_HAM": -3.0}
"""Debian's weights; a message's fraction of them gives the probability with more digits than its percentage."""

TIMEOUT_SECONDS = 60.0
"""Seconds until it must listen: it compiles a list of all domains first."""

REDIS = 'port 0\nunixsocket {folder}/redis.sock\nsave ""\nappendonly no\ndir {folder}\n'
RSPAMD = """
lua = "/usr/share/rspamd/rules/rspamd.lua";
options {{
  pidfile = "{folder}/rspamd.pid"; url_tld = "/usr/share/rspamd/effective_tld_names.dat"; filters = "";
  dns {{ nameserver = ["127.0.0.1"]; timeout = 0.1; retransmits = 1; }}
  hs_cache_dir = "{folder}/"; rrd = ""; history_file = ""; tempdir = "{folder}";
}}
logging {{ type = "file"; filename = "{folder}/rspamd.log"; level = "error"; }}
worker "normal" {{ bind_socket = "{folder}/judge.sock mode=0600"; count = 1; }}
worker "controller" {{ bind_socket = "{folder}/learn.sock mode=0600"; count = 1; secure_ip = ["127.0.0.1"]; }}
classifier "bayes" {{
  tokenizer {{ name = "osb"; }}
  cache {{ backend = "redis"; }}
  new_schema = true; store_tokens = false; signatures = false; min_tokens = 11; min_learns = 1;
  backend = "redis"; servers = "{folder}/redis.sock";
  statfile {{ symbol = "BAYES_HAM"; spam = false; }}
  statfile {{ symbol = "BAYES_SPAM"; spam = true; }}
}}
redis {{ servers = "{folder}/redis.sock"; }}
actions {{ reject = 15; }}
group "statistics" {{ symbols = {{ "BAYES_SPAM" {{ weight = 5.1; }} "BAYES_HAM" {{ weight = -3.0; }} }} }}
"""
"""Debian's classifier by default, except for its least number of messages (200 of each kind)."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_SECONDS)
        self.sock.connect(str(self.path))


class Rspamd(Filter):
    """rspamd's Bayes alone; like SpamAssassin's it adds points, and calls nothing spam by itself."""

    name = "rspamd's Bayes"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        programs = find_program("redis-server", "redis-server"), find_program("rspamd", "rspamd")
        (folder / "redis.conf").write_text(REDIS.format(folder=folder))
        (folder / "rspamd.conf").write_text(RSPAMD.format(folder=folder))
        commands = [programs[0], str(folder / "redis.conf")], [programs[1], "-f", "-i", "-c", f"{folder}/rspamd.conf"]
        self._servers = [
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands
        ]
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + TIMEOUT_SECONDS
        while True:
            try:
                self._ask("learn.sock", "GET", "/ping", b"")
                self._ask("judge.sock", "GET", "/ping", b"")
                return
            except OSError:
                if time.monotonic() > end:
                    self.close()
                    raise RuntimeError("rspamd does not listen") from None
                time.sleep(0.2)

    def close(self) -> None:
        for server in reversed(self._servers):
            server.terminate()
            server.wait()

    def learn(self, paths: Sequence[Path], codes: Codes) -> None:
        for i in np.random.default_rng(0).permutation(len(paths)).tolist():
            self._ask("learn.sock", "POST", "/learnspam" if codes[i] else "/learnham", paths[i].read_bytes())

    def scores(self, paths: Sequence[Path]) -> NDArray[np.float64]:
        answers = (self._ask("judge.sock", "POST", "/checkv2", path.read_bytes()) for path in paths)
        return np.array([_score(json.loads(answer).get("symbols", {})) for answer in answers])

    def _ask(self, name: str, method: str, path: str, raw: bytes) -> bytes:
        connection = UnixConnection(self.folder / name)
        try:
            connection.request(method, path, raw)
            return connection.getresponse().read()
        finally:
            connection.close()


def _score(symbols: dict[str, Any]) -> float:
    """Return log-odds that rise with the classifier's probability; without a symbol they are neutral."""
    for name, weight in WEIGHTS.items():
        if name in symbols:
            confidence = float(symbols[name]["score"]) / weight
            p = 0.5 + confidence / 2 if name == "BAYES_SPAM" else 0.5 - confidence / 2
            return float(log_odds(np.array([p]))[0])
    return NEUTRAL
