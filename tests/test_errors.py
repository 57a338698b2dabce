"""The tree of errors."""

import pickle

import pytest

from deciban.errors import MAX_MESSAGE_CHARACTERS, DecibanError, InputError, StoreError


@pytest.mark.parametrize("kind", [InputError, StoreError])
def test_a_long_message_keeps_its_beginning_and_its_hint(kind):
    message = str(kind(f"cell {'x' * 100_000!r} is not a number. Hint: mend it"))
    assert message.startswith("cell 'xxx")
    assert message.endswith("' is not a number. Hint: mend it")
    assert len(message) == MAX_MESSAGE_CHARACTERS


def test_a_message_survives_pickling():
    error = pickle.loads(pickle.dumps(InputError("short")))
    assert (type(error), str(error)) == (InputError, "short")
    assert isinstance(error, DecibanError)
