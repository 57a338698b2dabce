"""Times of arrival: unknown time zones, and invalid dates."""

import time
from datetime import UTC, datetime

import pytest

from deciban.mail.message.headers import find_arrival_time

NEW_YEAR = datetime(2024, 1, 1, 10, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True, params=["UTC0", "XST-12"])
def here(monkeypatch, request):
    """A time zone of the machine, which no time of a message depends on."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "zone", ["XYZ", "Mars/Olympus", "", "+", "+abcd", "+99999999999", "-2400", "+" + "9" * 5000, "\xff"]
)
def test_an_unknown_time_zone_counts_as_universal_time(zone):
    assert find_arrival_time(f"Date: Mon, 1 Jan 2024 10:00:00 {zone}\n\n".encode()) == NEW_YEAR


@pytest.mark.parametrize(("zone", "hours"), [("+0200", -2), ("-1130", 11.5), ("EST", 5), ("GMT", 0), ("-0000", 0)])
def test_a_known_time_zone_is_heeded(zone, hours):
    assert find_arrival_time(f"Date: Mon, 1 Jan 2024 10:00:00 {zone}\n\n".encode()) == NEW_YEAR + 3600 * hours


@pytest.mark.parametrize(
    "date", ["today", "Mon, 1 Jan 99999 10:00:00 +0000", "Mon, " + "9" * 5000 + " Jan 2024 1:00"]
)
def test_what_is_no_date_tells_no_time(date):
    assert find_arrival_time(f"Date: {date}\n\n".encode()) is None
