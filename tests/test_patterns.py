"""No regular expression of the package is slow on any string: its time grows with the length, not with its square."""

from __future__ import annotations

import re

import pytest

from deciban.mail.sources import mbox
from deciban.mail.tokens import word_tokens as words
from deciban.sources import number_formats
from tests import patterns
from tests.patterns import Use
from tests.timing import least_seconds


@pytest.mark.thorough(reason="measures times of every pattern: a minute")
@pytest.mark.parametrize("slow", [r"[ \t]+\n", r"<[^>]*>", r"(?:a|b)*c", r"\d+(?:\.\d+)*;"])
def test_slow_patterns_are_noticed(slow):
    assert patterns.slowest(Use("slow", re.compile(slow), frozenset(["search"])))


@pytest.mark.thorough(reason="measures times of every pattern: a minute")
@pytest.mark.parametrize("quick", [r"[ \t]++\S", r"a{1,8}b", r"<[^<>]*>"])
def test_quick_patterns_are_not_blamed(quick):
    assert patterns.slowest(Use("quick", re.compile(quick), frozenset(["search"]))) == ""


PARAMETRISED = {
    "deciban.sources.csv_start", "deciban.sources.number_formats", "deciban.sources.records",
    "deciban.sources.remote_files",
}  # fmt: skip
"""Modules with patterns that a quote, a delimiter, a mark or a file name is put into, so that none can be checked."""


@pytest.mark.thorough(reason="measures times of every pattern: a minute")
def test_every_pattern_is_found():
    uses, unknown = patterns.every_use()
    assert {place.partition(":")[0] for place in unknown} == PARAMETRISED
    found = {use.pattern: use.methods for use in uses}
    assert found[words.MAIL] == {"findall", "search", "sub"}
    assert found[mbox._SOMEBODY] == {"match"}
    assert found[re.compile(number_formats.PLAIN_NUMBER)] == {"fullmatch"}  # by the name of its text
    assert set(words.PUNCTUATION_RUNS.values()) <= set(found)
    assert len(uses) > 100


def test_a_megabyte_of_times_in_a_box_takes_no_time():
    line = b"\nFrom " + b" 1:00" * 800

    def split():
        assert len(list(mbox.split_mbox(iter([b"From a\nTo: b\n\n" + line * 260]), 1 << 24))) == 1

    assert least_seconds(split, 1.0) <= 1.0


@pytest.mark.thorough(reason="measures times of every pattern: a minute")
def test_no_pattern_takes_more_than_24_times_for_eight_times_the_input():
    uses, _ = patterns.every_use()
    slow = {use.name: what for use in uses if (what := patterns.slowest(use))}
    assert slow == {}
