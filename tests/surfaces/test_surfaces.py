"""Random models give one posterior on all surfaces: a seeded sample, and more of them in the thorough tests."""

import os
import time

import pytest

from tests.surfaces import runner

SEED = int(os.environ.get("DECIBAN_SEED", "0"))


def test_all_surfaces_agree_on_a_sample():
    found = runner.run(range(SEED, SEED + 8))
    assert not found.violations, "\n".join(map(str, found.violations))
    assert found.comparisons > 5_000


@pytest.mark.thorough(reason="writes and runs every surface of many tables: minutes")
def test_all_surfaces_agree(postgres):
    found = runner.run(range(SEED + 100, SEED + 100_000), postgres, time.monotonic() + 120)
    assert not found.violations, "\n".join(map(str, found.violations))
