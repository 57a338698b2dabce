import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed (extra: studio)")

from tests.studio.studio_client import StudioClient


@pytest.fixture
def visitor(tmp_path):
    """A client that has not opened the studio yet."""
    return StudioClient(tmp_path)


@pytest.fixture
def studio(visitor):
    """A client that has opened the studio."""
    return visitor.enter()


@pytest.fixture
def trained(studio):
    """A studio with the example of patients and a model of it."""
    studio.post("/open/example", data={"name": "patients"})
    studio.work("/train/start", learner="bayes")
    return studio
