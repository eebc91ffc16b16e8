"""Until when something is good, as people write it."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.expiry import expiry_ms

NOW = 1_800_000_000_000
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("1h", HOUR), ("12h", 12 * HOUR), ("30d", 720 * HOUR), ("8w", 1344 * HOUR)],
)
def test_spans_count_from_now(text: str, wanted: int) -> None:
    assert expiry_ms(text, NOW, UTC) == NOW + wanted


def test_a_day_is_good_to_its_end_where_the_person_is() -> None:
    last = expiry_ms("2027-01-31", NOW, UTC)
    assert last == datetime(2027, 2, 1, tzinfo=UTC).timestamp() * 1000 - 1
    berlin = ZoneInfo("Europe/Berlin")
    assert expiry_ms("2027-01-31", NOW, berlin) == last - HOUR
    # The clock is set forward on this day, which has 23 hours.
    short = expiry_ms("2027-03-28", NOW, berlin) - expiry_ms("2027-03-27", NOW, berlin)
    assert short == 23 * HOUR


@pytest.mark.parametrize(
    "text",
    ["", "0d", "-1d", "1", "d", "1 d", "1D", "10000d", "1.5h", "2027-02-30", "2027-13-01",
     "27-01-31", "2027-1-31", "1970-01-01", "٣d", "2027-01-31T00:00", "30d\n"],
)  # fmt: skip
def test_other_texts_are_none(text: str) -> None:
    assert expiry_ms(text, NOW, UTC) is None


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    found = expiry_ms(text, NOW, UTC)
    assert found is None or isinstance(found, int)
