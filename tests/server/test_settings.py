"""The settings of a server: addresses, tokens, names of models, and how the command refuses wrong ones."""

import pytest

from deciban.cli.app import run
from deciban.errors import InputError, UsageError
from deciban.server.settings import Settings, name_models, read_token
from tests.server.serving import save_clinic


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_other_machines_need_a_token(host):
    with pytest.raises(UsageError, match="can be reached from other machines"):
        Settings((("a", "a.deciban"),), host=host)
    assert Settings((("a", "a.deciban"),), host=host, token="x" * 8).host == host


def test_the_token_is_not_shown():
    assert "secret" not in repr(Settings((), token="secretsecret"))


def test_tokens_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("DECIBAN_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("DECIBAN_TOKEN", "of-the-environment")
    assert read_token(None) == "of-the-environment"
    file = tmp_path / "token"
    file.write_text("of-the-file\n")
    assert read_token(str(file)) == "of-the-file"
    for wrong in ("", "short", "two words here", "naïve-token"):
        file.write_text(wrong)
        with pytest.raises(InputError, match="holds no token"):
            read_token(str(file))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_token(str(tmp_path / "nothing"))


def test_models_are_named_by_their_files(tmp_path):
    assert name_models(["a/b.deciban", "x=a/b.deciban"]) == (("b", "a/b.deciban"), ("x", "a/b.deciban"))
    odd = tmp_path / "a=b.deciban"
    odd.touch()
    with pytest.raises(UsageError, match="cannot be the name of a model"):
        name_models([str(odd)])
    with pytest.raises(UsageError, match="two models are named 'b'"):
        name_models(["b.deciban", "c/b.deciban"])
    with pytest.raises(UsageError, match="cannot be the name"):
        name_models(["../=b.deciban"])


def test_the_command_refuses_what_it_cannot_serve(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("DECIBAN_TOKEN", raising=False)
    path, _ = save_clinic(tmp_path)
    assert run(["serve", str(path), "--host", "0.0.0.0"]) == 2
    assert "there is no token" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="1"):
        run(["serve", str(tmp_path / "nothing.deciban")])
    assert "nothing.deciban" in capsys.readouterr().err
    (tmp_path / "broken.deciban").write_bytes(b"x" * 100)
    with pytest.raises(SystemExit, match="1"):
        run(["serve", str(tmp_path / "broken.deciban")])
    error = capsys.readouterr().err
    assert str(tmp_path / "broken.deciban") in error
    assert "/deciban-" not in error


def test_models_with_fitted_weights_do_not_learn(tmp_path, capsys):
    path, _ = save_clinic(tmp_path, learner="logistic", C=1.0)
    with pytest.raises(SystemExit, match="1"):
        run(["serve", str(path), "--learning"])
    assert "learns no more rows" in capsys.readouterr().err
