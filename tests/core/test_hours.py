"""When sessions may be started: what is written, what it means, and when it opens next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.hours import DAY_MIN, Hours, Span, parse
from colony.core.opening import ALWAYS, Opening

ALL = frozenset(range(7))
VIENNA = ZoneInfo("Europe/Vienna")
"""Put forward on 29 March 2026 at 01:00 UTC, back on 25 October 2026 at 01:00 UTC."""
NIGHTS = "Mon-Fri 18:00-08:00"


def days(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (NIGHTS, [Span(days(0, 1, 2, 3, 4), 1080, 480)]),
        ("mon-FRI 8:00-9:30", [Span(days(0, 1, 2, 3, 4), 480, 570)]),
        ("Sat", [Span(days(5), 0, DAY_MIN)]),
        ("Sat-Mon 10:00-12:00", [Span(days(5, 6, 0), 600, 720)]),
        ("Wed-Tue", [Span(ALL, 0, DAY_MIN)]),
        ("22:00-06:00", [Span(ALL, 1320, 360)]),
        ("Sun 16:00-24:00", [Span(days(6), 960, DAY_MIN)]),
        (" Mon  18:00-08:00 ,Sat, Sun 10:00-16:00", [
            Span(days(0), 1080, 480), Span(days(5), 0, DAY_MIN), Span(days(6), 600, 960),
        ]),
    ],
)  # fmt: skip
def test_what_can_be_written(text: str, spans: list[Span]) -> None:
    assert parse(text) == Hours(tuple(spans))


SHAPE = "must be days and times such as Mon-Fri 18:00-08:00, Sat, Sun 10:00-16:00"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", SHAPE),
        ("Sat,", f"span 2 of 2: {SHAPE}"),
        ("Sat, Mo, Sun", "span 2 of 3: a day is one of Mon Tue Wed Thu Fri Sat Sun"),
        ("Mon 08:00 - 18:00", SHAPE),
        ("Mon-Tue-Wed", SHAPE),
        ("Mon 08:00", SHAPE),
        ("Mon 08:00-12:00-18:00", SHAPE),
        ("Mo 08:00-18:00", "a day is one of Mon Tue Wed Thu Fri Sat Sun"),
        ("always", "a day is one of Mon Tue Wed Thu Fri Sat Sun"),
        ("Mon- 08:00-18:00", "a day is one of Mon Tue Wed Thu Fri Sat Sun"),
        ("Mon 8-18", "a time is one of 00:00 to 24:00"),
        ("Mon 08:00-25:00", "a time is one of 00:00 to 24:00"),
        ("Mon 08:60-09:00", "a time is one of 00:00 to 24:00"),
        ("Mon 24:01-09:00", "a time is one of 00:00 to 24:00"),
        ("Mon ٠٨:00-09:00", "a time is one of 00:00 to 24:00"),
        ("Mon 08:00-", "a time is one of 00:00 to 24:00"),
        ("Mon 24:00-08:00", "24:00 begins nothing; it is 00:00 of the day after"),
        (
            "Mon 08:00-08:00",
            "it begins and ends at the same time; a day alone is all of it",
        ),
    ],
)
def test_what_cannot_be_read_says_what_it_must_be(text: str, told: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert str(caught.value) == told


@given(st.text(max_size=30) | st.text("MonSat018:-, ", max_size=30))
def test_whatever_is_written_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        hours = parse(text)
    except ValueError as wrong:
        assert len(str(wrong).splitlines()) == 1
    else:
        assert hours.spans


def at(text: str) -> datetime:
    """A moment of the week of 2 February 2026: `Mon 18:00`."""
    day, clock = text.split()
    date = 2 + ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun").index(day)
    return datetime.fromisoformat(f"2026-02-{date:02} {clock}")


@pytest.mark.parametrize(
    ("text", "moment", "is_open"),
    [
        (NIGHTS, "Mon 17:59", False),
        (NIGHTS, "Mon 18:00", True),
        (NIGHTS, "Tue 07:59:59", True),
        (NIGHTS, "Tue 08:00", False),
        (NIGHTS, "Sat 07:59", True),
        (NIGHTS, "Sat 08:00", False),
        (NIGHTS, "Sat 18:00", False),
        (NIGHTS, "Sun 23:00", False),
        (NIGHTS, "Mon 03:00", False),
        ("Sun 22:00-02:00", "Mon 01:59", True),
        ("Sun 22:00-02:00", "Sun 01:00", False),
        ("Sat", "Sat 00:00", True),
        ("Sat", "Sat 23:59", True),
        ("Sat", "Sun 00:00", False),
        ("Sun 16:00-24:00", "Sun 23:59", True),
        ("Sun 16:00-24:00", "Mon 00:00", False),
        ("22:00-06:00", "Thu 05:00", True),
        ("22:00-06:00", "Thu 06:00", False),
        ("Mon 08:00-12:00, Mon 14:00-18:00", "Mon 13:00", False),
        ("Mon 08:00-12:00, Mon 14:00-18:00", "Mon 14:00", True),
    ],
)
def test_a_span_belongs_to_the_day_it_begins_on(text: str, moment: str, is_open: bool) -> None:
    assert parse(text).is_open(at(moment)) is is_open


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def opens(text: str, now: str, zone: ZoneInfo = VIENNA) -> str:
    until_ms = Opening(parse(text), zone).closed_until_ms(ms(now))
    if until_ms is None:
        return "open"
    return f"{datetime.fromtimestamp(until_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "now", "then"),
    [
        # An hour east of UTC in winter, two in summer.
        (NIGHTS, "2026-02-02 16:59:59", "2026-02-02 17:00:00"),
        (NIGHTS, "2026-02-02 17:00:00", "open"),
        (NIGHTS, "2026-02-07 07:00:00", "2026-02-09 17:00:00"),
        (NIGHTS, "2026-07-06 12:00:00", "2026-07-06 16:00:00"),
        (NIGHTS, "2026-03-28 12:00:00", "2026-03-30 16:00:00"),
        (NIGHTS, "2026-10-24 12:00:00", "2026-10-26 17:00:00"),
        ("Sun", "2026-02-02 12:00:00", "2026-02-07 23:00:00"),
        ("Mon 10:00-11:00", "2026-02-02 10:00:00", "2026-02-09 09:00:00"),
        # Put forward: from 02:00 to 03:00 at 01:00 UTC. What began in between begins then.
        ("02:30-05:00", "2026-03-29 00:30:00", "2026-03-29 01:00:00"),
        ("02:30-05:00", "2026-03-29 01:00:00", "open"),
        ("03:00-05:00", "2026-03-29 00:30:00", "2026-03-29 01:00:00"),
        # What lies wholly in the hour that is skipped comes the next time.
        ("Sun 02:10-02:50", "2026-03-29 00:00:00", "2026-04-05 00:10:00"),
        # Put back: from 03:00 to 02:00 at 01:00 UTC. The hour comes twice.
        ("02:30-05:00", "2026-10-25 00:00:00", "2026-10-25 00:30:00"),
        ("02:30-05:00", "2026-10-25 01:00:00", "2026-10-25 01:30:00"),
        ("01:00-02:30", "2026-10-25 00:45:00", "2026-10-25 01:00:00"),
        ("Sun 02:10-02:20", "2026-10-25 00:21:00", "2026-10-25 01:10:00"),
    ],
)
def test_when_it_opens_next(text: str, now: str, then: str) -> None:
    assert opens(text, now) == then


def test_without_hours_it_is_always_open() -> None:
    assert ALWAYS.closed_until_ms(ms("2026-02-02 12:00:00")) is None


def test_a_clock_that_is_put_on_by_half_an_hour() -> None:
    """Lord Howe: at 2026-10-03 15:30 UTC from 02:00 to 02:30."""
    howe = ZoneInfo("Australia/Lord_Howe")
    assert opens("02:15-04:00", "2026-10-03 15:00:00", howe) == "2026-10-03 15:30:00"


ZONES = ["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
SPANS = st.builds(
    Span,
    st.frozensets(st.sampled_from(range(7)), min_size=1),
    st.integers(0, DAY_MIN // 15 - 1).map(lambda quarter: quarter * 15),
    st.integers(0, DAY_MIN // 15).map(lambda quarter: quarter * 15),
).filter(lambda span: span.first != span.end)


@given(
    st.lists(SPANS, min_size=1, max_size=3).map(lambda spans: Hours(tuple(spans))),
    st.sampled_from(ZONES).map(ZoneInfo),
    st.sampled_from(["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25"]),
    st.integers(0, 48 * 4),
)
def test_it_opens_at_the_first_moment_that_is_open(
    hours: Hours, zone: ZoneInfo, day: str, quarters: int
) -> None:
    """Around the days on which clocks are changed, against going on quarter by quarter."""
    now = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(minutes=15 * quarters)
    now -= timedelta(days=1)
    found = Opening(hours, zone).closed_until_ms(round(now.timestamp() * 1000))
    at_ = now
    while not hours.is_open(at_.astimezone(zone)):
        at_ += timedelta(minutes=15)
    assert found == (None if at_ == now else round(at_.timestamp() * 1000))
