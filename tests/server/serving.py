"""Real servers on loopback, for tests: processes of `deciban serve`, and models that they serve."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

import deciban
from tests.tables.clinic import as_text, patients

ADDRESS = re.compile(r"serving .*? at (http://\S+) ")
START_SECONDS = 60
TOKEN = "correct-horse-battery"


class Server:
    """A server process, its address and its log."""

    def __init__(self, process, log, token=None):
        self.process, self.log_path = process, log
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = self._wait_for_address()
        self.client = self.connect()
        self._wait_for_answer()

    def connect(self):
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, headers=self.headers)

    def reconnect(self):
        """Open another connection, which any of the workers may accept."""
        self.client.close()
        self.client = self.connect()

    def _wait_for_address(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            found = ADDRESS.search(self.log_path.read_text())
            if found:
                return found[1]
            assert self.process.poll() is None, self.log_path.read_text()
            time.sleep(0.02)
        raise AssertionError("the server did not start")

    def _wait_for_answer(self):
        """Wait for the first worker."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                assert self.client.get("/healthz", timeout=START_SECONDS).status_code == 200
                return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    @property
    def events(self):
        lines = self.log_path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def rows(self, name="clinic"):
        return self.client.get(f"/v1/models/{name}").json()["rows"]

    def post(self, path, rows=None, **options):
        return self.client.post(path, json={"rows": rows}, **options)

    def kill(self):
        """End the process, and its workers, at once, as kill −9 and power cuts do."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """End the server as a supervisor does; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextmanager
def serve(folder, *words, token=None):
    """Run `deciban serve` with these arguments at any free port."""
    log = Path(folder) / f"serve-{time.monotonic_ns()}.log"
    environment = {name: value for name, value in os.environ.items() if name != "DECIBAN_TOKEN"}
    environment |= {"DECIBAN_TOKEN": token} if token else {}
    command = [sys.executable, "-m", "deciban", "serve", *map(str, words), "--port", "0"]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stderr=stderr, env=environment, start_new_session=True)
    try:
        server = Server(process, log, token)
        with closing(server.client):
            yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def save_clinic(folder, name="clinic.deciban", **options):
    """Write a model of all kinds of columns; return its path and the rows that it learned, as JSON has them."""
    table = as_text(patients())
    model = deciban.train(table, target="diagnosis", judge=False, **options)
    path = Path(folder) / name
    model.save(path)
    return path, table.to_pylist()
