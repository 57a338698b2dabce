"""How all tests draw their examples: the same ones every time, unless HYPOTHESIS_PROFILE=search asks for new ones."""

import os

from hypothesis import HealthCheck, settings

calm = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("steady", max_examples=40, deadline=None, derandomize=True, suppress_health_check=calm)
settings.register_profile("search", max_examples=1000, deadline=None, suppress_health_check=calm)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
