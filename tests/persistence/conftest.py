"""Fixtures of all tests of model files."""

import pytest

from deciban.persistence import container


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.deciban"


@pytest.fixture
def large(monkeypatch):
    """Map all files, and check their arrays when they are used."""
    monkeypatch.setattr(container, "EAGER_CHECK_BYTES", 0)


@pytest.fixture(params=["small", "large"])
def size(request):
    """Read files in full at once, or map them."""
    if request.param == "large":
        request.getfixturevalue("large")
