"""Which tests run, and how they draw examples.

`make test` runs every test and case but those that are marked `thorough` by hand, each with its reason: they take a
second or more, or need what not every machine has. `make thorough` runs these.
Examples are the same every time, unless HYPOTHESIS_PROFILE=search asks for new ones.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import postgres  # noqa: F401  a fixture of all tests

calm = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("steady", max_examples=40, deadline=None, derandomize=True, suppress_health_check=calm)
settings.register_profile("search", max_examples=1000, deadline=None, suppress_health_check=calm)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_collection_modifyitems(items):
    """Refuse a test that is left to `make thorough` without a reason."""
    for item in items:
        for marker in item.iter_markers("thorough"):
            if not marker.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid} is thorough: say why, thorough(reason='…')")
