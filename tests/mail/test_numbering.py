"""Tokens by number are the tokens of the definition, however messages are grouped into batches."""

from __future__ import annotations

import pytest

from deciban.mail.bulk import token_numbers as numbering
from deciban.mail.bulk.token_numbers import TokenNumberer
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from tests.mail import hostile, made_up
from tests.mail.fuzzing import NumberedTokens, read_by_definition


@pytest.fixture(scope="module")
def messages():
    """The example mailbox: wanted mail and spam in eleven languages."""
    return made_up.example_mailbox()


def test_numbered_tokens_are_those_of_the_definition(messages):
    raws = [*messages, *made_up.BROKEN.values(), *dict(hostile.repeated(2000)).values()]
    assert NumberedTokens(TokenNumberer(DEFAULT_OPTIONS)).of(raws) == [read_by_definition(raw) for raw in raws]


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_the_size_of_batches_does_not_matter(messages, batch_size):
    reader = NumberedTokens(TokenNumberer(DEFAULT_OPTIONS))
    held = [one for at in range(0, len(messages), batch_size) for one in reader.of(messages[at : at + batch_size])]
    assert held == NumberedTokens(TokenNumberer(DEFAULT_OPTIONS)).of(messages)
    assert reader.begun == 1


def test_numbers_that_begin_anew_mean_the_same_tokens(monkeypatch, messages):
    usual = NumberedTokens(TokenNumberer(DEFAULT_OPTIONS)).of(messages)
    monkeypatch.setattr(numbering, "MOST_WORDS", 1000)
    reader = NumberedTokens(TokenNumberer(DEFAULT_OPTIONS))
    assert [held for at in range(0, len(messages), 20) for held in reader.of(messages[at : at + 20])] == usual
    assert reader.begun > 5


def test_an_empty_batch_changes_nothing():
    reader = NumberedTokens(TokenNumberer(DEFAULT_OPTIONS))
    assert reader.of([]) == []
    assert reader.of([b"\nword"]) == [read_by_definition(b"\nword")]
    assert reader.of([]) == []


def test_digests_are_left_out_unless_they_are_wanted(messages):
    _, _, digests, sizes, _, _ = TokenNumberer(DEFAULT_OPTIONS).said(messages[:5], digests=False)
    assert (digests, len(sizes)) == (b"", 20)


def test_pairs_of_words_are_numbered_where_they_are_wanted():
    assert "tea+time" in NumberedTokens(TokenNumberer(TokenOptions(pairs=True))).of([b"\ntea time"])[0].tokens
