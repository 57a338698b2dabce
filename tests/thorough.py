"""Cases that are left to `make thorough`, marked by hand with the reason."""

from collections.abc import Sequence
from typing import Any

import pytest


def thorough(*case: Any, reason: str) -> Any:
    """Return a case of a parametrisation that `make thorough` runs, and `make test` does not."""
    return pytest.param(*case, marks=pytest.mark.thorough(reason=reason))


def thorough_beyond(n: int, cases: Sequence[Any], reason: str) -> list[Any]:
    """Return cases of which `make test` runs n, spread over them with both ends, and `make thorough` the others.

    It is for cases that each take a second or about that; cheap ones all run in `make test`.
    """
    kept = {round(i * (len(cases) - 1) / max(n - 1, 1)) for i in range(n)}
    return [
        case if i in kept else thorough(*(case if isinstance(case, tuple) else (case,)), reason=reason)
        for i, case in enumerate(cases)
    ]
