"""A real IMAP server for tests: Debian's dovecot on loopback, with users, certificates and folders of its own."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from imaplib import IMAP4
from pathlib import Path

PROGRAM = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/lib/dovecot")
ABSENT = None if PROGRAM and shutil.which("openssl") else "needs Debian's dovecot-imapd and openssl"
USER, PASSWORD = "joe@x.org", 'sé"cret \\pass'

SETTINGS = """
protocols = imap
listen = 127.0.0.1
base_dir = {home}/run
state_dir = {home}/state
log_path = {home}/log
ssl = {ssl}
ssl_cert = <{home}/server.pem
ssl_key = <{home}/server.key
disable_plaintext_auth = {no_plain}
auth_mechanisms = {mechanisms}
auth_failure_delay = 0
default_internal_user = {internal}
default_internal_group = {internal_group}
default_login_user = {login}
first_valid_uid = 1
mail_location = maildir:{home}/mail/Maildir
passdb {{
  driver = passwd-file
  args = {home}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={home}/mail
}}
namespace inbox {{
  inbox = yes
  separator = .
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
"""


@dataclass
class Server:
    home: Path
    port: int
    tls_port: int

    @property
    def ca(self) -> Path:
        return self.home / "ca.pem"

    def address(self, folder="INBOX", secure=True, options=True, user=USER):
        ca = f"?ca={self.ca}" if secure and options else ""
        scheme, port = ("imaps", self.tls_port) if secure else ("imap", self.port)
        return f"{scheme}://{user.replace('@', '%40')}@127.0.0.1:{port}/{folder}{ca}"

    @contextmanager
    def reader(self):
        """A mail program of the user's, that may do everything."""
        line = IMAP4("127.0.0.1", self.port, timeout=20)
        line.authenticate("PLAIN", lambda _: f"\0{USER}\0{PASSWORD}".encode())
        try:
            yield line
        finally:
            line.logout()


@contextmanager
def running(*, no_plain=False, mechanisms="plain", ssl="yes", more="", within=()):
    """`more` are further settings; `within` is the command to start it by, where it is to see other files."""
    # not in pytest's folders: dovecot's own users must reach it, and names of sockets are bounded
    home = Path(tempfile.mkdtemp(prefix="dovecot-"))
    home.chmod(0o755)
    server = Server(home, free_port(), free_port())
    process = None
    try:
        _prepare(server, no_plain, mechanisms, ssl)
        with (home / "dovecot.conf").open("a") as settings:
            settings.write(more)
        process = subprocess.Popen([*within, PROGRAM, "-F", "-c", home / "dovecot.conf"], stderr=subprocess.PIPE)
        _await(server, process)
        yield server
    finally:
        if process:
            process.terminate()
            process.wait(20)
            process.stderr.close()
        shutil.rmtree(home, ignore_errors=True)


def _prepare(server, no_plain, mechanisms, ssl):
    home, root = server.home, os.geteuid() == 0
    uid, gid = (65534, 65534) if root else (os.getuid(), os.getgid())
    for name in ("run", "state", "mail"):
        (home / name).mkdir()
    if root:
        os.chown(home / "mail", uid, gid)
    _certificates(home)
    (home / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
    me = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    group = subprocess.run(["id", "-gn"], capture_output=True, text=True, check=True).stdout.strip()
    internal, internal_group, login = ("dovecot", "dovecot", "dovenull") if root else (me, group, me)
    (home / "dovecot.conf").write_text(
        SETTINGS.format(
            home=home, ssl=ssl, no_plain="yes" if no_plain else "no", mechanisms=mechanisms, internal=internal,
            internal_group=internal_group, login=login, uid=uid, gid=gid, port=server.port, tls_port=server.tls_port,
        )
    )  # fmt: skip


def _certificates(home):
    (home / "extensions").write_text("subjectAltName=IP:127.0.0.1\n")
    new = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for command in (
        f"{new} -x509 -keyout ca.key -out ca.pem -subj /CN=tests -days 2",
        f"{new} -keyout server.key -out server.csr -subj /CN=127.0.0.1",
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -extfile extensions",
    ):
        subprocess.run(["openssl", *command.split()], cwd=home, check=True, capture_output=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _await(server, process):
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(process.stderr.read().decode())
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
                if line.recv(4):
                    return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError((server.home / "log").read_text())
