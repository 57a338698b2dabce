"""Passwords appear in no error, output or model file; they are taken from address, environment or keyring."""

import sys
import traceback
from types import SimpleNamespace
from urllib.parse import quote

import pytest

import deciban
from deciban.errors import DecibanError, InputError
from deciban.sources.databases.addresses import parse_address
from tests.cli.terminal import call
from tests.postgres import PASSWORD
from tests.sql.databases import into_postgres, mixed_table

SECRETS = ["hunter2!", PASSWORD, "pa ss'word\"", "a/b?c#d@e:f", "100%wrong", "[::1", "fatal", "127"]


def url(server, secret, more=""):
    return f"postgresql://deciban:{quote(secret, safe='')}@127.0.0.1:{server.port}/postgres{more}"


def says_nothing(error, secret):
    """Whether neither the message nor the printed traceback has the secret, raw or encoded."""
    text = str(error) + "".join(traceback.format_exception(error))
    assert quote(secret, safe="") not in text or quote(secret, safe="") == secret
    if len(secret) > 5:
        assert secret not in text
    assert error.__cause__ is None


@pytest.mark.parametrize("secret", SECRETS)
def test_a_wrong_password_is_not_shown(secret, postgres):
    wrong = secret + "x"
    with pytest.raises(DecibanError) as caught:
        deciban.train(url(postgres, wrong), table="t", target="y")
    says_nothing(caught.value, wrong)


@pytest.mark.parametrize("secret", SECRETS)
def test_an_address_that_cannot_be_read_is_not_shown(secret):
    for text in (
        f"postgresql://me:{secret}@@nowhere.invalid/db", f"postgresql://me:{secret}\n@host/db",
        f"postgresql://me:{secret}@host:port/db", f"postgresql://me:{secret}@[::1/db", f"mysql://me:{secret}@host/db",
        f"postgresql://me:%zz{secret}@host/db", f"sqlite://me:{secret}@host/x.db", f"duckdb://me:{secret}@/x.db",
        f"postgresql://me:{secret}%ff@host/db",
    ):  # fmt: skip
        with pytest.raises(DecibanError) as caught:
            deciban.train(text, table="t", target="y")
        says_nothing(caught.value, secret)
        printed = call("train", text, "--table", "t", "--target", "y", "--debug")
        assert printed.exit_code != 0
        assert secret not in printed.output or len(secret) <= 5
        both = call("train", text, "other.csv", "--target", "y")
        assert secret not in both.output or len(secret) <= 5


def test_options_of_an_address_are_not_shown_either(postgres):
    for more in ("?password=hunter2!&bogus=1", "?sslpassword=hunter2!&bogus=1", "?options=-c%20x"):
        with pytest.raises(DecibanError) as caught:
            deciban.train(f"postgresql://deciban@127.0.0.1:{postgres.port}/postgres{more}", table="t", target="y")
        says_nothing(caught.value, "hunter2!")
    assert "hunter2" not in repr(parse_address("postgresql://me:hunter2@host/db"))
    assert parse_address("postgresql://me:hunter2@Host:1/db").name == "postgresql://host:1/db"


def test_a_model_and_what_is_printed_have_no_password(postgres, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    into_postgres(postgres, mixed_table(200), "secret_rows")
    with postgres.connect() as con:
        con.execute("grant select on secret_rows to deciban")
    address, encoded = url(postgres, PASSWORD), quote(PASSWORD, safe="")
    model = deciban.train(address, table="secret_rows", target="y", judge=False)
    assert model.origin.source == f"table 'secret_rows' of postgresql://127.0.0.1:{postgres.port}/postgres"
    printed = call("train", address, "--table", "secret_rows", "--target", "y")
    assert printed.exit_code == 0, printed.output
    content = (tmp_path / "secret_rows.deciban").read_bytes()
    for secret in (PASSWORD, encoded, "s3cr"):
        assert secret not in printed.output
        assert secret.encode() not in content
    compared = call(
        "compare", address, "--table", "secret_rows", "--target", "y", "--learners", "bayes", "--folds", "2"
    )
    assert compared.exit_code == 0, compared.output
    assert "s3cr" not in compared.output
    with pytest.raises(InputError) as caught:
        deciban.train(address, table="secret_rows", target="y", where="1 / (far - far) > 0")
    says_nothing(caught.value, PASSWORD)


def test_a_password_may_come_from_the_environment_or_a_keyring(postgres, monkeypatch):
    into_postgres(postgres, mixed_table(200), "secret_rows")
    with postgres.connect() as con:
        con.execute("grant select on secret_rows to deciban")
    plain = f"postgresql://deciban@127.0.0.1:{postgres.port}/postgres"
    settings = {"table": "secret_rows", "target": "y", "judge": False}
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert deciban.train(plain, **settings).ledger.n_rows > 100
    monkeypatch.delenv("PGPASSWORD")
    with pytest.raises(InputError, match="no password supplied"):
        deciban.train(plain, **settings)
    kept = {("clinic", "deciban"): PASSWORD}
    keyring = SimpleNamespace(get_password=lambda service, user: kept.get((service, user)))
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    assert deciban.train(f"{plain}?keyring=clinic", **settings).ledger.n_rows > 100
    with pytest.raises(InputError, match="the keyring has no password for the service 'other'"):
        deciban.train(f"{plain}?keyring=other", **settings)
