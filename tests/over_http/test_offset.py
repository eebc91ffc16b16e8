"""The tracker's clock from the dates of its answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from colony.tracker.http.offset import DATE_MS, Offset, heard
from tests.fakes.pretended import HandClock, client_to
from tests.fakes.raw_server import answer, answering

FAR = st.integers(-(10**13), 10**13)
TRIP = st.integers(0, 5000)


@given(real=FAR, asked=st.lists(st.tuples(st.integers(0, 10**7), TRIP, TRIP), min_size=1))
def test_the_real_distance_always_lies_in_the_bounds(
    real: int, asked: list[tuple[int, int, int]]
) -> None:
    found = None
    for sent_ms, there_ms, back_ms in asked:
        told_ms = (sent_ms + there_ms + real) // DATE_MS * DATE_MS
        found = heard(found, sent_ms, sent_ms + there_ms + back_ms, told_ms)
    assert found is not None
    assert found.low_ms <= real <= found.high_ms


def test_several_answers_narrow_it() -> None:
    first = heard(None, 0, 10, 5000)
    assert first == Offset(4990, 6000)
    assert heard(first, 900, 910, 6000) == Offset(5090, 6000)


def test_a_clock_that_jumped_is_believed_at_once() -> None:
    before = heard(None, 0, 10, 5000)
    assert heard(before, 100, 110, 90_000) == Offset(89_890, 90_900)


def test_an_own_clock_that_went_back_in_between_tells_nothing() -> None:
    before = heard(None, 0, 10, 5000)
    assert heard(before, 5000, 10, 90_000) == before


def test_the_client_hears_the_date_of_each_answer() -> None:
    clock = HandClock(s=10.0)
    date = "Thu, 01 Jan 1970 01:00:00 GMT"
    with answering(lambda _: answer(200, {}, date=date)) as server:
        http = client_to(server.url, clock)
        assert http.now_ms() is None
        http.get("/x")
        assert http.now_ms() == 3_600_500
        clock.s += 60
        assert http.now_ms() == 3_660_500


def test_a_date_that_was_kept_or_cannot_be_read_tells_nothing() -> None:
    date = "Thu, 01 Jan 1970 01:00:00 GMT"
    for headers in ({"date": date, "age": "30"}, {"date": "yesterday"}, {}):
        with answering(lambda _, told=headers: answer(200, {}, **told)) as server:
            http = client_to(server.url)
            http.get("/x")
            assert http.now_ms() is None
