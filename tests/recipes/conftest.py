"""A trained store, and home folders with a copy of it."""

import pytest

from tests.mail.spamds import learn_messages
from tests.recipes.homes import home


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    store = tmp_path_factory.mktemp("learned") / "mail.db"
    learn_messages(store, each=20)
    return store


@pytest.fixture
def own(tmp_path, learned):
    """A home folder of the user who runs the tests."""
    return home(tmp_path / "home", learned)
