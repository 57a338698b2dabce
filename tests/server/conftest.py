"""A server that the tests of this folder share: it learns, has a token, and low limits."""

import pytest

import deciban
from tests.server.serving import TOKEN, save_clinic, serve

LIMITS = ["--max-bytes", 20_000_000, "--max-rows", 100_000, "--seconds", 5, "--max-requests", 8]


@pytest.fixture(scope="session")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    path, rows = save_clinic(folder)
    model = deciban.load(path)
    with serve(folder, path, "--learning", *LIMITS, token=TOKEN) as server:
        server.path, server.learned, server.folder, server.model = path, rows, folder, model
        yield server
        assert server.process.poll() is None
        assert server.client.get("/v1/models").status_code == 200
        assert not [event for event in server.events if event["event"] == "failure"]
