"""Which tests run, and how they draw examples.

`make test` runs a fixed sample of the cases of each long parametrisation; `make thorough` runs the other cases.
Examples are the same every time, unless HYPOTHESIS_PROFILE=search asks for new ones.
"""

import hashlib
import os
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import postgres  # noqa: F401  a fixture of all tests

calm = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("steady", max_examples=40, deadline=None, derandomize=True, suppress_health_check=calm)
settings.register_profile("search", max_examples=1000, deadline=None, suppress_health_check=calm)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

MAX_CASES = 1
"""Cases of a test that `make test` runs; the marker `cases` changes it; a test named on the command line runs all."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark cases beyond the sample as thorough, before pytest deselects by marks."""
    if any("::" in argument for argument in config.args):
        return
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker("thorough") is None:
            cases[item.nodeid.partition("[")[0]].append(item)
    for group in cases.values():
        group.sort(key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
        marker = group[0].get_closest_marker("cases")
        limit = marker.args[0] if marker else MAX_CASES
        for item in group[len(group) if limit is None else limit :]:
            item.add_marker(pytest.mark.thorough)
