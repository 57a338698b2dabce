"""The lock file: every requirement of pyproject.toml at one version that it allows, by hashes, from any index."""

import itertools
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
ENTRIES = re.sub(r"^ *#.*\n", "", (ROOT / "requirements-dev.lock").read_text(), flags=re.MULTILINE).replace(
    "\\\n", ""
)
LOCKED = [entry.split(" --hash=") for entry in re.sub(r" +", " ", ENTRIES).splitlines()]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_LOCKED = ("spark", "gpu", "docs")
"""Extras that the Makefile installs only where they are asked for."""

EXTRAS = PROJECT["project"]["optional-dependencies"]
GROUPS = [PROJECT["project"]["dependencies"], *(EXTRAS[name] for name in EXTRAS if name not in NOT_LOCKED)]
WANTED = [*itertools.chain(*GROUPS), *PROJECT["build-system"]["requires"]]


def name(requirement):
    return re.sub(r"[-_.]+", "-", requirement.name).lower()


@pytest.mark.parametrize("wanted", sorted(set(WANTED)))
def test_a_requirement_is_locked_at_a_version_that_it_allows(wanted):
    wanted = Requirement(wanted)
    found = [Requirement(entry) for entry, *_ in LOCKED if name(Requirement(entry)) == name(wanted)]
    assert found
    for locked in found:
        (pin,) = locked.specifier
        assert pin.operator == "=="
        assert wanted.specifier.contains(pin.version)


def test_every_entry_has_hashes():
    assert len(LOCKED) > 50
    for entry, *hashes in LOCKED:
        assert hashes, entry
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64} ?", each) for each in hashes), entry


def test_no_index_is_named():
    assert not re.search(
        r"https?:|file:|--(?:extra-)?index|--find-links| @ ", (ROOT / "requirements-dev.lock").read_text()
    )
