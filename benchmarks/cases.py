"""All cases, in the order of the report."""

from . import covariance, dense, sparse
from .case import Case

CASES: tuple[Case, ...] = dense.CASES + sparse.CASES + covariance.CASES


def named(name: str) -> Case:
    """The case of this name."""
    return next(case for case in CASES if case.name == name)
