"""A message of any bytes is read: nothing raises, nothing hangs, memory is bounded."""

from hypothesis import given, settings
from hypothesis import strategies as st

from deciban.mail.message.message import read_message
from tests.mail import fuzzing, made_up

PIECES = st.one_of(st.sampled_from([*fuzzing.WORDS, *made_up.BROKEN.values()]), st.binary(max_size=30))


@given(st.lists(PIECES, max_size=20).map(b"".join))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_message(raw):
    assert fuzzing.find_fault(raw) == ""


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_reading_twice_gives_the_same(raw):
    assert read_message(raw) == read_message(raw)
