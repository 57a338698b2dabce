"""A store written by version 0.1 opens in this version and gives the verdicts that version gave."""

import gzip
import json
import math
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


FITTED = ("evidence", "fisher")
"""Models whose verdicts depend on the store alone; the others were not fitted there, and start as in this version."""


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("model", FITTED)
def test_verdicts_of_an_old_store_are_the_same(model, read_only, store):
    with MailFilter(store, model=model, read_only=read_only) as mail:
        for name, expected in EXPECTED[model].items():
            verdict = mail.classify((FOLDER / f"{name}.eml").read_bytes())
            assert verdict.label == expected["label"]
            assert verdict.probability == pytest.approx(expected["probability"], rel=1e-12)
            assert verdict.decibans == pytest.approx(expected["decibans"], rel=1e-12)


@pytest.mark.parametrize("model", sorted(set(EXPECTED) - set(FITTED)))
def test_models_that_an_old_store_never_fitted_contradict_no_verdict(model, store):
    with MailFilter(store, model=model) as mail:
        for name, expected in EXPECTED[model].items():
            verdict = mail.classify((FOLDER / f"{name}.eml").read_bytes())
            assert verdict.label in ("unsure", expected["label"])


def test_a_refit_of_an_old_store_replaces_its_bias_by_the_prior(store):
    with MailFilter(store) as mail:
        assert mail.refit(force=True)
        nothing = mail.classify(b"\n\n")
        assert nothing.balance.known == 1  # the type of its text, which all have
        learned = nothing.learned
        assert nothing.prior == pytest.approx(10 * math.log10(learned["spam"] / learned["ham"]), abs=1e-9)


def test_an_old_store_learns_and_unlearns(store):
    raw = b"Subject: tea\n\nTea at four?"
    with MailFilter(store) as mail:
        before = mail.store.totals()
        mail.learn(raw, "ham")
        assert mail.known(raw) == "ham"
        mail.unlearn(raw)
        assert mail.store.totals() == before
