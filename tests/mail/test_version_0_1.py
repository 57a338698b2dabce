"""A store written by version 0.1 opens in this version and gives the verdicts that version gave."""

import gzip
import json
from pathlib import Path

import pytest

from deciban import MailFilter

FOLDER = Path(__file__).parent / "version-0.1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "mail.db"
    path.write_bytes(gzip.decompress((FOLDER / "mail.db.gz").read_bytes()))
    return path


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("model", EXPECTED)
def test_verdicts_of_an_old_store_are_the_same(model, read_only, store):
    with MailFilter(store, model=model, read_only=read_only) as mail:
        for name, expected in EXPECTED[model].items():
            verdict = mail.classify((FOLDER / f"{name}.eml").read_bytes())
            assert verdict.label == expected["label"]
            assert verdict.probability == pytest.approx(expected["probability"], rel=1e-12)
            assert verdict.decibans == pytest.approx(expected["decibans"], rel=1e-12)


def test_an_old_store_learns_and_unlearns(store):
    raw = b"Subject: tea\n\nTea at four?"
    with MailFilter(store) as mail:
        before = mail.store.totals()
        mail.learn(raw, "ham")
        assert mail.known(raw) == "ham"
        mail.unlearn(raw)
        assert mail.store.totals() == before
