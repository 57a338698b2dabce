"""A private PostgreSQL server for tests: a cluster in a temporary folder, started once, stopped at the end."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager, suppress

import pytest

PASSWORD = 's3cr#t"pa:ss/w@rd%'
"""The password of the user `deciban`, with characters that mean something in addresses."""


def binaries():
    """Return the folder of the programs of the newest PostgreSQL of the machine; None where there is none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    program = found[-1] if found else shutil.which("initdb")
    return os.path.dirname(program) if program else None


def as_user():
    """Return the beginning of a command that runs as a user who may start a server: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return []
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return None


def reason_to_skip():
    """Return why no server can be started here; None where one can."""
    if binaries() is None:
        return "PostgreSQL is not installed"
    prefix = as_user()
    if prefix is None or (prefix and shutil.which("setpriv") is None):
        return "PostgreSQL does not run as root, and no other user can be taken"
    return None


class Server:
    """A running server: its port, and the addresses of its users."""

    def __init__(self, port, socket_folder):
        self.port, self.socket_folder = port, socket_folder

    @property
    def url(self):
        """The address of the superuser, who needs no password."""
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def connect(self):
        import psycopg

        parameters = {"host": "127.0.0.1", "port": self.port, "user": "tester", "dbname": "postgres"}
        return psycopg.connect(**parameters, autocommit=True, options="-c lock_timeout=10s")


@contextmanager
def running_server():
    """Yield a server on a free port of loopback, in a folder of its own that is deleted afterwards."""
    prefix, programs = as_user(), binaries()
    folder = tempfile.mkdtemp(prefix="deciban-pg-")
    data = os.path.join(folder, "data")
    try:
        if prefix:
            owner = pwd.getpwuid(int(prefix[1].split("=")[1]))
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        run = lambda *command: subprocess.run(  # noqa: E731
            [*prefix, *command], check=True, cwd=folder, capture_output=True, env={**os.environ, "LC_ALL": "C"}
        )
        run(f"{programs}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        with open(os.path.join(data, "pg_hba.conf"), "w") as file:
            file.write(
                "host all tester 127.0.0.1/32 trust\nlocal all tester trust\n"
                "host all all 127.0.0.1/32 scram-sha-256\n"
            )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = f"-p {port} -h 127.0.0.1 -k {folder} -c fsync=off -c shared_buffers=256MB"
        run(f"{programs}/pg_ctl", "-D", data, "-w", "-l", os.path.join(folder, "log"), "-o", options, "start")
        try:
            server = Server(port, folder)
            with server.connect() as connection:
                connection.execute(f"create role deciban login password '{PASSWORD}'")
            yield server
        finally:
            run(f"{programs}/pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres():
    """A server of PostgreSQL; tests that need it are skipped where there is none, with the reason."""
    pytest.importorskip("psycopg")
    if reason := reason_to_skip():
        pytest.skip(reason)
    with running_server() as server:
        yield server
